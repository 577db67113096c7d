"""Housekeeping: what is wrong with a memory, found and told, never repaired: a person or the model decides.

It knows links, repetitions, secrets and sizes. It must never show a secret: line and kind are enough to find it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote

from perdure.guard import SecretGuard
from perdure.guard.plain import clip, one_line
from perdure.guard.reading import read_file
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.memory.auto.index import BYTES as TOLD_BYTES
from perdure.memory.auto.index import INDEX
from perdure.memory.auto.index import LINES as TOLD_LINES
from perdure.memory.auto.recall import BYTES as RECALLED_BYTES
from perdure.memory.auto.topics import FILES, Topic, memory_files, topic_of

Kind: TypeAlias = Literal["dead link", "not in the index", "duplicate", "secret", "too long", "unreadable"]

READ = 1024 * 1024
"""Bytes of one file that are checked."""
TELLING = 40
"""Characters of a line from which on a repetition is no accident."""

_LINK = pattern(r"\[[^\]\n]*\]\(\s*<?([^)>\s]+)>?[^)\n]*\)|\[\[([^\]|#\n]+)[^\]\n]*\]\]")
_SCHEME = pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#")


@value
class Finding:
    """Something wrong with a memory."""

    kind: Kind
    file: str
    """Relative to the folder, on one line."""
    line: int
    """From 1; 0 for the whole file."""
    what: str


@value
class _File:
    name: str
    path: Path
    lines: tuple[str, ...]
    topic: Topic
    size: int


def check(folder: Path) -> tuple[Finding, ...]:
    """Everything that is wrong with the memory in a folder, by file and line; nothing where there is no folder."""
    files, findings = _read(folder)
    found = [
        *findings,
        *_links(folder, files),
        *_duplicates(files),
        *(finding for file in files for finding in _secrets(file)),
        *(finding for file in files for finding in _sizes(file)),
    ]
    if len(files) > FILES:
        found.append(_found("too long", ".", 0, f"{len(files)} files; recall looks at the first {FILES}"))
    return tuple(sorted(found, key=lambda each: (each.file, each.line, each.kind, each.what)))


def _read(folder: Path) -> tuple[list[_File], list[Finding]]:
    files: list[_File] = []
    findings: list[Finding] = []
    for path in memory_files(folder):
        name = one_line(str(path.relative_to(folder)))
        reading = read_file(path, limit=READ, within=folder)
        if reading is None:
            continue
        if reading.caution is not None and not reading.cut:
            findings.append(_found("unreadable", name, 0, reading.caution.what))
            continue
        lines = tuple(reading.text.rstrip("\n").split("\n"))
        topic = topic_of(path, reading.text, reading.time)
        files.append(_File(name=name, path=path, lines=lines, topic=topic, size=reading.size))
    return files, findings


def _links(folder: Path, files: Sequence[_File]) -> Iterator[Finding]:
    """Links that lead nowhere or out of the memory, and topics that no link of the index leads to."""
    linked: set[Path] = set()
    index = next((file for file in files if file.name == INDEX), None)
    for file in files:
        for number, target in _targets(file):
            path = _resolved(folder, file, target)
            shown = ascii(clip(target, 80))
            if path is None or not path.is_relative_to(folder.resolve()):
                yield _found("dead link", file.name, number, f"{shown} leads out of the memory")
            elif not path.exists():
                yield _found("dead link", file.name, number, f"there is no {shown}")
            elif file is index:
                if path in linked:
                    yield _found("duplicate", file.name, number, f"{shown} is in the index already")
                linked.add(path)
    for file in files:
        if file is not index and file.path.resolve() not in linked:
            yield _found("not in the index", file.name, 0, f"no line of {INDEX} links to it")


def _targets(file: _File) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.lines, start=1):
        for plain, wiki in _LINK.findall(line):
            target = unquote(plain.partition("#")[0]) or (f"{wiki.strip()}.md" if wiki else "")
            if target and not _SCHEME.match(plain or target):
                yield number, target


def _resolved(folder: Path, file: _File, target: str) -> Path | None:
    try:
        near = (file.path.parent / target).resolve()
        return near if near.exists() or "/" in target else (folder / target).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _duplicates(files: Sequence[_File]) -> Iterator[Finding]:
    """Long lines that stand twice, and topics with one name."""
    seen: dict[str, tuple[str, int]] = {}
    for file in files:
        for number, line in enumerate(file.lines, start=1):
            words = " ".join(line.split()).casefold()
            if len(words) < TELLING:
                continue
            where, first = seen.setdefault(words, (file.name, number))
            if (where, first) != (file.name, number):
                yield _found("duplicate", file.name, number, f"stands in {where}:{first} too")
    named: defaultdict[str, list[_File]] = defaultdict(list)
    for file in files:
        if file.name != INDEX:
            named[" ".join(file.topic.name.split()).casefold()].append(file)
    for first, *others in named.values():
        for other in others:
            yield _found("duplicate", other.name, 0, f"has the same name as {first.name}")


def _secrets(file: _File) -> Iterator[Finding]:
    text = "\n".join(file.lines)
    for secret in SecretGuard().find(text):
        line = text.count("\n", 0, secret.start) + 1
        yield _found("secret", file.name, line, f"{secret.kind}; remove it here, and change it where it is used")


def _sizes(file: _File) -> Iterator[Finding]:
    if file.name == INDEX:
        if len(file.lines) > TOLD_LINES:
            what = f"{len(file.lines)} lines; the first {TOLD_LINES} are told"
            yield _found("too long", file.name, TOLD_LINES + 1, what)
        if file.size > TOLD_BYTES:
            yield _found("too long", file.name, 0, f"{file.size:,} bytes; the first {TOLD_BYTES:,} are told")
    elif (size := len(file.topic.text.encode())) > RECALLED_BYTES:
        what = f"{max(size, file.size):,} bytes; the first {RECALLED_BYTES:,} are recalled, so split it"
        yield _found("too long", file.name, 0, what)


def _found(kind: Kind, file: str, line: int, what: str) -> Finding:
    return Finding(kind=kind, file=file, line=line, what=what)
