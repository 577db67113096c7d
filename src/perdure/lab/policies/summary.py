"""A full summary near the window, as most harnesses compact: a model reads the whole request and writes it short.

It knows when and what is kept. The summary is a stand-in of measured size; it must never carry anything of the session,
so that what survives by it is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.context import Original, Summarize
from perdure.kernel.messages import Message, Text, Transcript, text_of
from perdure.lab.policies.narrative import SUMMARY_TOKENS, stand_in
from perdure.lab.policies.ruler import Ruler, opening_of, tail_start
from perdure.lab.policies.run import Policy, Sent

KEEP_TAIL = 20_000
"""Tokens of the newest messages that stay verbatim; with a small window a quarter of it."""

_INSTRUCTION = "Summarize this conversation so that the work can go on from the summary alone."


class Summarizing:
    """Over `share` of the window: a summary in the place of everything but the tail."""

    def __init__(self, ruler: Ruler, share: float) -> None:
        """Nothing is summarised yet."""
        self._ruler, self._share = ruler, share
        self._count = 0
        self._start = 0
        self._before: tuple[Message, ...] = ()

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The summary, if there is one, and what came since."""
        ruler = self._ruler
        ruler.follow(transcript)
        window = ruler.window
        if window is None or ruler.request(self._size(transcript)) <= self._share * window:
            return self._sent(transcript)
        keep = ruler.history(min(KEEP_TAIL, window // 4))
        cut = tail_start(transcript, ruler, keep, max(self._start, opening_of(transcript)))
        if cut <= self._start:
            return self._sent(transcript)
        tokens = SUMMARY_TOKENS[self._count % len(SUMMARY_TOKENS)]
        ask = Summarize(
            messages=(*self._before, *transcript[self._start : cut]),
            instruction=_INSTRUCTION,
            extends=True,
            max_tokens=tokens,
        )
        self._count += 1
        self._start, self._before = cut, (_summary(tokens, self._count),)
        return self._sent(transcript, ask, tokens)

    def originals(self) -> Mapping[str, Original]:
        """Nothing can be recalled."""
        return {}

    def _size(self, transcript: Transcript) -> int:
        return sum(map(self._ruler.plain, self._before)) + self._ruler.between(self._start, len(transcript))

    def _sent(self, transcript: Transcript, ask: Summarize | None = None, tokens: int = 0) -> Sent:
        self._ruler.sends(self._size(transcript))
        messages = (*self._before, *transcript[self._start :]) if self._before else transcript
        if ask is None:
            return Sent(messages=messages)
        return Sent(messages=messages, rungs=("full_summary",), asks=(ask,), written=(tokens,), edited=True)


def summary(share: float) -> Policy:
    """A full summary at `share` of the window."""
    return lambda profile, overhead: Summarizing(Ruler(profile, overhead), share)


def _summary(tokens: int, count: int) -> Message:
    text = text_of(stand_in(tokens).content)
    return Message(id=f"summary-{count}", role="user", content=(Text(text=text),), provenance="harness")
