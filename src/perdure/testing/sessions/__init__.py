"""Realistic sessions of coding agents, made up from a seed."""

from perdure.testing.sessions.generate import generate
from perdure.testing.sessions.session import Finding, GeneratedSession, Scenario, Statement, StatementKind

__all__ = ["Finding", "GeneratedSession", "Scenario", "Statement", "StatementKind", "generate"]
