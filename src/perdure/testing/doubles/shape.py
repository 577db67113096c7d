"""Reading bodies that anybody may have sent.

It knows that a body is JSON of unknown shape. It must never know which fields a provider has. `Any` is meant here: a
double looks at what arrived and proves nothing about it beforehand.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from perdure.kernel.messages import encode_json

Body: TypeAlias = dict[str, Any]
"""A JSON object as it arrived."""

Clock: TypeAlias = Callable[[], float]
"""Unix seconds. A test hands in its own and jumps it."""


def body_of(value: object) -> Body:
    """The value if it is an object, else an empty one."""
    return cast("Body", value) if isinstance(value, dict) else {}


def bodies(value: object) -> list[Body]:
    """The objects in a list; anything else has none."""
    return [cast("Body", item) for item in items(value) if isinstance(item, dict)]


def items(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def is_object(value: object) -> bool:
    """The value is a JSON object. A plain function, so that a type checker goes on to treat the value as anything."""
    return isinstance(value, dict)


def number(value: object) -> int | None:
    """The value if it is a whole number; JSON's `true` is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def names(text: str) -> frozenset[str]:
    """A set of names from a text with blanks between them."""
    return frozenset(text.split())


def content_blocks(content: object) -> list[Body]:
    """The blocks of a message's content; a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else bodies(content)


def as_text(value: object) -> str:
    """JSON text of a value, keys as they came: what a tokenizer sees."""
    return encode_json(cast("Any", value)).decode()


def digest(*parts: object) -> str:
    """A hash of values in which the order of keys does not count."""
    return hashlib.sha256(as_text([_ordered(part) for part in parts]).encode()).hexdigest()[:32]


def without(block: Body, *names: str) -> Body:
    """The same object with some fields left out."""
    return {name: value for name, value in block.items() if name not in names}


class Seal:
    """Signs values into opaque text that only the same key opens: signatures and encrypted content."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def close(self, value: Body) -> str:
        """Make opaque text of a value."""
        payload = base64.urlsafe_b64encode(as_text(value).encode()).decode()
        return f"{payload}.{self._mac(payload)}"

    def open(self, text: object) -> Body | None:
        """The value that was closed; None if the text is not ours or was changed."""
        if not isinstance(text, str):
            return None
        payload, _, mac = text.partition(".")
        if not mac.isascii() or not hmac.compare_digest(mac, self._mac(payload)):
            return None
        try:
            return body_of(json.loads(base64.urlsafe_b64decode(payload)))
        except (binascii.Error, ValueError):
            return None

    def _mac(self, payload: str) -> str:
        return hmac.new(self._key, payload.encode(), hashlib.sha256).hexdigest()[:24]


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        entries = cast("Body", value)
        return {name: _ordered(entries[name]) for name in sorted(entries)}
    return [_ordered(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
