"""`python -m bench.variants PATH ... [--only NAME ...]`: what each of several ideas would change in Perdure's price.

It knows `balanced`, and one change of it at a time: a setting, a mark, a reducer, or the session as it would be if
the idea cost nothing. It must never choose: it prints what each saves against `balanced` as it stands, with survival.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from unittest import mock

from bench.spending import MODEL, WINDOW, subjects
from perdure.kernel.cache import MOST_PINGS, Pause, next_ping
from perdure.kernel.context import PRESETS, Original
from perdure.kernel.context.entry.ends import draft_ends
from perdure.kernel.context.entry.kind import Draft, Kind
from perdure.kernel.messages import Message, ToolResult, ToolUse, Transcript, text_of, weigh_block
from perdure.kernel.value import value
from perdure.lab.policies import Policy, engine
from perdure.lab.policies.run import Run, Sent
from perdure.lab.providers import profile_of
from perdure.lab.recall import RecallPrice, recall_cost
from perdure.lab.replay import Replayed, Setting, Subject, replay

LONG = 600
"""Bytes, about 200 tokens: what is shorter is not worth a note in its place."""

BALANCED = PRESETS["balanced"]


@value
class Figures:
    """One session under one variant."""

    units: float
    recall: float
    asked: int
    visible: int
    gone: int
    checkpoints: int
    faults: int

    @property
    def price(self) -> float:
        """All of it."""
        return self.units + self.recall


def figures(subject: Subject, policy: Policy) -> tuple[Figures, Replayed]:
    """A session under a policy."""
    found = replay(subject, "", policy, Setting(profile=subject.profile, clock=perf_counter))
    costs = (recall_cost(point.missed, point.tokens, subject.profile, RecallPrice()).units for point in found.points)
    folds = ("full_summary", "session_memory", "extractive")
    made = Figures(
        units=sum(point.bill.units for point in found.points),
        recall=sum(costs),
        asked=found.needed.asked,
        visible=found.needed.visible,
        gone=found.needed.gone,
        checkpoints=sum(rung in folds for point in found.points for rung in point.rungs),
        faults=sum(point.faults > 0 or point.over_window or point.infeasible for point in found.points),
    )
    return made, found


class Stripped:
    """A run whose requests lack something."""

    def __init__(self, run: Run, strip: Callable[[Sent], Sent]) -> None:
        """Begin."""
        self._run, self._strip = run, strip

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What the policy sends, less that."""
        return self._strip(self._run.send(transcript, now))

    def originals(self) -> Mapping[str, Original]:
        """Those of the policy."""
        return self._run.originals()


def stripped(policy: Policy, strip: Callable[[Sent], Sent]) -> Policy:
    """A policy whose requests lack something."""
    return lambda profile, overhead: Stripped(policy(profile, overhead), strip)


def with_messages(subject: Subject, change: Callable[[Message], Message]) -> Subject:
    """The same session with other texts; needs, sizes of answers and overhead stay the recorded ones."""
    changed = copy(subject)
    messages = Transcript([change(message) for message in subject.recording.transcript])
    changed.recording = replace(subject.recording, transcript=messages)
    return changed


def short_inputs(subject: Subject) -> Subject:
    """Each long call with its arguments left out from the first request on: the most that short inputs could save."""
    return with_messages(subject, lambda message: _changed(message, _short_input))


def _short_input(block: object) -> object:
    if isinstance(block, ToolUse) and weigh_block(block).bytes > LONG:
        return replace(block, input={"note": "[Arguments left out.]"})
    return block


def no_repeats(subject: Subject) -> Subject:
    """Each tool result that an earlier one gave word for word as one line: the most that this could save."""
    seen: set[str] = set()

    def first(block: object) -> object:
        if not isinstance(block, ToolResult) or weigh_block(block).bytes <= LONG:
            return block
        text = text_of(block.content)
        if text in seen:
            return replace(block, content="[The same as an earlier result.]")
        seen.add(text)
        return block

    return with_messages(subject, lambda message: _changed(message, first))


def _changed(message: Message, change: Callable[[object], object]) -> Message:
    blocks = tuple(change(block) for block in message.content)
    if all(one is other for one, other in zip(blocks, message.content, strict=True)):
        return message
    # What `change` gives for a block is a block of the same class.
    return replace(message, content=blocks)  # pyright: ignore[reportArgumentType]


def plain_cut() -> AbstractContextManager[object]:
    """While it lasts, reduction keeps head and tail of whatever it gets, at the same size."""

    def draft(text: str, _hint: str) -> tuple[Kind, Draft]:
        return "prose", draft_ends(text)

    return mock.patch("perdure.kernel.context.entry.reduce.draft_of", draft)


