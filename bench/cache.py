"""The model of the prompt cache: planning the marks of a request and pricing it, in a session of thousands of messages.

The cost must not grow with the length of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from bench.measure import Figure, Row, in_turns
from bench.session import SYSTEM, TOOLS, messages, profile
from perdure.kernel.cache import EMPTY, Head, PrefixChain, plan_marks, price, rolling_mark

PART = 1_000
"""Requests that are measured at the beginning, and at the end."""


def figures() -> Iterator[Row]:
    """The first requests, the last ones, and the growth between them."""
    early, late = in_turns(_session(0), _session((len(messages()) - 1) // 2 - PART - 1), PART)
    yield Figure(what="marks and price of a request: the first 1,000", ours=early.cpu, wall=early.wall)
    yield Figure(what="  the last 1,000", ours=late.cpu, wall=late.wall)
    yield Figure(what="  growth", ours=late.cpu / early.cpu, unit="x")


def _session(start: int) -> Callable[[], None]:
    """One request after the other, behind so many that are done already."""
    given = messages()
    chain, cache, previous = PrefixChain(Head(profile=profile(), system=SYSTEM, tools=TOOLS), given[:1]), EMPTY, None
    numbers = count()

    def request() -> None:
        nonlocal chain, cache, previous
        number = next(numbers)
        chain = chain.then(given[2 * number + 1 : 2 * number + 3])
        marks = plan_marks(chain, (True,) * len(SYSTEM), frontier=number, previous=previous)
        previous = rolling_mark(marks)
        _, cache = price(cache, chain, marks, 20.0 * number)

    for _ in range(start):
        request()
    return request
