"""The page as a whole.

It knows the order in which a person reads. It must never compute a figure that `summary` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from perdure.lab.report.summary import Outcome
from perdure.lab.report.table import table


def page(outcomes: Sequence[Outcome]) -> str:
    """One self-contained HTML page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Perdure replay</title></head>'
        f"<body><h1>Perdure replay</h1><pre>{escape(table(outcomes))}</pre></body></html>\n"
    )
