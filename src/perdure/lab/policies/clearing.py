"""Old tool results behind a placeholder, the way policies without memory do it: worked out anew for each request.

It knows results and their order. It must never know when to clear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perdure.kernel.context import Original
from perdure.kernel.context.strategies.tool_results import CLEARED
from perdure.kernel.messages import Message, ToolResult, Transcript
from perdure.lab.policies.ruler import Ruler
from perdure.lab.policies.run import Sent


class Clearing:
    """The messages of a transcript with all results before some place cleared; each is made once."""

    def __init__(self, ruler: Ruler) -> None:
        """Nothing is cleared yet."""
        self._ruler = ruler
        self._cleared: dict[int, Message] = {}
        self._results: list[int] = []
        self._seen = 0
        self._until = 0

    def follow(self, transcript: Transcript) -> None:
        """Take in the results that are new: the place of each."""
        self._ruler.follow(transcript)
        for place in range(self._seen, len(transcript)):
            self._results += [place] * _count(transcript[place])
        self._seen = len(transcript)

    def boundary(self, keep: int) -> int:
        """The place of the oldest of the newest `keep` results: those before it are old."""
        if len(self._results) <= keep:
            return 0
        return self._results[-keep] if keep else self._seen

    def old(self, start: int, stop: int) -> int:
        """How many results lie between two places."""
        return sum(start <= place < stop for place in self._results)

    def saved(self, transcript: Transcript, stop: int) -> int:
        """Tokens by the priors that clearing all results before a place frees."""
        places = dict.fromkeys(place for place in self._results if place < stop)
        return sum(
            self._ruler.plain(transcript[place]) - self._ruler.plain(self._without(transcript, place))
            for place in places
        )

    def send(self, transcript: Transcript, until: int) -> Sent:
        """The request with all results before a place cleared."""
        edited, self._until = until != self._until, until
        messages = list(transcript)
        for place in dict.fromkeys(place for place in self._results if place < until):
            messages[place] = self._without(transcript, place)
        self._ruler.sends(self._ruler.between(0, len(transcript)) - self.saved(transcript, until))
        return Sent(messages=tuple(messages), rungs=("editing",) if edited else (), edited=edited)

    def originals(self) -> Mapping[str, Original]:
        """Nothing can be recalled."""
        return {}

    def _without(self, transcript: Transcript, place: int) -> Message:
        if place not in self._cleared:
            self._cleared[place] = _cleared(transcript[place])
        return self._cleared[place]


def _count(message: Message) -> int:
    return len(message.tool_results)


def _cleared(message: Message) -> Message:
    return replace(
        message,
        content=tuple(
            replace(block, content=CLEARED) if isinstance(block, ToolResult) else block for block in message.content
        ),
    )
