"""The bytes of a body from the encodings of its fields.

It knows JSON syntax. It must never know a dialect. Members and items of lists are parted by the same comma, so a whole
body is one join of the pieces that are there already: a long history is copied once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perdure.kernel.messages import encode_json

Encoded: TypeAlias = "bytes | list[bytes]"
"""A value as bytes, or a list as its items' bytes."""


def body(fields: Mapping[str, Encoded], keys: Sequence[str]) -> bytes:
    """A JSON object: first the fields that `keys` names, in that order, then the others in their own."""
    pieces: list[bytes] = []
    for key in (*(key for key in keys if key in fields), *(key for key in fields if key not in keys)):
        value, name = fields[key], encode_json(key) + b":"
        if isinstance(value, bytes):
            pieces.append(name + value)
        elif not value:
            pieces.append(name + b"[]")
        else:
            first = len(pieces)
            pieces += value
            pieces[first] = name + b"[" + pieces[first]
            pieces[-1] += b"]"
    if not pieces:
        return b"{}"
    pieces[0] = b"{" + pieces[0]
    pieces[-1] += b"}"
    return b",".join(pieces)
