"""What holds for any transcript, any window, any order of the rungs and any behaviour of the summarizer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.context import (
    Engine,
    Ladder,
    Ledger,
    Projection,
    Settings,
    View,
    drive,
    render,
    with_window,
)
from perdure.kernel.context.strategies.extractive import Extractive
from perdure.kernel.context.strategies.full_summary import FullSummary
from perdure.kernel.context.strategies.light_trim import LightTrim
from perdure.kernel.context.strategies.session_memory import SessionMemoryFold
from perdure.kernel.context.strategies.tool_results import ToolResults
from perdure.kernel.errors import Infeasible
from perdure.kernel.messages import Request, Transcript, Usage, typed_texts
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.wire import ANTHROPIC
from perdure.kernel.wire.validity import check_messages
from perdure.testing.ports import BEHAVIOURS, Behaviour, ScriptedPorts
from perdure.testing.transcripts import transcripts

ENGINE = settings.get_profile("engine")
WINDOWS = (4_000, 6_000, 8_000, 12_000, 20_000, 32_000, 100_000, 200_000, 2_000_000)
MODELS = ("claude-sonnet-4-5", "claude-opus-5-5", "gpt-5", "claude-haiku-4-5", "an-unknown-model")
PROFILES = {(model, window): with_window(lookup(model), window) for model in MODELS for window in WINDOWS}
LIGHTS = (ToolResults(), LightTrim())
FOLDS = (SessionMemoryFold(), FullSummary())

T = TypeVar("T")
Attempted: TypeAlias = tuple[Projection | None, Infeasible | None]


@dataclass(frozen=True)
class World:
    """Everything around a transcript."""

    profile: ModelProfile
    settings: Settings
    ladder: Ladder
    script: tuple[Behaviour, ...]
    overhead: int
    counted: float
    """How the provider's count compares with the estimate; 0 for none."""

    def engine(self, ledger: Ledger | None = None) -> Engine:
        return Engine(self.profile, self.settings, overhead=self.overhead, ledger=ledger, ladder=self.ladder)


