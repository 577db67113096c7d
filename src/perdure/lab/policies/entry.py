"""Reduction at entry and nothing else, until the window is nearly full.

It knows which settings switch the other rungs off. At the threshold the ladder runs, since a request has to fit.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.kernel.context import PRESETS
from perdure.lab.policies.engine import engine

NEVER = 1_000_000
"""Results kept, and characters, beyond anything that a session has."""

ENTRY_ONLY = engine(
    replace(PRESETS["cautious"], entry_limit=4_000, clear_growth=None, keep_results=NEVER, trim_over=NEVER)
)
