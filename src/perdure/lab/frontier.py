"""What a grid of trials comes to: totals, the frontier of price against what stays in reach, and what to choose.

It knows rows. It must never know how they were made. Prices include what getting things back costs; ratios are taken
only between trials of the same model, window and provider, over the same sessions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import value

DRAWS = 1_000
"""Resamplings of the sessions behind an interval."""

_SUMMED = [
    "requests",
    "asked",
    "visible",
    "recallable",
    "gone",
    "recalls",
    "summaries",
    "edited",
    "sent",
    "fresh",
    "units",
    "recall_units",
    "reread_units",
    "rerun_units",
    "usd",
    "invalid",
    "over",
    "infeasible",
    "least_sent_once",
    "least_free_rewrites",
]

SPREAD = 0.95
"""Part of the resamplings that lie within the interval."""


@value
class Total:
    """One trial over all sessions. Prices in units of an uncached input token."""

    label: str
    trial: JsonObject
    sessions: int
    requests: int
    units: float
    """Requests and narratives."""
    recall_units: float
    """Getting back what is recallable."""
    gone_units: float
    """Reading or running again what is gone."""
    usd: float | None
    asked: int
    visible: int
    recallable: int
    gone: int
    recalls: int
    summaries: int
    edited: int
    peak: int
    sent: int
    fresh: int
    faults: int
    """Requests that a provider would have refused, or that did not fit, or could not be made."""
    least_sent_once: float
    least_free_rewrites: float
    kinds: Mapping[str, int]
    """Bytes of all requests together by kind."""
    breaks: Mapping[str, int]
    """Breaks of the cache by cause."""
    ratio: float | None = None
    """Of append-only on the same ground."""
    best: bool = False
    """Whether no other trial of its ground is cheaper with as much visible and as little gone."""

    @property
    def price(self) -> float:
        """All of it."""
        return self.units + self.recall_units + self.gone_units

    @property
    def survival(self) -> float:
        """Part of what was needed later that is still visible."""
        return self.visible / self.asked if self.asked else 1.0

    @property
    def reach(self) -> float:
        """Part that is visible or recallable."""
        return (self.visible + self.recallable) / self.asked if self.asked else 1.0


@value
class Saving:
    """How much less one trial costs than another, over the same sessions."""

    mean: float
    """Of their sums: 0.3 is 30 % less."""
    low: float
    high: float
    """Bounds of the interval, by drawing whole sessions again."""
    wins: float
    """Part of the sessions where it is no dearer."""


def totals(rows: Iterable[JsonObject]) -> list[Total]:
    """The sums for each trial, in the order of their first rows, with the frontier marked."""
    found: dict[str, _Sums] = {}
    for row in rows:
        label = str(row["label"])
        if label not in found:
            found[label] = _Sums(row)
        found[label].add(row)
    sums = [one.total(label) for label, one in found.items()]
    base = {_ground(one): one.price for one in sums if one.trial["policy"] == "append-only"}
    return [_placed(one, sums, base.get(_ground(one))) for one in sums]


def saving(rows: Iterable[JsonObject], label: str, against: str, seed: int = 0) -> Saving:
    """What `label` saves against another trial; the same seed gives the same interval."""
    prices: dict[str, dict[str, float]] = {label: {}, against: {}}
    for row in rows:
        if (name := str(row["label"])) in prices:
            prices[name][_session(row)] = price_of(row)
    ours, theirs = prices[label], prices[against]
    pairs = [(ours[name], theirs[name]) for name in ours if name in theirs]
    if not pairs:
        return Saving(mean=0.0, low=0.0, high=0.0, wins=0.0)
    # Intervals have to come out the same each time; nothing here is a secret.
    dice = random.Random(seed)  # noqa: S311
    drawn = sorted(_saved(dice.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    edge = int((1 - SPREAD) / 2 * DRAWS)
    return Saving(
        mean=_saved(pairs),
        low=drawn[edge],
        high=drawn[-1 - edge],
        wins=sum(one <= other for one, other in pairs) / len(pairs),
    )


def advised(found: Sequence[Total]) -> Total | None:
    """The trial to choose: the cheapest whose requests all fit and are valid and from which nothing needed is gone;
    where all lose something, the cheapest among those that lose least."""
    sound = [one for one in found if one.faults == 0 and one.trial["policy"] != "append-only"] or list(found)
    least = min((one.gone for one in sound), default=0)
    return min((one for one in sound if one.gone == least), key=lambda one: one.price, default=None)


def price_of(row: JsonObject) -> float:
    """The price of one session, getting things back included."""
    return sum(number(row[key]) for key in ("units", "recall_units", "reread_units", "rerun_units"))


def number(value: Json) -> float:
    """A figure of a row."""
    return float(value) if isinstance(value, int | float) else 0.0


def _saved(pairs: Sequence[tuple[float, float]]) -> float:
    whole = sum(other for _, other in pairs)
    return 1 - sum(one for one, _ in pairs) / whole if whole else 0.0


def _session(row: JsonObject) -> str:
    return f"{row['file']} {row.get('path', '')}"


class _Sums:
    """The rows of one trial, added up one by one: none of them is held."""

    def __init__(self, first: JsonObject) -> None:
        trial = first["trial"]
        self._trial: JsonObject = trial if isinstance(trial, dict) else {}
        self._sessions = 0
        self._priced = True
        self._peak = 0
        self._sums = dict.fromkeys(_SUMMED, 0.0)
        self._kinds: Counter[str] = Counter()
        self._breaks: Counter[str] = Counter()

    def add(self, row: JsonObject) -> None:
        self._sessions += 1
        self._priced = self._priced and row["usd"] is not None
        self._peak = max(self._peak, int(number(row["peak"])))
        for key in _SUMMED:
            self._sums[key] += number(row[key])
        for counter, parts in ((self._kinds, row.get("kinds")), (self._breaks, row.get("breaks"))):
            for name, part in parts.items() if isinstance(parts, dict) else ():
                counter[name] += int(number(part))

    def total(self, label: str) -> Total:
        sums = self._sums
        return Total(
            label=label,
            trial=self._trial,
            sessions=self._sessions,
            requests=int(sums["requests"]),
            units=sums["units"],
            recall_units=sums["recall_units"],
            gone_units=sums["reread_units"] + sums["rerun_units"],
            usd=sums["usd"] if self._priced else None,
            asked=int(sums["asked"]),
            visible=int(sums["visible"]),
            recallable=int(sums["recallable"]),
            gone=int(sums["gone"]),
            recalls=int(sums["recalls"]),
            summaries=int(sums["summaries"]),
            edited=int(sums["edited"]),
            peak=self._peak,
            sent=int(sums["sent"]),
            fresh=int(sums["fresh"]),
            faults=int(sums["invalid"] + sums["over"] + sums["infeasible"]),
            least_sent_once=sums["least_sent_once"],
            least_free_rewrites=sums["least_free_rewrites"],
            kinds=dict(self._kinds),
            breaks=dict(self._breaks),
        )


def _placed(one: Total, all_of_them: Sequence[Total], base: float | None) -> Total:
    rivals = [other for other in all_of_them if _ground(other) == _ground(one) and other is not one]
    beaten = any(_beats(other, one) for other in rivals)
    return replace(one, ratio=one.price / base if base else None, best=not beaten and one.faults == 0)


def _beats(other: Total, one: Total) -> bool:
    return other.faults == 0 and other.price < one.price and other.survival >= one.survival and other.gone <= one.gone


def _ground(one: Total) -> tuple[Json, ...]:
    return tuple(one.trial.get(name) for name in ("model", "window", "provider"))
