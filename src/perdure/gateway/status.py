"""What one user's conversations have come to: how full they are, what was read from caches, what was left out and why.

It knows records, and words for what the engine did. It must never know a word of a conversation, since none is in a
record, nor whose record it is: whoever asks the store says that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from perdure.gateway.state import Record
from perdure.kernel.errors import UserError
from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.messages.persist import usage_from_json
from perdure.kernel.value import value

MOST = 50
"""Conversations that are told of, newest first."""

MOST_STEPS = 8
"""Steps of each, newest first."""

LIVE = 300.0
"""Seconds since its newest request within which a conversation is live: so long a cache stays warm."""

_DONE: Mapping[str, tuple[str, str]] = {
    "reduce_output": ("1 large tool output reduced", "{} large tool outputs reduced"),
    "clear_tool_result": ("1 old tool result cleared", "{} old tool results cleared"),
    "clear_tool_input": ("the arguments of 1 old call cleared", "the arguments of {} old calls cleared"),
    "clear_thinking": ("the thinking of 1 old message cleared", "the thinking of {} old messages cleared"),
    "trim_text": ("1 long text shortened", "{} long texts shortened"),
    "checkpoint": ("the history folded into a summary", "the history folded into {} summaries"),
    "native_checkpoint": ("the history folded by the provider", "the history folded by the provider {} times"),
    "revert": ("1 edit taken back", "{} edits taken back"),
    "prefix_change": ("the client changed tools or system prompt", "the client changed tools or system prompt"),
}
"""What edits of a kind did: one of them, and several. Kinds that are not here changed no request."""

_WHY: Mapping[str, str] = {
    "entry": "before it was sent for the first time, which costs no cache",
    "cold": "the provider's cache had gone cold, so that it cost nothing",
    "clear_point": "the history had grown to where clearing pays",
    "fold_point": "the history had grown to where a summary pays",
    "threshold": "the window was nearly full",
    "overflow": "the provider called the request too long",
    "asked": "the client asked for it",
    "bound_thinking": "the thinking was bound to what changed",
}


@value
class Step:
    """Edits that were planned together."""

    time: float | None
    did: str
    why: str
    saved: int
    """Tokens that requests became smaller by."""


@value
class Told:
    """One conversation."""

    id: str
    model: str
    seen: float
    live: bool
    tokens: int
    """Of its newest request and the answer, as the provider counted them."""
    window: int | None
    sums: Mapping[str, float]
    """See `SUMS` in `state`."""
    steps: tuple[Step, ...]
    more: int
    """Steps before those."""

    @property
    def full(self) -> float | None:
        """The part of the window that is taken; None where the window is not known."""
        return min(1.0, self.tokens / self.window) if self.window else None


@value
class Status:
    """What a page shows."""

    tenant: str
    user: str
    now: float
    told: tuple[Told, ...]

    @property
    def sums(self) -> Mapping[str, float]:
        """Those of all conversations that are told of, together."""
        names = {name for told in self.told for name in told.sums}
        return {name: sum(told.sums.get(name, 0) for told in self.told) for name in sorted(names)}


def hit_rate(sums: Mapping[str, float]) -> float | None:
    """The part of all input that was read from a cache; None where there was none."""
    asked = sums.get("prompt_tokens", 0)
    return sums.get("cache_read_tokens", 0) / asked if asked else None


def told_of(record: Record, now: float) -> Told:
    """What is told of a conversation."""
    steps = [step for edits in _batches(record.edits) if (step := _step(edits)) is not None]
    return Told(
        id=record.id,
        model=record.model,
        seen=record.seen,
        live=now - record.seen < LIVE,
        tokens=_tokens(record.turns),
        window=record.window,
        sums=record.sums,
        steps=tuple(reversed(steps))[:MOST_STEPS],
        more=max(0, len(steps) - MOST_STEPS),
    )


def status_json(status: Status) -> JsonObject:
    """The same for programs."""
    return {
        "tenant": status.tenant,
        "user": status.user,
        "time": status.now,
        "live": sum(told.live for told in status.told),
        **_summed(status.sums),
        "conversations": [_conversation(told) for told in status.told],
    }


def _conversation(told: Told) -> JsonObject:
    steps: list[Json] = [
        {"time": step.time, "did": step.did, "why": step.why, "saved_tokens": step.saved} for step in told.steps
    ]
    return {
        "id": told.id,
        "model": told.model,
        "seen": told.seen,
        "live": told.live,
        "context": {"tokens": told.tokens, "window": told.window, "full": told.full},
        **_summed(told.sums),
        "edits": steps,
        "earlier_edits": told.more,
    }


def _summed(sums: Mapping[str, float]) -> JsonObject:
    return {"cache_hit_rate": hit_rate(sums), "sums": {**sums}}


def _batches(edits: Sequence[JsonObject]) -> Iterable[list[JsonObject]]:
    for _, batch in groupby(edits, key=lambda edit: _reason(edit).get("batch")):
        yield list(batch)


def _step(edits: Sequence[JsonObject]) -> Step | None:
    kinds = [str(edit.get("kind")) for edit in edits]
    done = [_did(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds) if kind in _DONE]
    if not done:
        return None
    reason = _reason(edits[0])
    time = reason.get("time")
    return Step(
        time=float(time) if isinstance(time, int | float) else None,
        did=", ".join(done),
        why="" if kinds[0] == "prefix_change" else _WHY.get(str(reason.get("why")), ""),
        saved=sum(saved for edit in edits if isinstance(saved := edit.get("saved"), int)),
    )


def _did(kind: str, count: int) -> str:
    one, several = _DONE[kind]
    return one if count == 1 else several.format(count)


def _reason(edit: JsonObject) -> JsonObject:
    found = edit.get("reason")
    return found if isinstance(found, dict) else {}


def _tokens(turns: Sequence[JsonObject]) -> int:
    if not turns:
        return 0
    try:
        usage = usage_from_json(turns[-1].get("usage"))
    except UserError:
        return 0
    return usage.prompt_tokens + usage.output_tokens
