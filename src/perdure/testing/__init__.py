"""Support for tests of agents, as product code.

`sessions` makes up whole sessions from a seed, and its names are also here. `transcripts` has Hypothesis strategies
for legal and for broken transcripts, and needs `hypothesis`. `doubles` are strict doubles of the provider APIs, and
need the extra `testing`.
"""

from perdure.testing.sessions import Finding, GeneratedSession, Scenario, Statement, StatementKind, generate

__all__ = ["Finding", "GeneratedSession", "Scenario", "Statement", "StatementKind", "generate"]
