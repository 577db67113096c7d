"""A request and a response as values: what is sent to a model, and what comes back.

It knows parts and their order. It must never know a dialect's key names: the codecs in `wire` turn these values into
bytes and back. Cache marks stand beside the content and not in it, so that a mark that moves changes no message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal, TypeAlias

from perdure.kernel.messages.blocks import Text, Unknown
from perdure.kernel.messages.canonical import JsonObject
from perdure.kernel.messages.extra import Extra
from perdure.kernel.messages.message import Message
from perdure.kernel.value import value

Ttl: TypeAlias = Literal["5m", "1h"]
"""The life of a cache entry, in Anthropic's words."""


@value
class Tool:
    """A tool that the model may call."""

    name: str
    """Empty where the wire object has none: a provider's whole toolset."""
    description: str | None = None
    schema: JsonObject | None = None
    """JSON schema of the input; None for a tool that the provider defines itself."""
    extra: Extra | None = None
    """Everything else of the wire object: a provider's `type`, `strict`, `defer_loading` ..."""
    _kept: dict[str, bytes] = field(default_factory=dict[str, bytes], init=False, repr=False, compare=False)

    def keep(self, dialect: str, make: Callable[[Tool], bytes]) -> bytes:
        """The encoding that `make` derives from this tool, made once for each dialect."""
        made = self._kept.get(dialect)
        if made is None:
            made = self._kept[dialect] = make(self)
        return made

    @property
    def deferred(self) -> bool:
        """Whether its definition stays out of the prompt until a `ToolReference` loads it."""
        return self.extra is not None and self.extra.get("defer_loading") is True


@value
class Mark:
    """A provider cache breakpoint: the prefix up to and including one block may be written to the cache."""

    part: Literal["tools", "system", "messages"]
    index: int
    """Which tool, system block or message."""
    block: int = 0
    """Which block of a message; 0 elsewhere."""
    ttl: Ttl | None = None
    """None: the wire says nothing, which means five minutes."""
    extra: Extra | None = None
    """The key order of the mark's own object, where it is not the usual one."""


@value
class Request:
    """A request to a model. In prefix order: tools and system blocks, its fixed overhead, and then the messages."""

    model: str
    """Empty where the body has none, since the address names it."""
    messages: tuple[Message, ...]
    system: tuple[Text | Unknown, ...] = ()
    system_plain: bool = False
    """True where the wire had bare text (Anthropic's `system`, OpenAI's `instructions`)."""
    tools: tuple[Tool, ...] = ()
    marks: tuple[Mark, ...] = ()
    """In prefix order."""
    params: JsonObject = field(default_factory=JsonObject)
    """Every other top-level field, as given: `max_tokens`, `thinking`, `stream`, `metadata` ..."""
    keys: tuple[str, ...] = ()
    """The order of the top-level fields as given; empty for the codec's own order."""
    plain: bool = False
    """True where the wire had bare text in the place of the list of messages (OpenAI's `input`)."""


@value
class Response:
    """A model's answer: one assistant message, with the fields of the envelope it came in."""

    message: Message
    params: JsonObject = field(default_factory=JsonObject)
    """The envelope's other fields, as given: `id`, `type`, `container`, `context_management` ..."""
    keys: tuple[str, ...] = ()
    """The order of the envelope's fields as given; empty for the codec's own order."""
