"""The cache doctor: every break of the prompt cache in recorded sessions, its cause, its price, and what prevents it.

It knows recorded usage and prices. It must never replay: what it tells is what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from perdure.kernel.messages import JsonObject, Usage
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value
from perdure.lab.providers import profile_of
from perdure.lab.recording import Asked, Recording
from perdure.lab.report.table import short
from perdure.lab.validate import Cause, cause_of, fell_short, left_by

PING = 285.0
"""Seconds between two requests that keep a cache of five minutes alive."""

PINGS = 3
"""Beyond so many, keeping the cache alive costs more than it saves on most pauses of recorded sessions."""


@value
class Incident:
    """One break."""

    file: str
    request: int
    """Counted from 1 among the requests that have usage, over all threads of the file."""
    cause: Cause
    gap: float | None
    """Seconds since the request before."""
    left: int
    """Tokens that the request before had left in the cache."""
    read: int
    """Tokens of them that were read."""
    units: float
    """What writing them anew cost beyond reading them, in units of an uncached input token."""
    usd: float | None
    advice: str


def incidents(recordings: Iterable[Recording], model: str | None = None) -> Iterator[Incident]:
    """Every break of some sessions, in order."""
    for recording in recordings:
        threads: dict[str, list[tuple[int, Asked]]] = {}
        for number, asked in enumerate(recording.asked, start=1):
            if asked.usage is not None and asked.usage.prompt_tokens > 0:
                threads.setdefault(asked.thread, []).append((number, asked))
        found = [one for thread in threads.values() for one in _of_thread(recording, thread, model)]
        yield from sorted(found, key=lambda one: one.request)


def _of_thread(recording: Recording, thread: Sequence[tuple[int, Asked]], model: str | None) -> Iterator[Incident]:
    for (_, before), (number, now) in pairwise(thread):
        profile = profile_of(now.model or recording.model, model, None, None)
        usage = now.usage or Usage()
        left, read = left_by(before.usage or Usage(), profile), usage.cache_read_tokens
        if not fell_short(read, left):
            continue
        # What is gone from the request itself, as after a compaction, is not written again.
        again = max(0, min(left, usage.prompt_tokens) - read)
        units = again * max(0.0, profile.cache.write_multiplier(0) - profile.cache.read)
        cause = cause_of(before, now, profile) or "unexplained"
        gap = _pause(before, now)
        yield Incident(
            file=recording.file,
            request=number,
            cause=cause,
            gap=gap,
            left=left,
            read=read,
            units=units,
            usd=None if profile.prices is None else units * profile.prices.input / 1_000_000,
            advice=_advice(cause, gap, left, profile),
        )


def _pause(before: Asked, now: Asked) -> float | None:
    """Seconds between two requests; None where the recording's times do not tell, as where a clock was set back."""
    if before.time is None or now.time is None or now.time < before.time:
        return None
    return now.time - before.time


def _advice(cause: Cause, gap: float | None, left: int, profile: ModelProfile) -> str:
    match cause:
        case "idle":
            return _after_pause(gap, left, profile)
        case "compacted":
            return "the price of a compaction; a mark at the end of what no edit can change keeps what lies before it"
        case "edited":
            return "what had been sent was changed: change in large batches, or while the cache is cold anyway"
        case "model":
            return "each model has its own cache: switch when it is cold, or behind a checkpoint"
        case "unexplained":
            return (
                "tools, system blocks or settings changed, or the provider dropped the entry: compare the two requests"
            )


def _after_pause(gap: float | None, left: int, profile: ModelProfile) -> str:
    lives = profile.cache.lives
    parts: list[str] = []
    if gap is not None and lives and lives[0].seconds <= 300 and gap <= PING * PINGS + lives[0].seconds:
        pings = max(1, int((gap - lives[0].seconds) // PING) + 1)
        parts.append(f"{pings} keep-alive pings ({short(pings * left * profile.cache.read)} units) would have held it")
    longer = next((life for life in lives[1:] if gap is not None and gap <= life.seconds), None)
    if longer is not None:
        parts.append(f"a life of {longer.seconds // 60} minutes would have held it, at {longer.write} for each write")
    parts.append("clear old results before such a request: while the cache is cold, that costs nothing")
    return "; ".join(parts)


def doctor_text(found: Sequence[Incident], most: int = 30) -> str:
    """What a person reads: sums by cause, then the dearest breaks."""
    if not found:
        return "no break of the cache was found (sessions without usage numbers tell nothing)\n"
    lines = ["cause          breaks    units      USD"]
    for cause in dict.fromkeys(one.cause for one in sorted(found, key=lambda one: -one.units)):
        of_it = [one for one in found if one.cause == cause]
        usd = sum(one.usd or 0.0 for one in of_it)
        lines.append(f"{cause:<13}{len(of_it):>8}{short(sum(one.units for one in of_it)):>9}{usd:>9.2f}")
    lines.append("")
    dearest = sorted(found, key=lambda one: -one.units)
    for one in dearest[:most]:
        gap = "" if one.gap is None else f" after {one.gap:.0f} s"
        money = "" if one.usd is None else f", {one.usd:.3f} USD"
        lines.append(
            f"{one.file} request {one.request}: {one.cause}{gap}; read {short(one.read)} of {short(one.left)}, "
            f"{short(one.units)} units{money}"
        )
        lines.append(f"    {one.advice}")
    if len(dearest) > most:
        lines.append(f"{len(dearest) - most} more breaks: --json lists all")
    return "\n".join(lines) + "\n"


def doctor_rows(found: Sequence[Incident]) -> list[JsonObject]:
    """Every break."""
    return [
        {
            "file": one.file,
            "request": one.request,
            "cause": one.cause,
            "gap_seconds": one.gap,
            "left_tokens": one.left,
            "read_tokens": one.read,
            "units": round(one.units, 1),
            "usd": one.usd,
            "advice": one.advice,
        }
        for one in found
    ]
