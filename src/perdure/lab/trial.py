"""One session under one policy with some settings, as a row of figures.

It knows which figures of a replay are kept. It must never know files or processes. Rows are plain JSON, small, and add
up, so that many thousands fit into memory and onto a disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace

from perdure.kernel.context import PRESETS, Settings, preset
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.kernel.value import value
from perdure.lab.bound import bounds
from perdure.lab.composition import KINDS
from perdure.lab.policies import Policy, engine, policy_named
from perdure.lab.providers import profile_of
from perdure.lab.recall import RecallCost, RecallPrice, recall_cost
from perdure.lab.recording import Recording
from perdure.lab.replay import Point, Replayed, Setting, Subject, replay

CURVE = 120
"""Points of the size over time that a row keeps."""

WORST = 10
"""Dearest moments that a row keeps."""


@value
class Trial:
    """What is tried on a session."""

    policy: str
    changes: tuple[tuple[str, int | float | str | None], ...] = ()
    """Settings of the engine that differ from the preset's."""
    window: int | None = None
    model: str | None = None
    provider: str | None = None

    @property
    def key(self) -> JsonObject:
        """What tells it from others."""
        changes: JsonObject = dict(self.changes)
        return {
            "policy": self.policy,
            "changes": changes,
            "window": self.window,
            "model": self.model,
            "provider": self.provider,
        }

    @property
    def label(self) -> str:
        """The same for people."""
        parts = [*(f"{name}={_short(value)}" for name, value in self.changes)]
        parts += [f"window={_short(self.window)}"] if self.window is not None else []
        parts += [word for word in (self.model, self.provider) if word is not None]
        return " ".join([self.policy, *parts])

    @property
    def ground(self) -> tuple[str | None, int | None, str | None]:
        """What only trials of the same model, window and provider have in common: they may be compared in price."""
        return self.model, self.window, self.provider


def settings_of(trial: Trial) -> Settings:
    """The engine's settings of a trial.

    Raises:
        InvalidSetting: its policy is no preset, or the engine has no such setting, or a value is out of its range.
    """
    if trial.policy not in PRESETS:
        raise InvalidSetting(f"{trial.policy!r} has no settings; give one of {', '.join(PRESETS)}")
    known = {field.name for field in fields(Settings)}
    for name, _ in trial.changes:
        if name not in known:
            raise InvalidSetting(f"the engine has no setting {name!r}")
    changes: Mapping[str, object] = dict(trial.changes)
    return _changed(preset(trial.policy), changes)


def policy_of(trial: Trial) -> Policy:
    """The policy of a trial.

    Raises:
        InvalidSetting: there is none of that name, or its settings are wrong.
    """
    return engine(settings_of(trial)) if trial.changes else policy_named(trial.policy)


def rows_of(
    recording: Recording, trials: Sequence[Trial], price: RecallPrice, clock: Callable[[], float]
) -> list[JsonObject]:
    """A row for each trial; what trials of one model share is worked out once."""
    rows: list[JsonObject] = []
    subjects: dict[bytes, tuple[Subject, JsonObject]] = {}
    for trial in trials:
        profile = profile_of(recording.model, trial.model, trial.window, trial.provider)
        key = encode_json([profile.id, profile.window.tokens, trial.provider])
        if key not in subjects:
            subject = Subject(recording, profile)
            subjects[key] = subject, _bounds_row(subject, price)
        subject, least = subjects[key]
        replayed = replay(subject, trial.policy, policy_of(trial), Setting(profile=profile, clock=clock))
        rows.append({**_row(recording, replayed, subject, price), "trial": trial.key, "label": trial.label, **least})
    return rows


def _bounds_row(subject: Subject, price: RecallPrice) -> JsonObject:
    found = bounds(subject, price)
    return {
        "least_sent_once": round(found.sent_once, 1),
        "least_free_rewrites": round(found.free_rewrites, 1),
        "least_exact": None if found.exact is None else round(found.exact, 1),
    }