def pings(subject: Subject, found: Replayed, *, knowing: bool) -> float:
    """Units that pings would save at the contexts of this replay: by `next_ping`, which knows the pauses so far, or
    `knowing` each pause beforehand. What a cold cache lets the engine do for nothing is not taken off."""
    rules, saved, gaps = subject.profile.cache, 0.0, list[float]()
    life = float(rules.lives[0].seconds)
    for (before, since), (after, now) in pairwise(zip(found.points, subject.times, strict=True)):
        pause, gap = Pause(prefix=before.tokens, started=since, life=life), now - since
        if knowing:
            count = _pings_needed(gap, life)
        else:
            while (due := next_ping(pause, gaps, subject.profile)) is not None and due < now:
                pause = replace(pause, started=due, pings=pause.pings + 1)
            count = pause.pings
        saved -= count * before.tokens * rules.read
        if count and after.broke == "idle" and count >= _pings_needed(gap, life) > 0:
            again = min(max(0, before.tokens - after.bill.read), after.bill.written)
            saved += again * (rules.lives[0].write - rules.read)
        gaps.append(gap)
    return saved


def _pings_needed(gap: float, life: float) -> int:
    """How many hold the cache over a pause; 0 where none is needed or more than the most would be."""
    count = 0
    while gap > life and count <= MOST_PINGS:
        gap, count = gap - life * 0.95, count + 1
    return count if count <= MOST_PINGS else 0


def _with(**changes: int | bool | str | None) -> Policy:
    # Names and values are those below; the settings check their ranges.
    return engine(replace(BALANCED, **changes))  # pyright: ignore[reportArgumentType]


def _same(subject: Subject) -> Subject:
    return subject


@value
class Variant:
    """One change."""

    policy: Policy
    subject: Callable[[Subject], Subject] = _same
    around: Callable[[], AbstractContextManager[object]] = nullcontext


BASE = engine(BALANCED)

VARIANTS: Mapping[str, Variant] = {
    "plain head and tail at entry": Variant(policy=BASE, around=plain_cut),
    "nothing reduced at entry": Variant(policy=_with(entry_limit=None)),
    "old calls' arguments cleared": Variant(policy=_with(clear_inputs=True)),
    "long arguments never sent": Variant(policy=BASE, subject=short_inputs),
    "repeated outputs never sent": Variant(policy=BASE, subject=no_repeats),
    "no frontier mark": Variant(policy=stripped(BASE, lambda sent: replace(sent, frontier=None))),
    "narratives for nothing": Variant(policy=stripped(BASE, lambda sent: replace(sent, asks=()))),
    "fold_growth auto": Variant(policy=_with(fold_growth="auto")),
}

HOUR = "an hour's cache for all"
CHOSEN = "an hour or five minutes, the better for each session"
PINGS, KNOWING = "pings by the pauses so far", "pings, each pause known beforehand"


def main() -> None:
    """Replay each, add up, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.variants", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--only", action="append", metavar="NAME", help=", ".join([*VARIANTS, HOUR, PINGS]))
    options = parser.parse_args()
    wanted: list[str] = options.only or [*VARIANTS, HOUR, PINGS]
    sums: dict[str, list[tuple[Figures, Figures]]] = {}
    for subject in subjects(options.paths):
        base, found = figures(subject, BASE)
        for name, made in _tried(subject, base, found, wanted):
            sums.setdefault(name, []).append((base, made))
    print("| | saves | no dearer | visible | gone | checkpoints | faults |")
    print("|---|---|---|---|---|---|---|")
    for name, pairs in {"`balanced`": [(base, base) for base, _ in next(iter(sums.values()))], **sums}.items():
        print(f"| {name} | {' | '.join(_cells(pairs))} |")


def _tried(subject: Subject, base: Figures, found: Replayed, wanted: Sequence[str]) -> Iterator[tuple[str, Figures]]:
    for name, variant in VARIANTS.items():
        if name in wanted:
            with variant.around():
                yield name, figures(variant.subject(subject), variant.policy)[0]
    if HOUR in wanted:
        profile = profile_of(None, MODEL, WINDOW, "anthropic-1h")
        hour = figures(Subject(subject.recording, profile), BASE)[0]
        yield HOUR, hour
        yield CHOSEN, min(base, hour, key=lambda one: one.price)
    if PINGS in wanted:
        for name, knowing in ((PINGS, False), (KNOWING, True)):
            yield name, replace(base, units=base.units - pings(subject, found, knowing=knowing))


def _cells(pairs: Sequence[tuple[Figures, Figures]]) -> Iterator[str]:
    asked = max(1, sum(made.asked for _, made in pairs))
    yield f"{1 - sum(made.price for _, made in pairs) / sum(base.price for base, _ in pairs):+.1%}"
    yield f"{sum(made.price <= base.price for base, made in pairs)} of {len(pairs)}"
    yield f"{sum(made.visible for _, made in pairs) / asked:.1%}"
    yield f"{sum(made.gone for _, made in pairs) / asked:.1%}"
    yield str(sum(made.checkpoints for _, made in pairs))
    yield str(sum(made.faults for _, made in pairs))


if __name__ == "__main__":
    main()
