"""The engine on a session of 10,000 messages and a million tokens, beside its peers on the same session.

What a call costs when no edit is due, when one is, and how that grows with the session. A peer is called on the whole
history before each request, which is what it does in its own agent.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.measure import Figure, Missing, Row, Took, high, middle, once, peak, prepared, repeat
from bench.peer import Peer
from bench.session import MESSAGES, STEP, SYSTEM, TOOLS, messages, profile
from perdure.kernel.context import (
    Engine,
    InMemory,
    Ledger,
    Projection,
    Renderer,
    Settings,
    drive,
    overhead_of,
    render,
    with_window,
)
from perdure.kernel.messages import Message, Transcript, Usage
from perdure.kernel.tokens import tokens_of

WINDOW = 2_000_000
"""Declared, so that a million tokens ask for nothing."""
QUIET = Settings(clear_growth=None, fold_growth=None)
"""Edits at the threshold alone, which that window never reaches."""
LAST = 250
"""Requests at the end of the session that are measured."""
TRIGGER = 100_000
"""Tokens at which the peers clear, by LangChain's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One call of `project`."""

    took: Took
    rungs: frozenset[str]


def figures() -> Iterator[Row]:
    """Every figure of the engine."""
    quiet = [one.took for one in requests(QUIET, WINDOW, messages(), LAST)]
    yield _figure("project, no edit due, 1,000,000 tokens in view: median", middle(quiet))
    yield _figure("  99 of 100 under", high(quiet), most=2.0)
    # Both sides of the ratio alternate, so that other work on the machine meets both.
    short, long = _in_turns(messages(1_000), messages())
    growth = middle(long).cpu / middle(short).cpu
    yield Figure(what="  growth from 1,000 to 10,000 messages", ours=growth, unit="x", most=1.5)
    used = requests(Settings(), 200_000, messages(), MESSAGES // 2)
    yield from _as_used(used)
    yield from _at_once()
    yield from _beside_peers(middle(quiet), _mean(used))


def requests(settings: Settings, window: int, given: Sequence[Message], last: int) -> list[Measured]:
    """The last requests of a session, one after the other. What the engine says is sent counts as the usage."""
    model = with_window(profile(), window)
    engine = Engine(model, settings, overhead=overhead_of(model, system=SYSTEM, tools=TOOLS))
    ports = InMemory()
    start = len(given) - 2 * last
    transcript = Transcript(given[:start])
    engine.sync(transcript, Ledger())
    measured: list[Measured] = []
    usage = Usage(input_tokens=engine.usage(transcript).usage.tokens)
    for place in range(start, len(given), 2):
        transcript = transcript.append(given[place].counted(usage), given[place + 1])
        took, projection = _projected(engine, transcript, ports)
        usage = Usage(input_tokens=projection.usage.tokens)
        changed = frozenset(step.rung for step in projection.steps if step.changed)
        measured.append(Measured(took=took, rungs=changed))
    return measured


def _projected(engine: Engine, transcript: Transcript, ports: InMemory) -> tuple[Took, Projection]:
    now = (transcript[-1].time or 0.0) + STEP / 4
    results: list[Projection] = []
    took = once(lambda: results.append(drive(engine.project(transcript, now), ports)))
    return took, results[0]


def _in_turns(short: Sequence[Message], long: Sequence[Message]) -> tuple[list[Took], list[Took]]:
    few: list[Took] = []
    many: list[Took] = []
    for _ in range(3):
        few += [one.took for one in requests(QUIET, WINDOW, short, 100)]
        many += [one.took for one in requests(QUIET, WINDOW, long, 100)]
    return few, many


def _as_used(measured: Sequence[Measured]) -> Iterator[Row]:
    """The whole session from its first message on, under the default settings and a window of 200,000 tokens."""
    light = {"tool_result_microcompact", "light_trim"}
    kinds: dict[str, list[Took]] = {
        "no edit due": [one.took for one in measured if not one.rungs],
        "light batch": [one.took for one in measured if one.rungs and one.rungs <= light],
        "checkpoint": [one.took for one in measured if one.rungs - light - {"entry_reduction"}],
    }
    for name, taken in kinds.items():
        if taken:
            most = 2.0 if name == "no edit due" else 50.0
            yield _figure(f"project as used (balanced, 200k), {name}, {len(taken):,} calls: median", middle(taken))
            yield _figure("  99 of 100 under", high(taken), most=most)
    yield _figure(f"  mean of all {len(measured):,} calls, edits included", _mean(measured))


def _mean(measured: Sequence[Measured]) -> Took:
    return Took(
        cpu=sum(one.took.cpu for one in measured) / len(measured),
        wall=sum(one.took.wall for one in measured) / len(measured),
    )


def _at_once() -> Iterator[Row]:
    """One edit over all the million tokens: what no session comes to, since edits are due long before."""
    model = with_window(profile(), WINDOW)
    transcript = Transcript(messages())

    def ready(settings: Settings) -> Callable[[], object]:
        engine = Engine(model, settings)
        engine.sync(transcript, Ledger())
        return lambda: drive(engine.project(transcript, transcript[-1].time), InMemory())

    size = tokens_of(transcript.weight(), model) // 2
    light = prepared(lambda: ready(Settings(clear_growth=size, fold_growth=None)), 3)
    fold = prepared(lambda: ready(Settings(clear_growth=None, fold_growth=size)), 3)
    yield _figure("one light batch over 1,000,000 tokens", light)
    yield _figure("one checkpoint over 1,000,000 tokens", fold)


def _beside_peers(quiet: Took, used: Took) -> Iterator[Row]:
    given = messages()
    transcript = Transcript(given)
    ledger = Ledger()
    whole = repeat(lambda: render(transcript, ledger), 5)
    grown = _rendered_on(given)
    yield _figure("render, two new messages: median", grown)
    yield _figure("render, from nothing", whole)
    yield Figure(what="  memory of that", ours=peak(lambda: render(transcript, ledger)), unit="MiB")
    tokens = tokens_of(transcript.weight(), profile())
    for library, faster, arguments in (
        ("peer_langchain", 50.0, (given,)),
        ("peer_pydantic", 10.0, (given, tokens)),
    ):
        try:
            found: list[Peer] = importlib.import_module(f"bench.{library}").peers(*arguments)
        except ImportError as error:
            yield Missing(what=f"{library}: {error}; install the extra: pip install 'perdure[bench]'")
            continue
        for peer in found:
            yield from _peer(peer, (quiet, used, grown, whole), faster)


def _peer(peer: Peer, ours: tuple[Took, Took, Took, Took], faster: float) -> Iterator[Row]:
    """A peer where it has nothing to clear, and where it clears, which it then does at every call."""
    quiet, used, grown, whole = ours
    idle, busy = repeat(peer.begin(WINDOW), 5), repeat(peer.begin(TRIGGER), 3)
    held = peak(peer.begin(TRIGGER))
    for what, mine, theirs, goal in (
        ("project, nothing to clear", quiet, idle, faster),
        ("project, over the trigger (ours: mean as used)", used, busy, faster),
        ("render, two new messages", grown, busy, faster),
        ("render, from nothing", whole, busy, None),
    ):
        yield Figure(what=what, ours=mine.cpu, wall=mine.wall, peer=peer.name, theirs=theirs.cpu, faster=goal)
    yield Figure(what="memory of a call", ours=_held(), unit="MiB", peer=peer.name, theirs=held)


def _held() -> float:
    """The peak of one quiet call."""
    given = messages()
    engine = Engine(with_window(profile(), WINDOW), QUIET)
    before, transcript = Transcript(given[:-2]), Transcript(given)
    engine.sync(before, Ledger())
    drive(engine.project(before, None), InMemory())
    return peak(lambda: drive(engine.project(transcript, None), InMemory()))


def _rendered_on(given: Sequence[Message]) -> Took:
    renderer, ledger = Renderer(), Ledger()
    transcript = Transcript(given[: len(given) - 2 * LAST])
    renderer.view(transcript, ledger)
    taken: list[Took] = []
    for place in range(len(transcript), len(given), 2):
        transcript = transcript.append(*given[place : place + 2])
        taken.append(once(lambda now=transcript: renderer.view(now, ledger)))
    return middle(taken)


def _figure(what: str, took: Took, most: float | None = None) -> Figure:
    return Figure(what=what, ours=took.cpu, wall=took.wall, most=most)