def _row(recording: Recording, replayed: Replayed, subject: Subject, price: RecallPrice) -> JsonObject:
    points = replayed.points
    costs = [recall_cost(point.missed, point.tokens, subject.profile, price) for point in points]
    breaks: JsonObject = dict(Counter(point.broke for point in points if point.broke is not None))
    needed = replayed.needed
    priced = all(point.bill.usd is not None for point in points)
    return {
        "file": recording.file,
        "format": recording.format,
        "model": replayed.model,
        "window": replayed.window,
        "requests": len(points),
        "units": round(sum(point.bill.units for point in points), 1),
        "usd": round(sum(point.bill.usd or 0.0 for point in points), 6) if priced else None,
        "fresh": sum(point.bill.fresh for point in points),
        "recall_units": round(sum(cost.recalled for cost in costs), 1),
        "reread_units": round(sum(cost.files for cost in costs), 1),
        "rerun_units": round(sum(cost.others for cost in costs), 1),
        "recalls": sum(len(point.missed.recalled) for point in points),
        "asked": needed.asked,
        "visible": needed.visible,
        "recallable": needed.recallable,
        "gone": needed.gone,
        "summaries": sum(_summaries(point) for point in points),
        "edited": sum(point.broke == "edited" for point in points),
        "breaks": breaks,
        "peak": max((point.tokens for point in points), default=0),
        "sent": sum(point.tokens for point in points),
        "invalid": sum(point.faults > 0 for point in points),
        "over": sum(point.over_window for point in points),
        "infeasible": sum(point.infeasible for point in points),
        "kinds": _kinds(points),
        "curve": _curve([point.tokens for point in points]),
        "worst": _worst(recording, points, costs),
    }


def _kinds(points: Sequence[Point]) -> JsonObject:
    """Bytes of all requests together by kind."""
    return {kind: sum(point.sizes[place] for point in points if point.sizes) for place, kind in enumerate(KINDS)}


def _curve(sizes: Sequence[int]) -> list[Json]:
    """The size over time: the largest of each stretch."""
    count = min(CURVE, len(sizes))
    return [max(sizes[at * len(sizes) // count : (at + 1) * len(sizes) // count]) for at in range(count)]


def _summaries(point: Point) -> int:
    return sum(rung in ("full_summary", "session_memory", "extractive") for rung in point.rungs)


def _worst(recording: Recording, points: Sequence[Point], costs: Sequence[RecallCost]) -> list[Json]:
    dear = sorted(range(len(points)), key=lambda at: -points[at].bill.units - costs[at].units)[:WORST]
    return [
        {
            "file": recording.file,
            "request": at + 1,
            "units": round(points[at].bill.units + costs[at].units, 1),
            "recall": round(costs[at].units, 1),
            "tokens": points[at].tokens,
            "what": _told(points[at]),
        }
        for at in dear
    ]


def _told(point: Point) -> str:
    """What exactly happened, in words."""
    bill = point.bill
    parts = [f"the prefix broke ({point.broke})"] if point.broke else []
    parts += [f"{', '.join(dict.fromkeys(point.rungs))} ran"] if point.rungs else []
    parts += [f"{bill.read} tokens read, {bill.written + bill.written_long} written, {bill.fresh} fresh"]
    missed = len(point.missed.recalled), len(point.missed.gone)
    parts += [f"{missed[0]} needed results only recallable"] if missed[0] else []
    parts += [f"{missed[1]} needed results gone"] if missed[1] else []
    return "; ".join(parts)


def _changed(settings: Settings, changes: Mapping[str, object]) -> Settings:
    # The values are checked by the settings themselves, for range; the command line gives them their types.
    return replace(settings, **changes)  # pyright: ignore[reportArgumentType]


def _short(value: Json) -> str:
    if isinstance(value, int) and value >= 1_000 and value % 1_000 == 0:
        return f"{value // 1_000}k"
    return "off" if value is None else str(value)
