"""What the user gave in the editor, as the text that the model reads.

It knows the protocol's blocks. It must never fetch anything: a link stays a link, which the model follows with its
tools, under the user's permissions. What is large or no text is kept beside the session, where `read` finds it.
"""

from __future__ import annotations

import binascii
import mimetypes
from base64 import b64decode
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from perdure.guard.plain import clip, one_line
from perdure.kernel.errors import UserError

Given = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock

WHOLE = 12_000
"""Characters of an embedded text that stand in the message itself. What the user typed is never taken out of the
context, so that more than this is kept beside it."""

NAME = 300
"""Characters of an address."""


def typed_of(given: Sequence[Given], cwd: Path, keep: Callable[[bytes, str], Path]) -> str:
    """The text.

    Args:
        given: What the user gave.
        cwd: Where paths start.
        keep: Keeps bytes beside the session, under a name with this ending, and gives the path.

    Raises:
        UserError: it cannot be taken, or there is none.
    """
    text = "".join(_part(block, cwd, keep) for block in given).strip()
    if not text:
        raise UserError("the message is empty; write what is to be done")
    return text


def _part(block: Given, cwd: Path, keep: Callable[[bytes, str], Path]) -> str:
    match block:
        case TextContentBlock(text=text):
            return text
        case ResourceContentBlock(uri=uri):
            return f"@{place_of(uri, cwd)}"
        case ImageContentBlock(data=data, mime_type=kind):
            path = keep(_decoded(data), _ending(kind))
            return f"\n[The user attached an image. Look at it with read: {path}]\n"
        case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
            return _embedded(place_of(uri, cwd), text, keep)
        case EmbeddedResourceContentBlock(resource=BlobResourceContents(uri=uri, blob=blob, mime_type=kind)):
            path = keep(_decoded(blob), _ending(kind or ""))
            return f"\n[The user attached {place_of(uri, cwd)}. It is kept as {path}]\n"
        case _:
            raise UserError("sound cannot be taken; give it as text")


def place_of(uri: str, cwd: Path) -> str:
    """Where an address leads: a path from the working directory where it lies below it, with its lines."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return clip(one_line(uri), NAME)
    path = Path(unquote(parts.path))
    name = str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
    return one_line(f"{name}#{parts.fragment}" if parts.fragment else name)


def _embedded(place: str, text: str, keep: Callable[[bytes, str], Path]) -> str:
    if len(text) <= WHOLE:
        return f'\n<attached from="{place}">\n{text}\n</attached>\n'
    path = keep(text.encode("utf-8", "replace"), ".txt")
    return f"\n[The user attached {place}, {len(text):,} characters. Read them in {path}]\n"


def _decoded(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError("what was attached is no base64; attach it again") from error


def _ending(kind: str) -> str:
    return mimetypes.guess_extension(kind.partition(";")[0].strip()) or ".bin"
