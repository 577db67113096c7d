"""What the loop asks of the world: a model that streams, tools that run, and a host that keeps what was said.

It knows shapes and contracts. It must never know who stands behind them: a provider over HTTP, a scripted model, a
session with a log, or nothing but memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from perdure.kernel.context import Answer, Need
from perdure.kernel.messages import Block, JsonObject, Mark, Message, Request, Response, Text, Tool
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value
from perdure.kernel.wire import Codec, Delta

FailureKind: TypeAlias = Literal[
    "overflow",
    "rate_limit",
    "overloaded",
    "server",
    "network",
    "cut",
    "authentication",
    "billing",
    "refusal",
    "not_found",
    "thinking_bound",
    "invalid",
]
"""Why there is no answer. `overflow`: the request exceeds the window. `server`: an error of the provider's own. `cut`:
the answer began and broke off, or was no legal stream. `thinking_bound`: thinking that is bound to bytes which moved;
the request may go again with `drop_block`. `invalid`: the provider refuses the request for another reason."""


@value
class Failure:
    """A request without an answer, classified where the provider's words are known."""

    kind: FailureKind
    message: str
    """What the provider said, shortened, for people."""
    status: int | None = None
    """HTTP status; None where there was none."""
    code: str = ""
    """The provider's own type or code."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait."""
    retryable: bool | None = None
    """What the provider says about trying again; None: nothing, so that the kind decides."""
    tokens: int | None = None
    """The size of the request by the provider's count, where it tells."""
    window: int | None = None
    """The provider's limit, where it tells."""


@value
class Retrying:
    """The same bytes go again."""

    failure: Failure
    attempt: int
    """Which try comes next; the first one was 1."""
    wait: float
    """Seconds until then."""
    shown: bool
    """Deltas of the broken answer were given out. They are void: the next answer begins anew."""


@value
class Answered:
    """The whole response, last event of a stream that went well."""

    response: Response


ModelEvent: TypeAlias = Delta | Retrying | Answered | Failure


@value
class Ask:
    """What the loop wants answered, in no dialect's words."""

    messages: Sequence[Message]
    """A view, which fits and is valid."""
    system: tuple[Text, ...] = ()
    tools: tuple[Tool, ...] = ()
    marks: tuple[Mark, ...] = ()
    max_tokens: int | None = None
    """The longest answer that fits, in tokens; None where no window is known."""
    session: str = ""
    """Routes requests of one conversation to the same cache, where the provider has a key for that."""
    drop_block: bool = False
    """Kept thinking stands behind an edit: the provider has to drop it instead of refusing the request."""


class Model(Protocol):
    """A model that can be asked. One value serves one conversation at a time."""

    @property
    def profile(self) -> ModelProfile:
        """Its limits, prices and cache."""
        ...

    @property
    def codec(self) -> Codec:
        """The dialect that it is spoken to in."""
        ...

    def now(self) -> float | None:
        """Unix seconds by the clock of whoever performs the calls; None where there is none."""
        ...

    def request(self, ask: Ask) -> Request:
        """The request as it would be sent. Pure."""
        ...

    def stream(self, ask: Ask) -> AsyncGenerator[ModelEvent, None]:
        """Ask, and tell what comes: deltas and retries, and at the end one `Answered` or one `Failure`.

        Raises nothing that a provider or a network caused. May be closed at any point, which ends the request.
        """
        ...


class Host(Protocol):
    """What keeps a conversation. The loop waits for each acknowledgement."""

    def perform(self, need: Need) -> Awaitable[Answer]:
        """What the engine needs, summaries excepted, which the loop has its model write. A failure is an answer."""
        ...

    def record(self, messages: Sequence[Message]) -> Awaitable[None]:
        """Make messages durable; they are part of the conversation only once this returns. An exception of it ends the
        run."""
        ...


Result: TypeAlias = str | tuple[Block, ...]
"""What a tool gives back: text, or blocks such as images."""


@value
class AgentTool:
    """A tool with the code that runs it."""

    definition: Tool
    run: Callable[[JsonObject], Result | Awaitable[Result]]
    """Called with the arguments as the model gave them, which it has to check. An exception becomes a result that is
    marked as an error, with the exception's text; cancellation means that the user interrupted."""
    beside: bool = False
    """It may run beside other such calls of the same answer, since it changes nothing."""


Tell: TypeAlias = Callable[[Sequence[Message], str | None], Awaitable[Sequence[str]]]
"""Asked before a model call what the harness has to tell: with the view, and what the user typed (None: between two
rounds). Gives whole reminders, which stand in front of what was typed. May not raise."""

Guard: TypeAlias = Callable[[Message], str | Awaitable[str | None] | None]
"""Asked when the model wants to stop, with its last answer: what still has to be done, or None. May not raise."""
