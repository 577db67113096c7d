"""What it would have cost to get back what a policy had taken away and the recorded agent used.

It knows which tool result brought a name, and prices. It must never decide what is shown: it is told. The recalled text
is paid for once for each request that needed it, and is not taken to stay in the context.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.cache import Parts, bill
from perdure.kernel.messages import Message, Transcript, weigh
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import Calibration, tokens_of
from perdure.kernel.value import value
from perdure.lab.needed import Vocabulary


@value
class Source:
    """A tool result that brought something which was needed later."""

    place: int
    """Of its message in the transcript."""
    tokens: int
    file: bool
    """Whether a file or a search can be read again for it."""


@value
class Missed:
    """The sources that one request needed and did not show."""

    recalled: tuple[Source, ...] = ()
    """Behind a handle: one call brings each back."""
    gone: tuple[Source, ...] = ()
    """Nowhere: a file is read again, anything else is run again as far as that is possible."""


NOTHING = Missed()


@value
class RecallPrice:
    """What getting something back is taken to cost; every figure may be changed."""

    cap: int = 4_000
    """Tokens that come back at most: what is longer is asked for in part."""
    call: int = 300
    """Output tokens of the call."""
    gone: float = 1.0
    """What a source that is gone costs, in units of one that is recalled."""


@value
class RecallCost:
    """What the misses of one request come to, in units of an uncached input token."""

    recalled: float = 0.0
    files: float = 0.0
    """Gone, and a file: read again."""
    others: float = 0.0
    """Gone, and no file: run again, if that still gives the same."""

    @property
    def units(self) -> float:
        """All of it."""
        return self.recalled + self.files + self.others


class Sources:
    """For each name that was needed later, the newest result that had brought it by then."""

    def __init__(self, vocabulary: Vocabulary, profile: ModelProfile, calibration: Calibration) -> None:
        """Nothing was seen yet."""
        self._vocabulary, self._profile, self._calibration = vocabulary, profile, calibration
        self._newest: dict[str, int] = {}
        self._made: dict[int, Source] = {}
        self._files: set[str] = set()
        self._seen = 0

    def follow(self, transcript: Transcript) -> None:
        """Take in what is new."""
        for place in range(self._seen, len(transcript)):
            message = transcript[place]
            self._files.update(call.id for call in message.tool_uses if _reads(call.name))
            if message.tool_results or message.is_output:
                self._newest.update(dict.fromkeys(self._vocabulary.of(message), place))
        self._seen = len(transcript)

    def of(self, names: Sequence[str], transcript: Transcript) -> tuple[Source, ...]:
        """The sources of some names, each once."""
        places = dict.fromkeys(self._newest[name] for name in names if name in self._newest)
        return tuple(self.source(place, transcript[place]) for place in places)

    def source(self, place: int, message: Message) -> Source:
        """The message at a place, as a source."""
        if place not in self._made:
            tokens = tokens_of(weigh(message), self._profile, self._calibration)
            file = any(result.tool_use_id in self._files for result in message.tool_results)
            self._made[place] = Source(place=place, tokens=tokens, file=file)
        return self._made[place]


def recall_cost(missed: Missed, prompt: int, profile: ModelProfile, price: RecallPrice) -> RecallCost:
    """What the misses of one request cost: for each source a request that reads the `prompt` tokens there are, a short
    answer, and the text that comes back, which is written to the cache."""
    if not (missed.recalled or missed.gone):
        return RecallCost()
    return RecallCost(
        recalled=sum(_units(source, prompt, profile, price) for source in missed.recalled),
        files=price.gone * sum(_units(source, prompt, profile, price) for source in missed.gone if source.file),
        others=price.gone * sum(_units(source, prompt, profile, price) for source in missed.gone if not source.file),
    )


def _units(source: Source, prompt: int, profile: ModelProfile, price: RecallPrice) -> float:
    back = min(source.tokens, price.cap)
    cached = bool(profile.cache.lives)
    parts = Parts(
        read=prompt if cached else 0,
        fresh=0 if cached else prompt + back,
        written=back if cached else 0,
        output=price.call,
    )
    return bill(parts, profile).units


def _reads(tool: str) -> bool:
    """Whether a tool of this name looks at files, by the names that coding agents use."""
    name = tool.lower()
    return any(word in name for word in ("read", "view", "open", "grep", "glob", "search", "find", "list", "ls"))
