"""What /context, /why, /loss, /cost and their like say: lines of text from a session's own numbers.

It knows words and columns. It must never change a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import CacheBreak
from perdure.session import Session
from perdure.session.composition import composition_of
from perdure.session.status import Status, losses_of, status_of, why_of

ROWS = 12
"""Messages of a list."""
FULL = 0.8
"""Part of the window from which something is suggested."""
MUCH = 0.25
"""Part of the request that tools may take before it is said."""


def context(session: Session, now: float) -> Iterator[str]:
    """What fills the window."""
    status, composed = status_of(session, now), composition_of(session)
    window = f" of {status.window:,}" if status.window else ", window unknown"
    yield f"{composed.tokens:,} tokens{window}; {status.reserve:,} kept free for the answer"
    for share in composed.kinds:
        yield f"  {share.tokens:>8,}  {share.tokens / max(1, composed.tokens):>5.0%}  {share.name}"
    yield ""
    for share in composed.messages[:ROWS]:
        yield f"  {share.tokens:>8,}  {share.message_id:<6} {clip(one_line(share.name), 70)}"
    if len(composed.messages) > ROWS:
        yield f"  and {len(composed.messages) - ROWS:,} more messages"
    lost = [loss for loss in losses_of(session) if not loss.back]
    if lost:
        kinds = Counter(loss.rung for loss in lost)
        told = ", ".join(f"{number} by {rung.replace('_', ' ')}" for rung, number in kinds.most_common())
        yield f"\n{len(lost)} things left it ({sum(loss.tokens for loss in lost):,} tokens): {told}. /loss lists them"
    for pin in composed.pins:
        yield f"pinned: {clip(one_line(pin), 90)}"
    yield from _suggestions(status, {share.name: share.tokens for share in composed.kinds}, composed.tokens)


def why(session: Session) -> Iterator[str]:
    """The newest edit."""
    reasons = why_of(session)
    if reasons is None:
        yield "nothing has left the context yet"
        return
    yield f"{reasons.rung.replace('_', ' ')}, because of: {reasons.why.replace('_', ' ')}"
    yield f"{reasons.tokens_before:,} tokens before, {reasons.tokens_after:,} after"
    payback = reasons.price.payback
    if payback is not None:
        yield f"earned its rewrite after {payback:.1f} further requests"
    for loss in reasons.left[:ROWS]:
        yield f"  {loss.tokens:>8,}  {loss.handle}  {clip(one_line(loss.what), 70)}"
    yield "/expand takes it back"


def losses(session: Session) -> Iterator[str]:
    """What left, with handles."""
    found = losses_of(session)
    if not found:
        yield "nothing has left the context yet"
    for loss in found[: 3 * ROWS]:
        back = "  (back again)" if loss.back else ""
        yield f"  {loss.tokens:>8,}  {loss.handle}  {clip(one_line(loss.what), 70)}{back}"
    if len(found) > 3 * ROWS:
        yield f"  and {len(found) - 3 * ROWS:,} older ones; perdure recall lists all"
    if found:
        yield "/recall HANDLE shows one, /expand takes the newest back"


def cost(session: Session, now: float) -> Iterator[str]:
    """What it cost and saved."""
    status = status_of(session, now)
    told = f"{status.answers:,} answers to {status.turns:,} messages of yours, summaries included"
    if status.saved_usd is None:
        yield f"at least ${status.usd:.4f} for {told}" if status.usd else f"the price is not known; {told}"
        yield "this model has no published price; price_input and price_output under [models.NAME] set one"
    else:
        yield f"${status.usd:.4f} for {told}"
        yield f"${status.saved_usd:.4f} saved against a history that is never edited, up to where that would not fit"
    calls = [message.usage for message in session.transcript if message.usage is not None]
    read, prompt = sum(usage.cache_read_tokens for usage in calls), sum(usage.prompt_tokens for usage in calls)
    if prompt:
        yield f"{read / prompt:.0%} of {prompt:,} prompt tokens came from the provider's cache"


def cache(session: Session, breaks: Sequence[CacheBreak], now: float) -> Iterator[str]:
    """Hits, breaks and their causes."""
    status = status_of(session, now)
    state = (
        "not known"
        if status.warm_for is None
        else "cold"
        if status.warm_for <= 0
        else f"warm for {status.warm_for:.0f} s"
    )
    yield f"the cache is {state}; the next request should read {status.fixed + status.cached:,} tokens of it"
    yield f"{len(breaks)} breaks since it was opened"
    for one in breaks[-ROWS:]:
        yield f"  {one.reading.lost:>8,} tokens  {one.reading.cause}  {one.where}"


def _suggestions(status: Status, kinds: dict[str, int], whole: int) -> Iterator[str]:
    if status.window and status.tokens >= FULL * (status.window - status.reserve):
        yield "\nit is nearly full: /compact folds it now, /clear begins anew"
    tools = kinds.get("tools", 0)
    if whole and tools >= MUCH * whole and tools > 4_000:
        yield f"\ntools take {tools / whole:.0%} of each request: fewer MCP servers would leave more room"
