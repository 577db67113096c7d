"""How large a request would be, as a plain harness knows it: the last response's count, and an estimate of the rest.

It knows one transcript that grows. It must never know what a policy does with the size.
"""

from __future__ import annotations

from perdure.kernel.context.cut import Cuts
from perdure.kernel.messages import Message, Transcript, weigh
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import tokens_of


class Ruler:
    """Measures ranges of a transcript and messages that stand in for some of it, in tokens."""

    def __init__(self, profile: ModelProfile, overhead: int) -> None:
        """Nothing is measured yet."""
        self.profile = profile
        self.overhead = overhead
        self._ends = [0]
        self._sent = 0
        self._scale = 1.0

    @property
    def window(self) -> int | None:
        """The model's window in tokens; None where nobody knows it."""
        return self.profile.window.tokens

    def follow(self, transcript: Transcript) -> None:
        """Take in what is new, and what the last response says of the last request's size."""
        for place in range(len(self._ends) - 1, len(transcript)):
            self._ends.append(self._ends[-1] + self.plain(transcript[place]))
        for place in range(len(transcript) - 1, -1, -1):
            usage = transcript[place].usage
            if usage is not None:
                told = usage.prompt_tokens - self.overhead
                self._scale = told / self._sent if told > 0 and self._sent else self._scale
                return

    def plain(self, message: Message) -> int:
        """Tokens of one message by the model's priors alone."""
        return tokens_of(weigh(message), self.profile)

    def between(self, start: int, stop: int) -> int:
        """The same for a range of the transcript."""
        return self._ends[stop] - self._ends[start]

    def request(self, plain: int) -> int:
        """The whole request whose messages have so many tokens by the priors."""
        return self.overhead + int(plain * self._scale)

    def history(self, tokens: int) -> int:
        """So many tokens as a provider counts them, in tokens by the priors."""
        return int(tokens / self._scale)

    def sends(self, plain: int) -> None:
        """Remember what is sent, to hold the next response's count against."""
        self._sent = plain


def opening_of(transcript: Transcript) -> int:
    """How many messages stand before the first answer: the task, which plain policies keep."""
    return next((place for place, message in enumerate(transcript) if message.role == "assistant"), len(transcript))


def tail_start(transcript: Transcript, ruler: Ruler, keep: int, least: int) -> int:
    """Where the longest legal tail begins that has at most `keep` tokens by the priors, and at least the last round;
    never before `least`."""
    cuts = Cuts(transcript, least)
    last = cuts.before(len(transcript) - 1)
    place = last
    for at in range(last, least - 1, -1):
        if ruler.between(at, len(transcript)) > keep:
            break
        if cuts.legal(at):
            place = at
    return place
