"""What a terminal would show of an output: without escapes and control characters, progress bars in their last state.

It knows how terminals read bytes. It must never know what the text means.
"""

from __future__ import annotations

from perdure.kernel.pattern import pattern

_ESCAPE = pattern(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[ -/]{1,4}[0-~]|[0-Z\\^_a-z])"
)
"""CSI, OSC and the short sequences of ECMA-48. Every repetition is bounded, so hostile input costs linear time."""

_CONTROLS = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 127)))
_NO_CONTROLS = dict.fromkeys(map(ord, _CONTROLS))


def clean(text: str) -> str:
    """The text as a reader would see it, with plain line ends; a lone surrogate becomes a question mark."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    if any(control in text for control in _CONTROLS):
        text = text.translate(_NO_CONTROLS)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def _last_state(line: str) -> str:
    """What stands on the line after every return to its start; one at the end belongs to the line end."""
    states = line.rstrip("\r").rsplit("\r", 1)
    return states[-1]
