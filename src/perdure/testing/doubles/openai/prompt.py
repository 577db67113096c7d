"""The prompt as an OpenAI model sees it, in tokens.

It knows items, messages and what compaction leaves of them. It must never know what is cached.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.testing.doubles.counting import encode_text
from perdure.testing.doubles.openai.asked import Asked, kind_of
from perdure.testing.doubles.openai.cache import Tokens
from perdure.testing.doubles.shape import Body, as_text, bodies, body_of, without

IMAGE = "an image " * 255
"""Stands for the 765 tokens of an image in high detail; the real figure depends on its size."""


def visible_items(asked: Asked) -> list[Body]:
    """The input behind compaction: what stands before the last compaction item is gone.

    User messages stay if the item came from the compact endpoint, whose window is to be passed on whole.
    """
    items = [
        asked.stored.get(str(item.get("id")), item) if kind_of(item) == "item_reference" else item
        for item in asked.items
    ]
    last = max((i for i, item in enumerate(items) if kind_of(item) == "compaction"), default=None)
    if last is None:
        return items
    keeps = (asked.seal.open(items[last].get("encrypted_content")) or {}).get("keeps_users") is True
    kept = [item for item in items[:last] if item.get("role") in {"user", "system", "developer"}] if keeps else []
    return [*kept, *items[last:]]


def response_prompt(asked: Asked, items: list[Body]) -> Tokens:
    """The tokens of a Responses request."""
    head = [as_text(tool) for tool in bodies(asked.body.get("tools"))]
    if isinstance(instructions := asked.body.get("instructions"), str):
        head.append(instructions)
    return _tokens(
        asked, head, [list(_item_texts(asked, item)) for item in items if kind_of(item) != "compaction_trigger"]
    )


def chat_prompt(asked: Asked) -> Tokens:
    """The tokens of a chat request."""
    head = [as_text(tool) for tool in bodies(asked.body.get("tools"))]
    return _tokens(asked, head, [list(_message_texts(message)) for message in asked.messages])


def _tokens(asked: Asked, head: list[str], parts: list[list[tuple[str, bool]]]) -> Tokens:
    tokens: list[int] = []
    breakpoints: list[int] = []
    for text in head:
        tokens.extend(encode_text(text))
    for part in parts:
        for text, breaks in part:
            tokens.extend(encode_text(text))
            if breaks:
                breakpoints.append(len(tokens))
    if not asked.model.bills_cache_writes:
        return Tokens(tokens=tuple(tokens))
    # At most four are written: in implicit mode three explicit ones and the end of the prompt.
    explicit = body_of(asked.body.get("prompt_cache_options")).get("mode") == "explicit"
    ends = breakpoints[-4:] if explicit else [*breakpoints[-3:], len(tokens)]
    return Tokens(tokens=tuple(tokens), breakpoints=tuple(ends))


def _item_texts(asked: Asked, item: Body) -> Iterator[tuple[str, bool]]:
    kind = kind_of(item)
    if kind in {"reasoning", "compaction"}:
        opened = asked.seal.open(item.get("encrypted_content")) or {}
        yield f"{kind}: {opened.get('text', as_text(item.get('summary', [])))}", False
    elif kind == "message":
        yield from _message_texts(item)
    else:
        yield as_text(without(item, "id", "status")), False


def _message_texts(message: Body) -> Iterator[tuple[str, bool]]:
    yield f"<|{message.get('role')}|>", False
    content = message.get("content")
    if isinstance(content, str):
        yield content, False
    for part in bodies(content):
        breaks = part.get("prompt_cache_breakpoint") is not None
        if str(part.get("type")) in {"input_image", "image_url"}:
            yield IMAGE, breaks
        else:
            yield str(part.get("text", as_text(part))), breaks
    if calls := message.get("tool_calls"):
        yield as_text(calls), False
    if call := message.get("tool_call_id"):
        yield str(call), False
