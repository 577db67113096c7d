"""Tokens as a real tokenizer counts them.

It knows the o200k vocabulary. It must never know `perdure.kernel.tokens`: an estimate is worth something only if the
figure that it is compared with was made another way.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, cast

# rs-bpe ships py.typed without stubs, so what it exports is unknown to a type checker.
from rs_bpe.bpe import openai  # pyright: ignore[reportUnknownVariableType]

from perdure.testing.doubles.shape import as_text


class _Tokenizer(Protocol):
    """What is used of rs-bpe's tokenizer; the package has no type stubs."""

    def count(self, text: str, /) -> int: ...

    def encode(self, text: str, /) -> list[int]: ...

    def decode(self, tokens: list[int], /) -> str | None: ...


@lru_cache(maxsize=1)
def _o200k() -> _Tokenizer:
    # Loading takes some tenths of a second: on first use, not at import.
    # The same reason: no stubs.
    return cast("_Tokenizer", openai.o200k_base())  # pyright: ignore[reportUnknownMemberType]


@lru_cache(maxsize=65_536)
def count_text(text: str) -> int:
    """Tokens in a text. Remembered, since each request of a session repeats nearly all of the last one."""
    return _o200k().count(text)


def count_value(value: object) -> int:
    """Tokens in a value's JSON text."""
    return count_text(as_text(value))


@lru_cache(maxsize=16_384)
def encode_text(text: str) -> tuple[int, ...]:
    """The tokens themselves."""
    return tuple(_o200k().encode(text))


def first_tokens(text: str, limit: int) -> str:
    """The start of a text, at most `limit` tokens long."""
    tokens = encode_text(text)
    if len(tokens) <= limit:
        return text
    # A cut inside a character decodes to nothing: step back to the last whole one.
    for end in range(max(0, limit), 0, -1):
        start = _o200k().decode(list(tokens[:end]))
        if start is not None and "�" not in start:
            return start
    return ""
