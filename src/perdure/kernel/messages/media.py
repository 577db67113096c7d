"""What a picture or a document weighs: its kind and dimensions, read from its first bytes.

It knows file headers. It must never know a provider's price for a picture: `tokens` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perdure.kernel.messages.blocks import Document, Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """One picture or document inside a message."""

    kind: Literal["image", "document"]
    width: int = 0
    """Pixels; 0 where the header does not tell."""
    height: int = 0
    """Pixels; 0 where the header does not tell."""
    pages: int = 0
    """Pages of a document; 0 where its data does not tell."""
    detail: str = ""
    """OpenAI's `detail` of a picture: `low`, `high`, `auto`; empty where not given."""


def media_of(block: Image | Document) -> Media:
    """The kind and dimensions of a picture or document, as far as its data tells."""
    return Media(kind="image" if isinstance(block, Image) else "document")
