"""The guard: text goes in, and either an error or a text without secrets comes out.

It knows what is done about a secret: refused where something is to be kept on purpose, redacted where text is carried
along. It must never know how a secret is told, and what it raises, returns and shows never holds one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from perdure.guard.finding import Detector, Finding, disjoint
from perdure.guard.shapes import ShapeDetector
from perdure.guard.words import WordDetector
from perdure.kernel.errors import SecretFound
from perdure.kernel.value import value

OWN_DETECTORS: tuple[Detector, ...] = (ShapeDetector(), WordDetector())
"""What needs no library."""


class Guard(Protocol):
    """The port that memory, archive and checkpoints are handed."""

    def refuse(self, text: str) -> None:
        """Let a text pass that holds no secret.

        Raises:
            SecretFound: it holds one; the error names line and kind of the first.
        """
        ...

    def redact(self, text: str, source: str = "") -> str:
        """The text with every secret replaced by `[secret]`, or by `[secret, SOURCE]`: where the original stands."""
        ...


@value
class SecretGuard:
    """The guard over a list of detectors."""

    detectors: Sequence[Detector] = OWN_DETECTORS

    def find(self, text: str) -> tuple[Finding, ...]:
        """The secrets in a text, in its order, none overlapping another."""
        return disjoint(found for detector in self.detectors for found in detector.find(text))

    def refuse(self, text: str) -> None:
        """Let a text pass that holds no secret.

        Raises:
            SecretFound: it holds one.
        """
        found = self.find(text)
        if found:
            raise SecretFound(line=text.count("\n", 0, found[0].start) + 1, kind=found[0].kind)

    def redact(self, text: str, source: str = "") -> str:
        """The text with every secret replaced by a note of it."""
        note = f"[secret, {source}]" if source else "[secret]"
        parts: list[str] = []
        end = 0
        for found in self.find(text):
            parts += (text[end : found.start], note)
            end = found.end
        return "".join((*parts, text[end:]))


def redactor(guard: Guard, source: str = "") -> Callable[[str], str]:
    """The guard as a function from text to text, for whoever knows no guard."""
    return lambda text: guard.redact(text, source)
