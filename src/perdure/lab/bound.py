"""The least that a session could have cost, knowing its future.

It knows sizes, needs and prices. It must never know a policy. Three figures, each with what it takes for granted:

* `exact`: the cheapest schedule that sends each item once and may drop it for good at any later request. What is
  dropped and needed is recalled; every drop rewrites what lies behind it. All schedules are searched, so it is for
  sessions of at most `EXACT_ITEMS` results.
* `free_rewrites`: the same where a drop rewrites nothing. Items no longer depend on one another, each is decided alone,
  and no schedule of that kind costs less. This is the bound for policies that clear results and fold nothing.
* `sent_once`: beyond that, results need not be sent at all, and everything else once. No policy of the lab costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from perdure.kernel.cache import Parts, PrefixChain, bill
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse, typed_texts
from perdure.kernel.value import value
from perdure.lab.recall import Missed, RecallPrice, Sources, recall_cost
from perdure.lab.replay import Subject

EXACT_ITEMS = 12


@value
class Item:
    """A part of the history that stays or goes as a whole."""

    arrives: int
    """The first request that carries it."""
    tokens: int
    clearable: bool = True
    needs: tuple[tuple[int, float], ...] = ()
    """Requests that use it, and what a recall would cost there, in units; in order."""


@value
class Course:
    """What a bound is worked out for. Prices are in units of an uncached input token."""

    items: tuple[Item, ...]
    """In the order of the transcript."""
    warm: tuple[bool, ...]
    """For each request, whether what the one before it sent is still cached."""
    read: float
    write: float
    fixed: float = 0.0
    """What every policy pays: tools and system blocks, answers."""


def exact(course: Course) -> float:
    """The cheapest schedule."""
    items, count = course.items, len(course.warm)

    @cache
    def least(at: int, gone: frozenset[int]) -> float:
        if at == count:
            return 0.0
        old = [place for place, item in enumerate(items) if item.arrives < at and item.clearable and place not in gone]
        choices = (gone | _chosen(old, mask) for mask in range(1 << len(old)))
        return min(request_cost(course, at, gone, chosen) + least(at + 1, chosen) for chosen in choices)

    nothing: frozenset[int] = frozenset()
    return course.fixed + least(0, nothing)


def _chosen(places: Sequence[int], mask: int) -> frozenset[int]:
    return frozenset(place for bit, place in enumerate(places) if mask >> bit & 1)


def request_cost(course: Course, at: int, before: frozenset[int], gone: frozenset[int]) -> float:
    """One request, where `before` was dropped at the last one and `gone` is now."""
    changed = min(gone - before, default=len(course.items))
    cost = 0.0
    for place, item in enumerate(course.items):
        if item.arrives > at:
            break
        if place in gone:
            cost += sum(recall for when, recall in item.needs if when == at)
        elif item.arrives < at and course.warm[at] and place < changed:
            cost += course.read * item.tokens
        else:
            cost += course.write * item.tokens
    return cost


def free_rewrites(course: Course) -> float:
    """The bound where each item is decided alone."""
    return course.fixed + sum(_alone(item, course) for item in course.items)


def _alone(item: Item, course: Course) -> float:
    """The cheapest time to drop one item: it is carried up to a request, and recalled behind it."""
    recalled = sum(recall for _, recall in item.needs)
    needs = dict(item.needs)
    carried, best = 0.0, float("inf")
    for at in range(item.arrives, len(course.warm)):
        warm = at > item.arrives and course.warm[at]
        carried += item.tokens * (course.read if warm else course.write)
        recalled -= needs.get(at, 0.0)
        best = min(best, carried + recalled) if item.clearable else carried
    return best if item.arrives < len(course.warm) else 0.0


@value
class Bounds:
    """What a session could have cost at the least, in units."""

    sent_once: float
    """No policy of the lab costs less."""
    free_rewrites: float
    """No policy costs less that sends everything once and clears whole results."""
    exact: float | None
    """The cheapest such schedule with its rewrites; None where there are too many results to search them all."""


def bounds(subject: Subject, price: RecallPrice) -> Bounds:
    """The bounds of a session."""
    course = course_of(subject, price)
    results = sum(item.clearable for item in course.items)
    small = results <= EXACT_ITEMS and len(course.warm) <= 2 * EXACT_ITEMS
    return Bounds(
        sent_once=_sent_once(subject),
        free_rewrites=free_rewrites(course),
        exact=exact(course) if small else None,
    )


def course_of(subject: Subject, price: RecallPrice) -> Course:
    """A session as items: results may go, everything else stays."""
    transcript = subject.recording.transcript
    chain = PrefixChain(subject.head, transcript)
    sources = Sources(subject.vocabulary, subject.profile, subject.calibration)
    needs: dict[int, list[tuple[int, float]]] = {}
    shown: dict[str, list[int]] = {}
    seen = 0
    for number, asked in enumerate(subject.recording.asked):
        for place in range(seen, asked.at):
            for name in subject.vocabulary.of(transcript[place]):
                shown.setdefault(name, []).append(place)
        seen = max(seen, asked.at)
        alone = {shown[name][0] for name in subject.needs[number] if len(shown.get(name, ())) == 1}
        for place in alone:
            source = sources.source(place, transcript[place])
            least = recall_cost(Missed(recalled=(source,)), _head(chain), subject.profile, price).units
            needs.setdefault(place, []).append((number, least * min(1.0, price.gone)))
    arrivals = _arrivals(subject)
    items = tuple(
        Item(
            arrives=arrivals[place],
            tokens=_tokens(chain, place),
            clearable=_is_result(transcript[place]),
            needs=tuple(needs.get(place, ())),
        )
        for place in range(len(arrivals))
    )
    rules = subject.profile.cache
    write = min(1.0, rules.write_multiplier(0)) if rules.lives else 1.0
    return Course(
        items=items,
        warm=_warm(subject, rules.lives[0].seconds if rules.lives else 0),
        read=min(rules.read, write) if rules.lives else 1.0,
        write=write,
        fixed=_fixed(subject, chain),
    )


def _sent_once(subject: Subject) -> float:
    """Everything but results and thinking at its cheapest, once."""
    transcript = subject.recording.transcript
    chain = PrefixChain(subject.head, transcript)
    course = Course(items=(), warm=_warm(subject, 0), read=0.0, write=0.0, fixed=_fixed(subject, chain))
    last = max((asked.at for asked in subject.recording.asked), default=0)
    once = 0
    for place in range(last):
        start = chain.message_end(place - 1)
        for offset, block in enumerate(transcript[place].content):
            if _must_be_sent(transcript[place], block):
                position = start + offset
                once += chain.tokens_through(position) - (chain.tokens_through(position - 1) if position else 0)
    return course.fixed + once * _cheapest(subject)


def _must_be_sent(message: Message, block: object) -> bool:
    if message.role == "assistant":
        return isinstance(block, Text | ToolUse)
    return isinstance(block, Text) and any(True for _ in typed_texts(message)) and not message.tool_results


def _cheapest(subject: Subject) -> float:
    """The least that a token costs that was never sent before."""
    rules = subject.profile.cache
    return min(1.0, *(life.write for life in rules.lives)) if rules.lives else 1.0


def _fixed(subject: Subject, chain: PrefixChain) -> float:
    """Tools and system blocks, read wherever any cache could still hold them, and the answers."""
    rules = subject.profile.cache
    longest = rules.lives[-1].seconds if rules.lives else 0
    head, cheapest = _head(chain), _cheapest(subject)
    warm = _warm(subject, longest)
    read = min(rules.read, cheapest) if rules.lives else 1.0
    carried = sum(head * (read if is_warm else cheapest) for is_warm in warm)
    return carried + bill(Parts(output=sum(subject.answers)), subject.profile).units


def _warm(subject: Subject, life: int) -> tuple[bool, ...]:
    times = subject.times
    return tuple(place > 0 and times[place] - times[place - 1] <= life for place in range(len(times)))


def _head(chain: PrefixChain) -> int:
    return chain.tokens_through(chain.overhead - 1) if chain.overhead else 0


def _tokens(chain: PrefixChain, place: int) -> int:
    end, start = chain.message_end(place), chain.message_end(place - 1)
    return (chain.tokens_through(end - 1) if end else 0) - (chain.tokens_through(start - 1) if start else 0)


def _arrivals(subject: Subject) -> list[int]:
    """For each message that any request carried, the first that did."""
    arrivals: list[int] = []
    for number, asked in enumerate(subject.recording.asked):
        arrivals += [number] * (asked.at - len(arrivals))
    return arrivals


def _is_result(message: Message) -> bool:
    return message.is_output or any(isinstance(block, ToolResult) for block in message.content)
