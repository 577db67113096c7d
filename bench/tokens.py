"""Counting one megabyte of text."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measure import Figure, Row, Took, middle, once
from perdure.kernel.messages import weigh_text
from perdure.kernel.models import lookup
from perdure.kernel.tokens import tokens_of

MEGABYTE = 1_000_000
PROFILE = lookup("claude-sonnet-4-5")
ROUNDS = 60
TIMES = 10
"""Countings in one round."""

LINES = {
    "ASCII": "    total += entry.amount if entry.side == 'debit' else -entry.amount\n",
    "mixed with Chinese": "    # 若出现错误则立即回滚，并通知值班工程师\n    total += entry.amount  # 合计\n",
    "mixed with emoji": "deploy finished ✅ in 12 s 🚀, 3 warnings\n",
}


def figures() -> Iterator[Row]:
    """A figure for each kind of text."""
    for name, line in LINES.items():
        text = line * (MEGABYTE // len(line.encode()))
        one = middle([once(lambda text=text: _count(text)) for _ in range(ROUNDS)])
        took = Took(cpu=one.cpu / TIMES, wall=one.wall / TIMES)
        yield Figure(what=f"count 1 MB, {name}", ours=took.cpu, wall=took.wall, most=1.0)


def _count(text: str) -> None:
    for _ in range(TIMES):
        tokens_of(weigh_text(text), PROFILE)
