"""Paths under `/memories`: the one place where text from a model becomes names in a store.

It knows what a plain name is. It must never touch a disk: that the names found here cannot lead out of a store is one
half of containment, and the store's refusal to follow links is the other. Everything that some system could read as
something else than a name is refused, not repaired.
"""

from __future__ import annotations

import re
import unicodedata

from perdure.kernel.errors import MemoryPathRefused
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

ROOT = "/memories"
LONGEST_NAME = 200
"""Bytes of one name in UTF-8. File systems allow 255, and eCryptfs 143; a store adds nothing to a name."""
LONGEST_PATH = 1_000
"""Bytes of a whole path in UTF-8."""
DEEPEST = 16
"""Names in a path."""

_ENCODED = pattern(r"%[0-9a-fA-F]{2}|%u[0-9a-fA-F]{4}|&#|\\")
_DEVICE = pattern(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows gives to devices, with any ending (Microsoft, Naming Files, 2026)."""
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control, format, surrogate, private and unassigned characters, and line separators (Unicode categories)."""


@value
class MemoryPath:
    """A place in a store: the names that lead to it, none for the root."""

    names: tuple[str, ...] = ()

    @property
    def is_root(self) -> bool:
        """Whether it is the root of the store."""
        return not self.names

    @property
    def key(self) -> str:
        """The form in which two paths are equal that some file system takes for the same: letters without case."""
        return "/".join(map(fold, self.names))

    @property
    def relative(self) -> str:
        """Its names, joined: `notes/a.md`."""
        return "/".join(self.names)

    def inside(self, other: MemoryPath) -> bool:
        """Whether it lies below another path, or is that path."""
        return self.names[: len(other.names)] == other.names

    def __str__(self) -> str:
        return "/".join((ROOT, *self.names))


def parse_path(text: object) -> MemoryPath:
    """The path that a text names.

    Raises:
        MemoryPathRefused: it does not stand under `/memories`, or a part of it is no plain name.
    """
    if not isinstance(text, str):
        raise MemoryPathRefused(f"a path is a text such as {ROOT}/notes.md")
    if text != ROOT and not text.startswith(f"{ROOT}/"):
        raise MemoryPathRefused(f"the path {shown(text)} does not start with {ROOT}/: memory has no other place")
    if len(text.encode("utf-8", errors="replace")) > LONGEST_PATH:
        raise MemoryPathRefused(f"the path is longer than {LONGEST_PATH} bytes: use shorter names")
    if _ENCODED.search(text):
        raise MemoryPathRefused(
            f"the path {shown(text)} holds a backslash or an encoded character: write names plainly"
        )
    rest = text.removeprefix(ROOT).removeprefix("/").removesuffix("/")
    names = tuple(rest.split("/")) if rest else ()
    if len(names) > DEEPEST:
        raise MemoryPathRefused(f"the path has more than {DEEPEST} names: use fewer folders")
    for name in names:
        fault = _fault(name)
        if fault:
            raise MemoryPathRefused(f"the path {shown(text)} {fault}")
    return MemoryPath(names=names)


def fold(name: str) -> str:
    """A name as a file system sees it that tells neither case nor composed letters apart."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def shown(text: str) -> str:
    """A path in a message: escaped, and never long."""
    return ascii(text if len(text) <= 80 else text[:77] + "...")


def _fault(name: str) -> str:
    compatible = unicodedata.normalize("NFKC", name)
    if name in {"", ".", ".."} or compatible in {".", ".."} or re.search(r"[/\\]|\.\.(?:$|/)", compatible):
        return "leads somewhere else: give every folder and file by its own name"
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        return "holds a character that cannot be seen"
    if name != unicodedata.normalize("NFC", name):
        return "is not in Unicode form NFC, so that two names would look the same"
    if len(name.encode("utf-8")) > LONGEST_NAME:
        return f"has a name of more than {LONGEST_NAME} bytes"
    if name != name.strip() or name.endswith(".") or re.search(r'[<>:"|?*]', name) or _DEVICE.fullmatch(name):
        return "has a name that not every system can store as it is"
    return ""
