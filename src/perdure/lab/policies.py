"""Context policies as the replay drives them: for each request of a session, what would have been sent.

It knows the engine, the classic ladder and appending. It must never call a model: where a policy asks for a narrative
it gets a stand-in of measured size that carries no facts, so that only what code carries survives. A new policy is one
class and one entry in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from perdure.kernel.context import (
    PRESETS,
    Engine,
    InMemory,
    Lost,
    Original,
    Reply,
    Rung,
    Settings,
    Step,
    Summarize,
    drive,
    render,
)
from perdure.kernel.context.classic import Classic
from perdure.kernel.errors import Infeasible, InvalidSetting
from perdure.kernel.messages import Message, Text, Transcript
from perdure.kernel.models import ModelProfile

NARRATIVE_TOKENS = 1_500
"""Size of the stand-in for a model's narrative. Summaries of the coding agents in the simulated sessions had 1,500 to
6,000 tokens with the user's words and the file lists, which code carries here."""

_SENTENCE = "The work went on as asked, step by step, and what was found on the way was taken into account. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What a policy sends as one request."""

    messages: Transcript | tuple[Message, ...]
    rungs: tuple[Rung, ...] = ()
    """The rungs that changed the view for this request."""
    asks: tuple[Summarize, ...] = ()
    """The narratives that had to be written first."""
    steps: tuple[Step, ...] = ()
    """What those rungs brought and at what price, where the policy tells."""
    lost: tuple[Lost, ...] = ()
    """The loss report: what left the view with this request, where the policy tells."""
    frontier: int | None = None
    """The last message that no later edit can change, where the policy knows."""
    edited: bool = False
    """Whether anything before the newest messages changed."""
    infeasible: bool = False
    """Whether the policy said, by name, that nothing it may do makes the request fit."""


class Run(Protocol):
    """One session under one policy."""

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What is sent as the next request. The answers in the transcript carry the usage of what was sent before."""
        ...

    def originals(self) -> Mapping[str, Original]:
        """What left the view and can be recalled, by handle."""
        ...


Policy = Callable[[ModelProfile, int], Run]
"""Begins a run for a model and a fixed overhead in tokens."""


class AppendOnly:
    """Everything, always."""

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The transcript as it is."""
        return Sent(messages=transcript, frontier=len(transcript) - 1)

    def originals(self) -> Mapping[str, Original]:
        """Nothing ever leaves."""
        return {}


class _StandIn(InMemory):
    """Ports with a model that writes nothing of use."""

    def __init__(self) -> None:
        super().__init__()
        self.asks: list[Summarize] = []

    def summarize(self, ask: Summarize) -> Reply:
        """The fixed narrative."""
        self.asks.append(ask)
        return Reply(message=stand_in())

    def taken(self) -> tuple[Summarize, ...]:
        """The requests since the last time."""
        asks, self.asks = tuple(self.asks), []
        return asks


@dataclass
class Perdure:
    """The engine with the given settings."""

    profile: ModelProfile
    overhead: int
    settings: Settings
    _engine: Engine = field(init=False)
    _ports: _StandIn = field(init=False, default_factory=_StandIn)

    def __post_init__(self) -> None:
        """Make the engine."""
        self._engine = Engine(self.profile, self.settings, overhead=self.overhead)

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The engine's projection."""
        try:
            projection = drive(self._engine.project(transcript, now), self._ports)
        except Infeasible:
            view = render(transcript, self._engine.ledger)
            return Sent(messages=view.messages, infeasible=True, edited=True, asks=self._ports.taken())
        edited = projection.changed and any(step.why != "entry" for step in projection.steps if step.changed)
        steps = tuple(step for step in projection.steps if step.changed)
        return Sent(
            messages=projection.view.messages,
            rungs=tuple(step.rung for step in steps),
            steps=steps,
            lost=projection.lost,
            asks=self._ports.taken(),
            frontier=projection.frontier - 1,
            edited=edited,
        )

    def originals(self) -> Mapping[str, Original]:
        """The archive."""
        return self._ports.archive


@dataclass
class ClassicRun:
    """The classic ladder."""

    ladder: Classic
    _ports: _StandIn = field(init=False, default_factory=_StandIn)
    _acted: bool = field(init=False, default=False)

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The ladder's view for this call alone."""
        view = drive(self.ladder.project(transcript), self._ports)
        # What was done for one call is undone for the next, which moves the prefix once more.
        self._acted = self._acted or bool(view.steps)
        return Sent(messages=view.messages, rungs=view.steps, asks=self._ports.taken(), edited=self._acted)

    def originals(self) -> Mapping[str, Original]:
        """The classic ladder keeps nothing."""
        return {}


def stand_in() -> Message:
    """A narrative of `NARRATIVE_TOKENS` that says nothing."""
    count = NARRATIVE_TOKENS * 3 // len(_SENTENCE)
    lines = "\n".join(f"- {_SENTENCE.strip()}" for _ in range(count))
    text = f"<summary>\n## Goal\n- Go on with the work.\n## Critical context\n{lines}\n</summary>"
    return Message(
        id="stand-in", role="assistant", content=(Text(text=text),), provenance="assistant", stop_reason="end_turn"
    )


def _perdure(settings: Settings) -> Policy:
    return lambda profile, overhead: Perdure(profile, overhead, settings)


POLICIES: dict[str, Policy] = {
    "append-only": lambda profile, overhead: AppendOnly(),
    "classic": lambda profile, overhead: ClassicRun(Classic(profile, overhead=overhead)),
    **{name: _perdure(settings) for name, settings in PRESETS.items()},
}
"""Every policy that can be replayed, by name; `recorded` is no policy but the bill that the session shows."""


def policy_named(name: str) -> Policy:
    """The policy of that name.

    Raises:
        InvalidSetting: there is none.
    """
    if name not in POLICIES:
        raise InvalidSetting(f"no policy {name!r}; there are {', '.join([*POLICIES, 'recorded'])}")
    return POLICIES[name]
