"""The blocks that a message is made of: frozen values, one class for each kind that Perdure acts on.

It knows what a block says. It must never know a dialect's key names or order: the codecs in `wire` do. A block that no
class here fits, because its kind or the shape of a field is new, is an `Unknown`: carried whole and untouched.
"""

from __future__ import annotations

from typing import TypeAlias

from perdure.kernel.messages.canonical import Json, JsonObject
from perdure.kernel.messages.extra import Extra
from perdure.kernel.value import value


@value
class Text:
    """Plain text, of a user, a model or the harness."""

    text: str
    extra: Extra | None = None


@value
class Thinking:
    """A model's reasoning. It goes back whole, in place and unchanged, or not at all."""

    thinking: str
    """What may be read of it; empty where the provider shows none."""
    signature: str | None = None
    """The provider's proof, or its encrypted form of the reasoning (OpenAI's `encrypted_content`)."""
    extra: Extra | None = None


@value
class RedactedThinking:
    """Reasoning that only the provider can read."""

    data: str
    extra: Extra | None = None


@value
class ToolUse:
    """A call that the model asks the client to make."""

    id: str
    name: str
    input: JsonObject
    """The arguments; empty where `raw_input` is set."""
    raw_input: str | None = None
    """The argument text as received, where it is no JSON object or not in canonical form (OpenAI sends text)."""
    extra: Extra | None = None


@value
class ToolResult:
    """The answer to a `ToolUse`."""

    tool_use_id: str
    content: str | tuple[Block, ...] | None
    """Bare text, blocks, or None where the wire object had no content at all."""
    is_error: bool | None = None
    """None where the wire object did not say."""
    extra: Extra | None = None


@value
class Image:
    """A picture, as base64 data, an address or a file id."""

    source: JsonObject
    """In Anthropic's form: `type` is `base64` (with `media_type` and `data`), `url` or `file` (with `file_id`)."""
    extra: Extra | None = None


@value
class Document:
    """A document: PDF data, plain text, an address, a file id, or blocks of content."""

    source: JsonObject
    """In Anthropic's form; `type` is `base64`, `text`, `url`, `file` or `content`."""
    extra: Extra | None = None


@value
class Compaction:
    """A provider's own summary of what came before; opaque, and to be returned byte-identical.

    Both forms are here: Anthropic's, with readable `content`, and OpenAI's, with `encrypted_content` alone.
    """

    content: str | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    tool_changes: list[Json] | None = None
    extra: Extra | None = None


@value
class ServerToolUse:
    """A call that the provider makes itself; the client never answers it."""

    kind: str
    """`server_tool_use`, `mcp_tool_use` or another provider's name for it."""
    id: str
    name: str
    input: JsonObject
    extra: Extra | None = None


@value
class ServerToolResult:
    """The provider's answer to a `ServerToolUse`."""

    kind: str
    """Such as `web_search_tool_result` or `tool_search_tool_result`."""
    tool_use_id: str
    content: Json
    extra: Extra | None = None


@value
class ToolReference:
    """Names a deferred tool, and thereby loads it. A view that drops it unloads the tool."""

    tool_name: str
    extra: Extra | None = None


@value
class Unknown:
    """A block of a kind or shape that no class here fits."""

    dialect: str
    """The dialect that knows it; another one cannot carry it."""
    raw: JsonObject
    """The whole wire object."""


Block: TypeAlias = (
    Text
    | Thinking
    | RedactedThinking
    | ToolUse
    | ToolResult
    | Image
    | Document
    | Compaction
    | ServerToolUse
    | ServerToolResult
    | ToolReference
    | Unknown
)
