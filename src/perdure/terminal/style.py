"""Colours of the screen.

It knows names and colours. It must never know what they are for.
"""

from __future__ import annotations

from prompt_toolkit.styles import Style

_DARK = {
    "footer": "fg:ansibrightblack",
    "footer.model": "bold",
    "footer.warn": "fg:ansiyellow",
    "footer.good": "fg:ansigreen",
    "footer.mode": "fg:ansimagenta bold",
    "bar.fixed": "fg:ansibrightblack",
    "bar.cached": "fg:ansigreen",
    "bar.fresh": "fg:ansiyellow",
    "bar.free": "fg:ansibrightblack",
    "bar.reserve": "fg:ansibrightblack",
    "prompt": "fg:ansicyan bold",
    "busy": "fg:ansicyan",
    "queued": "fg:ansibrightblack",
    "question": "fg:ansiyellow bold",
}
_LIGHT = {
    **_DARK,
    "footer.warn": "fg:ansired",
    "bar.fresh": "fg:ansired",
    "question": "fg:ansired bold",
    "prompt": "fg:ansiblue bold",
    "busy": "fg:ansiblue",
}


def style_of(theme: str, *, plain: bool) -> Style:
    """The colours of a theme; none where none are wanted. `auto` uses colours that are legible on both grounds."""
    if plain:
        return Style.from_dict(dict.fromkeys(_DARK, ""))
    return Style.from_dict(_LIGHT if theme == "light" else _DARK)
