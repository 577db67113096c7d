"""Where a transcript may be cut, and where it is.

It knows calls, results and turns. It must never know why something is cut. A cut at `i` folds the messages before `i`
and keeps those from `i` on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perdure.kernel.messages import Message
from perdure.kernel.value import value


@value
class Cut:
    """A chosen cut."""

    index: int
    """Position in the transcript of the first message that is kept."""
    split_turn: bool
    """Whether the kept messages begin inside a turn, whose start is folded."""
    turn_start: int | None
    """Position of the user-typed message that began that turn; None where the cut is at a turn's start."""


class Cuts:
    """The legal cuts of a transcript: never inside an open round, never between a call and its result.

    A call that nobody ever answered blocks only the end of the transcript: once the model has spoken again behind
    another message it is an orphan and blocks nothing.
    """

    def __init__(self, messages: Sequence[Message], start: int = 0) -> None:
        """Find the legal cuts behind position `start`."""
        self._messages = messages
        self._start = start
        self._legal = _legal(messages, start)

    def legal(self, index: int) -> bool:
        """Whether a cut at this position leaves every call with its result."""
        return self._start <= index <= len(self._messages) and self._legal[index - self._start]

    def last(self) -> int:
        """The last legal position: the end, or the beginning of the round that is still open."""
        return self.before(len(self._messages))

    def before(self, index: int) -> int:
        """The last legal position at or before `index`; the start where there is none."""
        while index > self._start and not self.legal(index):
            index -= 1
        return index

    def near(self, index: int, enough: Callable[[int], bool]) -> int:
        """The legal cut at or behind `index` at which a tail begins: at a user-typed message if `enough` still says
        yes to the tail from there, else as early as is legal; before `index` if none is legal behind it."""
        first = next((place for place in range(index, len(self._messages) + 1) if self.legal(place)), None)
        if first is None or first == len(self._messages):
            return self._before(index, first)
        for place in range(first, len(self._messages)):
            if not enough(place):
                break
            if self.legal(place) and self._messages[place].is_typed:
                return place
        return first

    def _before(self, index: int, end: int | None) -> int:
        """Where everything from `index` on is one round: keep that round whole rather than nothing."""
        place = min(index, len(self._messages) - 1)
        while place > self._start and not self.legal(place):
            place -= 1
        return place if self.legal(place) and place > self._start else end if end is not None else self.last()


def turn_start(messages: Sequence[Message], index: int) -> int | None:
    """The user-typed message whose turn contains position `index`, if it lies before it."""
    if index < len(messages) and messages[index].is_typed:
        return None
    return next((place for place in range(min(index, len(messages)) - 1, -1, -1) if messages[place].is_typed), None)


def find_cut(cuts: Cuts, messages: Sequence[Message], start: int, keep: int, size: Callable[[int], int]) -> Cut | None:
    """The cut that keeps about `keep` tokens verbatim, or None where nothing new would be folded.

    `size` tells the tokens of the messages from a position to the end.
    """
    low, high = start, len(messages)
    while low < high:
        middle = (low + high) // 2
        if size(middle) <= keep:
            high = middle
        else:
            low = middle + 1
    index = cuts.near(low, lambda place: size(place) * 2 >= keep)
    if index <= start:
        return None
    return cut_at(messages, index, start)


def cut_at(messages: Sequence[Message], index: int, start: int) -> Cut:
    """The cut at a given legal position; `start` is where the folding begins."""
    began = turn_start(messages, index) if index < len(messages) else None
    split = began is not None and began >= start
    return Cut(index=index, split_turn=split, turn_start=began if split else None)


def _legal(messages: Sequence[Message], start: int) -> list[bool]:
    """For each position from `start` to the end, whether no call is open there."""
    opened: dict[str, int] = {}
    closes: list[int] = [0] * (len(messages) - start + 2)
    for place in range(start, len(messages)):
        message = messages[place]
        if message.role == "assistant":
            if place > start and messages[place - 1].role != "assistant":
                opened = {call: since for call, since in opened.items() if _answered_later(call, messages, place)}
            opened.update((use.id, place) for use in message.tool_uses)
        else:
            for result in message.tool_results:
                since = opened.pop(result.tool_use_id, None)
                if since is not None:
                    closes[since - start + 1] += 1
                    closes[place - start + 1] -= 1
    for since in opened.values():
        closes[since - start + 1] += 1
    legal: list[bool] = []
    depth = 0
    for place in range(len(messages) - start + 1):
        depth += closes[place]
        legal.append(depth == 0)
    return legal


def _answered_later(call: str, messages: Sequence[Message], place: int) -> bool:
    """Whether a call that is open when the model speaks again still gets its answer, as with interleaved results.

    Looks only as far as the round after: a later answer would be refused by every provider.
    """
    for message in messages[place : place + 8]:
        if any(result.tool_use_id == call for result in message.tool_results):
            return True
    return False