def world_of(number: int) -> World:
    """The world that a number names: its digits choose everything, and zero is the plainest."""
    digits = Digits(number)
    model, window = digits.pick(MODELS), digits.pick(WINDOWS)
    lights = digits.pick((LIGHTS, LIGHTS[::-1]))
    folds = digits.pick((FOLDS, FOLDS[::-1]))
    return World(
        profile=PROFILES[model, window],
        settings=Settings(
            entry_limit=digits.pick((4_000, 100, None)),
            clear_growth=digits.pick((60_000, 500, None)),
            fold_growth=digits.pick((80_000, 1_000, "auto", None)),
            clear_inputs=digits.pick((False, True)),
            recall_tool=digits.pick(("recall", None)),
        ),
        ladder=Ladder(light=lights, folds=(*folds, Extractive())),
        script=tuple(digits.pick(BEHAVIOURS) for _ in range(1 + digits.take(3))),
        overhead=digits.pick((0, 300, window // 8)),
        counted=digits.pick((0.0, 0.8, 1.25)),
    )


class Digits:
    """A number, taken apart."""

    def __init__(self, number: int) -> None:
        self.rest = number

    def take(self, base: int) -> int:
        self.rest, digit = divmod(self.rest, base)
        return digit

    def pick(self, options: Sequence[T]) -> T:
        return options[self.take(len(options))]


def requests(transcript: Transcript) -> list[int]:
    """Where a request is made: before each answer, and at the end unless the model spoke last or a round is open."""
    places = [
        place
        for place, message in enumerate(transcript)
        if message.role == "assistant" and place and transcript[place - 1].role != "assistant"
    ]
    answered = {result.tool_use_id for message in transcript for result in message.tool_results}
    open_round = any(use.id not in answered for message in transcript for use in message.tool_uses)
    ends = transcript[-1].role == "assistant" or open_round
    return places if ends else [*places, len(transcript)]


@dataclass
class Session:
    """An engine at work on a session, with the provider's count told back."""

    world: World
    engine: Engine
    ports: ScriptedPorts
    transcript: Transcript = field(default_factory=Transcript)
    usage: Usage | None = None

    def project(self, transcript: Transcript, place: int) -> Projection:
        new = transcript[len(self.transcript) : place]
        counted = (one.counted(self.usage if one.role == "assistant" else None) for one in new)
        self.transcript = self.transcript.append(*counted)
        projection = drive(self.engine.project(self.transcript, self.transcript[-1].time), self.ports)
        tokens = int(projection.usage.tokens * self.world.counted)
        self.usage = Usage(input_tokens=tokens) if self.world.counted else None
        return projection

    def restarted(self) -> "Session":
        """The same session in a new process, which has transcript and ledger alone."""
        rest = min(len(self.ports.asks), len(self.world.script) - 1)
        ports = ScriptedPorts(self.world.script[rest:])
        engine = self.world.engine(Ledger(self.engine.ledger))
        return Session(self.world, engine, ports, Transcript(self.transcript), self.usage)


def begin(world: World) -> Session:
    return Session(world, world.engine(), ScriptedPorts(world.script))


# Thousands of whole sessions: minutes, and on a loaded machine more.
@pytest.mark.timeout(3_600)
@ENGINE
@given(transcripts(max_events=12, largest=9_000), st.integers(0, 2**63), st.integers(0, 12))
def test_every_request_is_valid_fits_extends_the_last_and_is_the_same_after_a_restart(
    transcript: Transcript, number: int, stop: int
) -> None:
    session = begin(world_of(number))
    twin: Session | None = None
    last: Projection | None = None
    for count, place in enumerate(requests(transcript)):
        if count == stop:
            twin = session.restarted()
        projection, stuck = attempt(session, transcript, place)
        if twin is not None:
            assert_same(projection, stuck, attempt(twin, transcript, place))
        if projection is None:
            return
        assert_sound(session, projection)
        if last is not None:
            assert_extends(last, projection)
        last = projection


def attempt(session: Session, transcript: Transcript, place: int) -> Attempted:
    try:
        return session.project(transcript, place), None
    except Infeasible as error:
        return None, error


def assert_sound(session: Session, projection: Projection) -> None:
    """Valid, fitting, and nothing but a render of transcript and ledger."""
    fresh = render(Transcript(session.transcript), Ledger(session.engine.ledger))

    assert () == check_messages(projection.messages, session.world.profile, "anthropic")
    assert projection.limits is not None
    assert projection.usage.tokens <= projection.limits.hard
    assert encoded(fresh) == encoded(projection.view)
    assert (fresh.head, fresh.tail, fresh.tail_start) == (
        projection.view.head,
        projection.view.tail,
        projection.view.tail_start,
    )


def assert_same(projection: Projection | None, stuck: Infeasible | None, other: Attempted) -> None:
    """The engine that was made anew sends the same bytes and thinks them as large."""
    resumed, error = other
    if projection is None or resumed is None:
        assert (stuck is None, str(stuck)) == (error is None, str(error))
        return

    assert encoded(projection.view) == encoded(resumed.view)
    assert projection.usage == resumed.usage
    assert [type(edit) for edit in projection.edits] == [type(edit) for edit in resumed.edits]


def assert_extends(before: Projection, after: Projection) -> None:
    """The prefix moves only when an edit was added that is more than a reduction at entry."""
    if all(edit.reason.why == "entry" for edit in after.edits):
        assert encoded(before.view) == encoded(after.view)[: len(before.messages)]


@given(transcripts(max_events=12, largest=9_000), st.integers(0, 2**63))
def test_a_request_that_cannot_be_made_smaller_is_refused_with_numbers_that_show_it(
    transcript: Transcript, number: int
) -> None:
    session = begin(world_of(number))
    stuck = next((error for place in requests(transcript) if (error := attempt(session, transcript, place)[1])), None)
    if stuck is not None:
        assert stuck.overhead + stuck.current > stuck.window - stuck.reserve


@given(transcripts(max_events=14, largest=9_000), st.integers(0, 2**63))
def test_everything_that_left_the_view_is_in_the_archive_as_it_was(transcript: Transcript, number: int) -> None:
    world = world_of(number)
    engine, ports = world.engine(), ScriptedPorts(world.script)
    grown = Transcript()
    lost: list[str] = []
    try:
        for place in requests(transcript):
            grown = grown.append(*transcript[len(grown) : place])
            lost += [one.handle for one in drive(engine.project(grown, None), ports).lost]
    except Infeasible:
        return

    originals = {block_key(block) for message in transcript for block in message.content}
    for handle in lost:
        kept = ports.archive[handle]

        assert all(block_key(block) in originals for block in kept.content)
        assert all(message.id in {one.id for one in transcript} for message in kept.messages)


@given(transcripts(max_events=14, largest=3_000), st.integers(0, 2**63))
def test_what_the_user_typed_is_in_the_view_or_in_the_checkpoint_or_behind_a_handle(
    transcript: Transcript, number: int
) -> None:
    world = world_of(number)
    engine, ports = world.engine(), ScriptedPorts(world.script)
    try:
        projection = drive(engine.project(transcript, None), ports)
    except Infeasible:
        return

    shown = "\n".join(str(message.content) for message in projection.messages)
    archived = "\n".join(
        [str(one.content) for one in ports.archive.values()]
        + [str(message.content) for one in ports.archive.values() for message in one.messages]
    )
    for message in transcript:
        for text in typed_texts(message):
            assert repr(text.text)[1:-1] in shown or repr(text.text)[1:-1] in archived


def block_key(block: object) -> str:
    return repr(block)


def encoded(view: View) -> list[bytes]:
    """The bytes of each message, as they would be sent."""
    return [ANTHROPIC.encode_request(Request(model="m", messages=(message,))) for message in view.messages]
