"""Text into the clipboard: by the terminal itself, which works over ssh, and by the machine's own program for it.

It knows sequences and programs. It must never read a clipboard.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import subprocess
from collections.abc import Iterator, Mapping

MOST = 74_994
"""Bytes that terminals take in one sequence (xterm's limit for OSC 52 is 100,000 characters of base64)."""
PATIENCE = 3.0
"""Seconds that a program may take."""


def sequence(text: str, environment: Mapping[str, str]) -> str:
    """OSC 52; inside of tmux also wrapped, for one that passes it on. Empty where the text is too long for it."""
    raw = text.encode("utf-8", "replace")
    if len(raw) > MOST:
        return ""
    plain = f"\x1b]52;c;{base64.b64encode(raw).decode('ascii')}\x07"
    return f"{plain}\x1bPtmux;\x1b{plain}\x1b\\" if environment.get("TMUX") else plain


async def by_program(text: str, environment: Mapping[str, str]) -> str | None:
    """Hand it to the machine's own program; its name, or None where there is none that takes it."""
    for words in _programs(environment):
        path = shutil.which(words[0], path=environment.get("PATH"))
        if path is not None and await asyncio.to_thread(_given, [path, *words[1:]], text, environment):
            return words[0]
    return None


def _programs(environment: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    yield ("pbcopy",)
    if environment.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if environment.get("DISPLAY"):
        yield from (("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input"))
    if environment.get("WSL_DISTRO_NAME"):
        yield ("clip.exe",)


def _given(words: list[str], text: str, environment: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            words,
            input=text.encode("utf-8", "replace"),
            env=dict(environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
