"""What people and models may read of blocks: everything in them that has a readable form, in its order.

It knows every kind of block. It must never know where blocks were kept. Unlike `text_of` it leaves out no kind, since
what is recalled has to be whole.
"""

from __future__ import annotations

from perdure.kernel.messages.blocks import (
    Block,
    Compaction,
    Document,
    Image,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
)
from perdure.kernel.messages.canonical import encode_json


def readable(content: tuple[Block, ...]) -> str:
    """Blocks as text. A tool result of text is that text, unchanged."""
    return "\n".join(_readable(block) for block in content)


def _readable(block: Block) -> str:
    match block:
        case Text(text=text) | Thinking(thinking=text):
            return text
        case ToolResult(content=content):
            return content if isinstance(content, str) else readable(content or ())
        case ToolUse(name=name, input=given, raw_input=raw):
            return f"{name} {raw if raw is not None else encode_json(given).decode()}"
        case ServerToolUse(name=name, input=given):
            return f"{name} {encode_json(given).decode()}"
        case ServerToolResult(content=content):
            return encode_json(content).decode()
        case Image():
            return "[a picture]"
        case Document():
            return "[a document]"
        case RedactedThinking():
            return "[thinking that only the provider can read]"
        case Compaction(content=text):
            return text or "[a provider's summary that only the provider can read]"
        case ToolReference(tool_name=name):
            return f"[loads the tool {name}]"
        case Unknown(raw=raw):
            return encode_json(raw).decode()
