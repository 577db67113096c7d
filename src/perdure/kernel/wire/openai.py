"""What the two OpenAI dialects share: argument text, addresses of media, the word for an error, counts of usage.

It knows strings and numbers of that family. It must never know an item, a message or an event: the two packages do.
"""

from __future__ import annotations

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import (
    Block,
    Document,
    Extra,
    Json,
    JsonObject,
    Text,
    ToolUse,
    Unknown,
    Usage,
    canonical_object,
    encode_json,
)
from perdure.kernel.messages.fields import tokens_of

ERROR_OPENING = "Error"
"""OpenAI's results have no field for failure; the text of a failed call begins with this word."""


def decode_arguments(text: str) -> tuple[JsonObject, str | None]:
    """The arguments as an object, or the text itself where it would not come out the same."""
    value = canonical_object(text)
    return ({}, text) if value is None else (value, None)


def encode_arguments(call: ToolUse) -> str:
    """The argument text of a call."""
    return call.raw_input if call.raw_input is not None else encode_json(call.input).decode()


def source_of(address: str) -> JsonObject:
    """The neutral source of a picture or document that the wire names by a data URL or an address."""
    head, mark, data = address.partition(";base64,")
    if mark and head.startswith("data:"):
        return {"type": "base64", "media_type": head[5:], "data": data}
    return {"type": "url", "url": address}


def address_of(source: JsonObject) -> str | None:
    """The data URL or address of a neutral source; None where it has neither."""
    match source:
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return f"data:{kind};base64,{data}"
        case {"type": "url", "url": str(address)}:
            return address
        case _:
            return None


def title_of(document: Document) -> str | None:
    """The name that a document came with, in any dialect."""
    title = document.extra.get("title") if document.extra else None
    return title if isinstance(title, str) and title else None


def mark_error(text: str) -> str:
    """The text of a failed call, such that a model sees that it failed."""
    return text if text.startswith(ERROR_OPENING) else f"{ERROR_OPENING}: {text}"


def mark_first(content: tuple[Block, ...]) -> tuple[Block, ...]:
    """The same for a content of blocks."""
    match content:
        case (Text(text=text, extra=extra), *rest):
            return (Text(text=mark_error(text), extra=extra), *rest)
        case _:
            return (Text(text=ERROR_OPENING), *content)


def belongs(extra: Extra | None, dialect: str) -> bool:
    """Whether a value came from this dialect and has more to say than its typed fields."""
    return extra is not None and extra.dialect == dialect


def type_of(extra: Extra | None, dialect: str, usual: str) -> Json:
    """The wire's `type` of a value: the one that it came with, or else the usual one."""
    given = extra.get("type") if extra is not None and extra.dialect == dialect else None
    return usual if given is None else given


def template(given: JsonObject, typed: tuple[str, ...]) -> JsonObject:
    """`given` with empty places where typed fields stand, so that its order and its other fields are kept."""
    return {key: None if key in typed else value for key, value in given.items()}


def count_usage(raw: JsonObject, *, total: str, output: str, details: str) -> Usage:
    """Usage as values, from the names that a dialect has for it.

    OpenAI counts cached and written tokens inside the input ("prompt caching" guide, 2026-10); here they exclude one
    another. DeepSeek says `prompt_cache_hit_tokens` and Moonshot `cached_tokens` at the top.
    """
    inside = raw.get(details)
    cache = inside if isinstance(inside, dict) else {}
    read = (
        tokens_of(cache.get("cached_tokens"))
        or tokens_of(raw.get("prompt_cache_hit_tokens"))
        or tokens_of(raw.get("cached_tokens"))
    )
    written = tokens_of(cache.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, tokens_of(raw.get(total)) - read - written),
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=tokens_of(raw.get(output)),
        raw=raw,
    )


def system_text(system: tuple[Text | Unknown, ...]) -> str:
    """System blocks as one text.

    Raises:
        UntranslatableBlock: a block that is no text.
    """
    texts: list[str] = []
    for block in system:
        if not isinstance(block, Text):
            raise UntranslatableBlock(
                f"a system block of the dialect {block.dialect!r} cannot leave in an OpenAI dialect; give it as text"
            )
        texts.append(block.text)
    return "\n\n".join(texts)


def objects(value: Json) -> list[JsonObject] | None:
    """A list of objects, or None for anything else."""
    if not isinstance(value, list):
        return None
    objects = [item for item in value if isinstance(item, dict)]
    return objects if len(objects) == len(value) else None
