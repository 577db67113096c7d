r"""A request body without half characters.

It knows the escapes of JSON. It must never know a dialect. JSON text may hold half of a surrogate pair (an argument of
the command line that is no UTF-8, an emoji that a model broke), and our encoder keeps it as the escape `\udxxx`.
Providers refuse such a body as no JSON, and once a message holds one, so is every later request of its session.
"""

from __future__ import annotations

import re

from perdure.kernel.pattern import pattern

_MARK = "\ufffd".encode()
_ESCAPE = pattern(rb"(?:\\\\)+|\\ud[89ab]..\\ud[c-f]..|\\ud[89a-f]..")
"""Our encoder writes them in small letters, and a backslash of the text as two."""
_PAIR = 12
"""Bytes of two escapes that make one character."""


def sendable(body: bytes) -> bytes:
    """The same body, with U+FFFD for each half character; the same bytes for the same body for ever."""
    return _ESCAPE.sub(_whole, body) if b"\\ud" in body else body


def _whole(found: re.Match[bytes]) -> bytes:
    text = found[0]
    return text if text.startswith(b"\\\\") or len(text) == _PAIR else _MARK
