"""What a strategy is told, and what it proposes.

It knows the shapes between engine and strategies. It must never know a strategy: a new one is one file that implements
`LightStrategy` or `FoldStrategy`, and one entry in a list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Literal, Protocol, TypeAlias

from perdure.kernel.context.checkpoint.build import Fold
from perdure.kernel.context.checkpoint.document import CheckpointDocument
from perdure.kernel.context.cut import Cut
from perdure.kernel.context.edits import Rung
from perdure.kernel.context.ledger import InForce
from perdure.kernel.context.ports import Answer, Need
from perdure.kernel.context.render import View
from perdure.kernel.context.settings import Limits, Settings
from perdure.kernel.messages import Block, JsonObject, Message, Transcript
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value

Kind: TypeAlias = Literal["reduce", "clear_result", "clear_input", "clear_thinking", "trim"]


@value
class Situation:
    """Everything that a strategy may look at."""

    transcript: Transcript
    view: View
    in_force: InForce
    limits: Limits
    settings: Settings
    profile: ModelProfile
    measure: Callable[[str], int]
    """Tokens of a text, as calibrated so far."""
    weigh: Callable[[tuple[Block, ...]], int]
    """Tokens of some blocks, as calibrated so far."""

    def to_recall(self, handle: str) -> str:
        """The words that offer a handle to the model; empty where it has no tool to recall with."""
        tool = self.settings.recall_tool
        return "" if tool is None else f" To see it again: {tool} {handle}"

    def viewed(self) -> Iterator[tuple[int, Message, Message]]:
        """The messages behind the checkpoint that the view still shows.

        Each as its position in the view, as it is there, and as the transcript holds it.
        """
        transcript, tail = self.transcript, self.view.tail
        for place, shown in enumerate(self.view.messages[tail:], tail):
            index = transcript.index_of(shown.id)
            if index is not None:
                yield place, shown, transcript[index]


@value
class Proposal:
    """One light edit that a strategy would make, before it is archived and named."""

    kind: Kind
    message_id: str
    place: int
    """Position of the message in the view: everything from there on is written again."""
    ref: str = ""
    """Id of the call, for results and inputs."""
    block: int = 0
    """Position of the block in the transcript's message, for a trim."""
    content: str = ""
    """What is seen instead; empty for thinking."""
    input: JsonObject | None = None
    """What is seen instead, for an input."""
    handle: str
    """Recalls the original; `content` or `input` names it."""
    original: tuple[Block, ...]
    """The blocks that leave, as the transcript holds them."""
    what: str
    """A few words for people."""
    saved: int
    """Tokens that the view becomes smaller by."""


class LightStrategy(Protocol):
    """Changes content and never structure."""

    @property
    def name(self) -> Rung:
        """The rung under which its edits are shown."""
        ...

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """Light edits in the order in which they should be taken; the engine stops when its aim is met. Pure."""
        ...


@value
class Folding:
    """A prefix that is about to be folded."""

    cut: Cut
    view_prefix: tuple[Message, ...]
    """The part of the view that the checkpoint will replace, as the model saw it; head included."""
    fold: Fold
    """What is folded, as the transcript holds it, and what the checkpoint before it says."""
    budget: int
    """Tokens of the checkpoint document."""
    replaced: int
    """Tokens that the checkpoint will replace."""
    instructions: str = ""
    """What the user asked the summary to mind."""


@value
class Declined:
    """A strategy made no checkpoint."""

    reason: str
    failed: bool = False
    """Whether a model was asked and gave nothing usable: counts for the breaker."""


class FoldStrategy(Protocol):
    """Writes the checkpoint document of a folded prefix."""

    @property
    def name(self) -> Rung:
        """The rung under which its edits are shown."""
        ...

    @property
    def asks_model(self) -> bool:
        """Whether the breaker may skip it."""
        ...

    @property
    def forced(self) -> bool:
        """Whether `compact` and `recover_overflow` may use it."""
        ...

    def fold(self, situation: Situation, folding: Folding) -> Generator[Need, Answer, CheckpointDocument | Declined]:
        """The document, or why there is none. Performs nothing: asks by yielding."""
        ...
