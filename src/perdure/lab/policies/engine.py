"""The engine as a policy, with any settings.

It knows the engine's ports. It must never call a model: where the engine asks for a narrative it gets the stand-in, so
that only what code carries survives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.kernel.context import Engine, InMemory, Original, Refused, Reply, Settings, Summarize, drive, render
from perdure.kernel.errors import Infeasible
from perdure.kernel.messages import Transcript
from perdure.kernel.models import ModelProfile
from perdure.lab.policies.narrative import stand_in
from perdure.lab.policies.run import Policy, Sent


class StandIn(InMemory):
    """Ports with a model that writes nothing of use."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        super().__init__()
        self.asks: list[Summarize] = []

    def summarize(self, ask: Summarize) -> Reply | Refused:
        """The fixed narrative."""
        self.asks.append(ask)
        return Reply(message=stand_in())

    def taken(self) -> tuple[Summarize, ...]:
        """The requests since the last time."""
        asks, self.asks = tuple(self.asks), []
        return asks


class NoModel(StandIn):
    """Ports without a model, so that the last rung writes the checkpoint."""

    def summarize(self, ask: Summarize) -> Refused:
        """Nobody writes it."""
        return Refused(reason="no model is set up for summaries")


@dataclass
class Perdure:
    """The engine with the given settings."""

    profile: ModelProfile
    overhead: int
    settings: Settings
    ports: StandIn = field(default_factory=StandIn)
    """What answers the engine."""
    _engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        """Make the engine."""
        self._engine = Engine(self.profile, self.settings, overhead=self.overhead)

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The engine's projection."""
        try:
            projection = drive(self._engine.project(transcript, now), self.ports)
        except Infeasible:
            view = render(transcript, self._engine.ledger)
            return Sent(messages=view.messages, infeasible=True, edited=True, asks=self.ports.taken())
        edited = projection.changed and any(step.why != "entry" for step in projection.steps if step.changed)
        steps = tuple(step for step in projection.steps if step.changed)
        return Sent(
            messages=projection.view.messages,
            rungs=tuple(step.rung for step in steps),
            steps=steps,
            lost=projection.lost,
            asks=self.ports.taken(),
            frontier=projection.frontier - 1,
            edited=edited,
        )

    def originals(self) -> Mapping[str, Original]:
        """The archive."""
        return self.ports.archive


def engine(settings: Settings) -> Policy:
    """The engine with these settings, as a policy."""
    return lambda profile, overhead: Perdure(profile, overhead, settings)


def engine_without_model(settings: Settings) -> Policy:
    """The engine with these settings where no model writes narratives."""
    return lambda profile, overhead: Perdure(profile, overhead, settings, NoModel())
