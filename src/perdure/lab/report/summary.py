"""The figures of a replay, as one JSON object for each session and policy, and as totals for each policy.

It knows which field sums up and how. It must never format a number for people. A field that does not apply is null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

from perdure.kernel.messages import JsonObject
from perdure.kernel.value import value
from perdure.lab.recording import Recording
from perdure.lab.replay import Replayed


@value
class Outcome:
    """One session under one policy, with the recording that it came from."""

    recording: Recording
    replayed: Replayed


def report(outcomes: Sequence[Outcome]) -> JsonObject:
    """Everything, as `perdure replay --json` prints it."""
    policies = list(dict.fromkeys(outcome.replayed.policy for outcome in outcomes))
    by_policy = {name: [outcome for outcome in outcomes if outcome.replayed.policy == name] for name in policies}
    return {
        "files": [file_row(outcome) for outcome in outcomes],
        "totals": [total_row(name, found) for name, found in by_policy.items()],
    }


def file_row(outcome: Outcome) -> JsonObject:
    """The figures of one session under one policy."""
    recording, replayed = outcome.recording, outcome.replayed
    return {
        "file": recording.file,
        "format": recording.format,
        "messages": len(recording.transcript),
        "requests": len(replayed.points),
        "policy": replayed.policy,
        "model": replayed.model,
        "window": replayed.window,
        **_figures([replayed]),
        "warnings": [*warnings_of(outcome)],
    }


def total_row(policy: str, outcomes: Sequence[Outcome]) -> JsonObject:
    """The sums over all sessions under one policy."""
    replayed = [outcome.replayed for outcome in outcomes]
    windows = {one.window for one in replayed}
    models = {one.model for one in replayed}
    return {
        "policy": policy,
        "files": len(outcomes),
        "messages": sum(len(outcome.recording.transcript) for outcome in outcomes),
        "requests": sum(len(one.points) for one in replayed),
        "model": models.pop() if len(models) == 1 else None,
        "window": windows.pop() if len(windows) == 1 else None,
        **_figures(replayed),
        "warnings": [],
    }


def warnings_of(outcome: Outcome) -> list[str]:
    """What a person should know of how the file was read and priced."""
    read = [
        trouble.reason if trouble.line is None else f"line {trouble.line}: {trouble.reason}"
        for trouble in outcome.recording.troubles
    ]
    return [*read, *outcome.replayed.warnings]


def breaks_of(replayed: Iterable[Replayed]) -> Counter[str]:
    """Prefix breaks by cause."""
    return Counter(point.broke for one in replayed for point in one.points if point.broke is not None)


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the values lie; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _figures(replayed: Sequence[Replayed]) -> JsonObject:
    points = [point for one in replayed for point in one.points]
    simulated = any(one.seconds for one in replayed)
    sent = sum(point.tokens for point in points)
    read = sum(point.bill.read for point in points)
    prompt = sum(point.bill.prompt_tokens for point in points)
    priced = all(point.bill.usd is not None for point in points)
    seconds = [second for one in replayed for second in one.seconds]
    return {
        "peak_tokens": max((point.tokens for point in points), default=None),
        "sent_tokens": sent,
        "cost_units": round(sum(point.bill.units for point in points), 1),
        "cost_usd": round(sum(point.bill.usd or 0.0 for point in points), 6) if priced and points else None,
        "hit_rate": round(read / prompt, 4) if prompt else None,
        "prefix_breaks": sum(point.broke is not None for point in points),
        "edits": _edits(replayed) if simulated else None,
        "evicted_tokens": sum(point.evicted for point in points) if simulated else None,
        "needed_later": _needed(replayed) if simulated else None,
        "invalid_requests": sum(point.faults > 0 for point in points) if simulated else None,
        "over_window": sum(point.over_window for point in points),
        "infeasible_requests": sum(point.infeasible for point in points) if simulated else None,
        "projection_ms": _milliseconds(seconds) if simulated else None,
    }


def _edits(replayed: Sequence[Replayed]) -> JsonObject:
    rungs = Counter(rung for one in replayed for point in one.points for rung in point.rungs)
    return dict(sorted(rungs.items()))


def _needed(replayed: Sequence[Replayed]) -> JsonObject:
    return {
        "asked": sum(one.needed.asked for one in replayed),
        "visible": sum(one.needed.visible for one in replayed),
        "recallable": sum(one.needed.recallable for one in replayed),
        "gone": sum(one.needed.gone for one in replayed),
    }


def _milliseconds(seconds: Sequence[float]) -> JsonObject:
    median, most = quantile(seconds, 0.5), quantile(seconds, 0.99)
    return {
        "p50": None if median is None else round(median * 1000, 3),
        "p99": None if most is None else round(most * 1000, 3),
    }
