"""Pictures in a terminal: drawn where it can, and else named with their kind, size and dimensions.

It knows two protocols and which terminals speak them. It must never send bytes on that are no picture, nor ask the
terminal a question: an answer that comes late would be taken for keys.

Sources: "Terminal graphics protocol" of kitty; "Inline Images Protocol" of iTerm2; both 2026-10.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from perdure.kernel.messages import Block, Image
from perdure.tools.media import Picture, picture_of

Drawing: TypeAlias = Literal["kitty", "iterm", "none"]

LARGEST = 4_000_000
"""Bytes of a picture that are sent to a terminal, perhaps over ssh."""
ROWS = 12
"""Lines that a picture takes at most."""
CELL = 20
"""Pixels that a line is taken to be high: a small picture is not blown up."""
PIECE = 4_096
"""Characters of one part, the most that kitty's protocol allows."""
START = 32_768
"""Bytes in which a JPEG tells its dimensions."""


def drawing_of(environment: Mapping[str, str]) -> Drawing:
    """What the terminal draws, by what it says of itself; nothing inside of tmux and screen, which keep it."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if environment.get("TMUX") or environment.get("STY") or term.startswith(("tmux", "screen")):
        return "none"
    if environment.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "mintty") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return "none"


def pictures(content: str | Sequence[Block] | None, drawing: Drawing) -> tuple[str, ...]:
    """Each picture of a content: a line that names it, and before that the picture, where it can be drawn."""
    if content is None or isinstance(content, str):
        return ()
    return tuple(_shown(block, drawing) for block in content if isinstance(block, Image))


def _shown(image: Image, drawing: Drawing) -> str:
    data = image.source.get("data")
    try:
        raw = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        raw = b""
    found = picture_of(raw[:START])
    if found is None:
        return f"[picture, {image.source.get('type')!s:.10}]"
    size = f", {found.width} x {found.height}" if found.width else ""
    named = f"[picture, {found.media_type}{size}, {len(raw) / 1_000:,.1f} kB]"
    drawn = _drawn(found, raw, drawing)
    return f"{drawn}\n{named}" if drawn else named


def _drawn(picture: Picture, raw: bytes, drawing: Drawing) -> str:
    # Encoded anew, so that nothing but letters of base64 stands inside of the sequence.
    data = base64.b64encode(raw).decode("ascii")
    rows = max(1, min(ROWS, round(picture.height / CELL))) if picture.height else ROWS
    if len(raw) > LARGEST:
        return ""
    if drawing == "iterm":
        return f"\x1b]1337;File=inline=1;size={len(raw)};height={rows};preserveAspectRatio=1:{data}\x07"
    if drawing != "kitty" or picture.media_type != "image/png":
        # Kitty's protocol takes PNG, or pixels, for which a picture would have to be decoded.
        return ""
    pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
    last = len(pieces) - 1
    # q=2: no answer, which would be taken for keys.
    heads = [f"a=T,f=100,q=2,r={rows},m={int(last > 0)}", *(f"m={int(at < last)}" for at in range(1, len(pieces)))]
    return "".join(f"\x1b_G{head};{piece}\x1b\\" for head, piece in zip(heads, pieces, strict=True))
