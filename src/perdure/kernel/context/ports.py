"""What the engine asks of the world, and the answers.

It knows questions. It must never know who answers: the engine's entries are generators that yield these requests, and a
driver, synchronous or asynchronous, lets a host's ports perform them. The same engine thus runs against a live model, a
scripted one, or the lab's priced stand-in.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.context.checkpoint.document import CheckpointDocument
from perdure.kernel.context.edits import Edit, Rung
from perdure.kernel.messages import Block, Message
from perdure.kernel.value import value

Entry: TypeAlias = Literal["project", "compact", "recover_overflow"]
"""The engine's entries: before every model call, when asked, and when the provider said 'too long'."""


@value
class Original:
    """What is about to leave the view, as it was."""

    handle: str
    message_id: str
    """The message it belongs to; for a folded range, the last one."""
    what: str
    """A few words for people: the tool and its main argument, or `messages m3 to m80`."""
    tokens: int
    content: tuple[Block, ...] = ()
    """The blocks, for a light edit."""
    messages: tuple[Message, ...] = ()
    """The messages, for a checkpoint."""


@value
class Archive:
    """Keep these originals; the edits are made only once this is acknowledged. Answer: `Done` or `Refused`."""

    originals: tuple[Original, ...]


@value
class Append:
    """Make these edits durable; they are in force only once this is acknowledged. Answer: `Done` or `Refused`."""

    edits: tuple[Edit, ...]


@value
class Summarize:
    """Have a model write a checkpoint's narrative. Answer: `Reply`, `Failed`, or `Refused` where no model is set up,
    which does not count as a failure."""

    messages: tuple[Message, ...]
    """In `extends` form, the beginning of the conversation's own request, so that the provider reads it from its cache;
    otherwise empty."""
    instruction: str
    """The request of the harness, to be sent behind them as a user message; without `extends` it holds all there is."""
    extends: bool
    """True: send the conversation's own tools, system and thinking settings. False: none of them."""
    max_tokens: int
    """Bound on the answer."""


@value
class ReadSessionMemory:
    """Read the session memory. Answer: `SessionMemory`, or `Failed` where there is none."""


@value
class Restore:
    """A checkpoint was planned: what is to be told again directly behind it? Answer: `Restored`."""

    document: CheckpointDocument
    tail: tuple[Message, ...]
    """What stays verbatim, so that nothing is told twice."""
    room: int
    """Tokens that are left; what exceeds them is not taken, nor what has no id or that of another message in view."""


@value
class Rewritten:
    """The engine changed the view, or decided not to. Sent to `on_project` and `on_recover`. Answer: `Done`."""

    entry: Entry
    strategy: Rung | None
    """The last rung that changed the view; None where nothing did."""
    reason: str
    """`threshold`, `cold`, ... or `circuit_breaker` where the summarizer was skipped."""
    changed: bool
    tokens_before: int
    tokens_after: int


@value
class Done:
    """It is done."""


@value
class Refused:
    """It could not be done; the engine leaves the view as it is."""

    reason: str


@value
class Reply:
    """A model's answer to `Summarize`: the whole message, with stop reason and usage, whatever it holds."""

    message: Message


@value
class Failed:
    """Something did not give an answer."""

    reason: str
    too_long: bool = False
    """The provider said that the request exceeds its window: a shorter one may do."""


@value
class SessionMemory:
    """The living document of a session."""

    text: str
    covers_until: str
    """Id of the last message that it tells of."""
    template: str = ""
    """The form that nobody has filled in yet; a document equal to it says nothing."""


@value
class Restored:
    """What a checkpoint's `after` holds."""

    messages: tuple[Message, ...] = ()


Need: TypeAlias = Archive | Append | Summarize | ReadSessionMemory | Restore | Rewritten
Answer: TypeAlias = Done | Refused | Reply | Failed | SessionMemory | Restored
