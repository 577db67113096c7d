"""The text of a file: head, tail, and an outline of what lies between, with line numbers to ask for.

It knows how declarations start in the usual languages. It must never know the file itself: numbers come from the text
where it has them, and else count its own lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from perdure.kernel.context.entry.ends import clip
from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import openings
from perdure.kernel.pattern import pattern

NUMBERED = pattern(r"[ ]{0,8}(\d{1,7})(?:\t|→|: |[ ]?\|[ ]?|[ ]{2})")
"""The number that many tools put before each line."""

_DECLARATION = pattern(
    r"(?:[ ]{0,8}\d{1,7}(?:\t|→|: |[ ]?\|[ ]?|[ ]{2}))?([ \t]{0,12})(?:"
    r"(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|pub|pub\(crate\)|unsafe|override"
    r"|declare|sealed|data|open|suspend|inline|virtual|readonly)\s+){0,4}"
    r"(?:def|class|function\*?|interface|enum|struct|trait|impl|fn|func|module|namespace|type|record|object|protocol"
    r"|extension|macro_rules!|mod|union|package|describe|fun)\b\s{0,4}[\w\"'(<*&]"
    r"|(?:export\s+)?(?:const|let|var)\s+\w{1,80}\s*(?::[^=\n]{1,120})?=\s*(?:async\s*)?(?:function|\(|\w{1,60}\s*=>)"
    r"|(?:public|private|protected|static)\s[^;={}\n]{1,200}\([^;\n]{0,300}\{?\s*$"
    r"|(?:CREATE|ALTER|create|alter)\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|INDEX|FUNCTION|TYPE|table|view|index|function)\b"
    r"|(?:describe|it|test)\(['\"`]|(#{1,4})\s\S|\[\[?[\w.\"-]{1,80}\]\]?\s*$|%%|@(?:app|router|api)\.\w|#define\s\w"
    r")"
)
"""Starts of declarations and headings; every repetition is bounded."""

_HEAD, _TAIL = 0.6, 0.4
"""Shares of what the outline leaves."""

_OUTLINE = 0.35
"""The largest share of the outline."""

_WIDEST = 160
"""Characters of a declaration in the outline."""


_OPENERS = frozenset(
    word[:3]
    for word in (
        *("export", "default", "public", "private", "protected", "internal", "static", "async", "abstract", "final"),
        *("pub ", "pub(", "unsafe", "override", "declare", "sealed", "data ", "open ", "suspend", "inline", "virtual"),
        *("readonly", "def ", "class", "function", "interface", "enum", "struct", "trait", "impl", "fn ", "func"),
        *("module", "mod ", "namespace", "type ", "record", "object", "protocol", "extension", "macro_rules", "union"),
        *("package", "describe", "fun ", "const", "let ", "var ", "CREATE", "ALTER", "create", "alter", "it(", "test"),
        *("@app", "@router", "@api", "#define", "## ", "###", "%%", "# "),
    )
)
"""How a declaration may start. Most lines fail this look-up, which is ten times faster than the pattern."""


_Declaration: TypeAlias = tuple[int, int]
"""Its line, and how far it is indented."""


def draft_file(text: str) -> Draft:
    """Head, outline of the omitted part, tail; the omitted range is named by its line numbers."""
    lines = text.split("\n")
    numbered = is_numbered(lines)
    declared = _declarations(lines)
    wanted = sum(min(len(lines[place]), _WIDEST) + 8 for place, _ in declared)

    def fill(room: int) -> str:
        free = max(0, room - 60)
        outline_room = min(wanted, int(free * _OUTLINE))
        width = max(100, free // 5)
        head = _fit(lines, int((free - outline_room) * _HEAD), width)
        tail = _fit(reversed(lines[head:]), int((free - outline_room) * _TAIL), width)
        past = len(lines) - tail
        if head >= past:
            return "\n".join(clip(line, width) for line in lines)
        between = [found for found in declared if head <= found[0] < past]
        taken = _outer(between, lines, outline_room)
        shown = [clip(line, width) for line in lines[:head]]
        shown.append(_mark(lines, head, past, numbered, bool(taken)))
        if taken:
            shown += (clip(lines[at] if numbered else f"{at + 1}: {lines[at]}", _WIDEST) for at in taken)
            more = len(between) - len(taken)
            shown.append(f"[… {more:,} more declarations]" if more else "[… end of what was omitted]")
        shown += [clip(line, width) for line in lines[past:]]
        return "\n".join(shown)

    return fill


def is_numbered(lines: Sequence[str]) -> bool:
    """Whether most lines carry a number."""
    sample = [line for line in lines[:60] if line.strip()]
    return len(sample) > 2 and sum(NUMBERED.match(line) is not None for line in sample) * 10 >= len(sample) * 6


def _declarations(lines: Sequence[str]) -> list[_Declaration]:
    """Declarations and headings; `# ` counts as a heading only where `## ` occurs, for elsewhere it opens comments."""
    found = [
        (place, match)
        for place, line in enumerate(openings(lines))
        if ((bare := line.lstrip(" \t0123456789→|:"))[:3] in _OPENERS or bare[:1] == "[" or bare[:2] == "# ")
        and (match := _DECLARATION.match(line))
    ]
    headed = any(match[2] == "##" for _, match in found)
    return [(place, len(match[1].expandtabs(4))) for place, match in found if headed or not match[2]]


def _fit(lines: Iterable[str], room: int, width: int) -> int:
    """How many of the lines fit; at least one, clipped."""
    used = count = 0
    for line in lines:
        used += min(len(line), width) + 1
        if used > room and count:
            break
        count += 1
    return count


def _outer(declared: Sequence[_Declaration], lines: Sequence[str], room: int) -> list[int]:
    """Where the declarations stand that fit, outer ones before inner ones, in the order of the file."""
    taken: list[int] = []
    used = 0
    for place, _ in sorted(declared, key=lambda given: given[1]):
        used += min(len(lines[place]), _WIDEST) + 8
        if used > room:
            break
        taken.append(place)
    return sorted(taken)


def _mark(lines: Sequence[str], first: int, past: int, numbered: bool, outlined: bool) -> str:
    low, high = first + 1, past
    if numbered:
        low = _number(lines[first]) or low
        high = _number(lines[past - 1]) or high
    ending = "; declarations in them:" if outlined else ""
    return f"[… {past - first:,} lines omitted: lines {low}-{high}{ending}]"


def _number(line: str) -> int | None:
    found = NUMBERED.match(line)
    return int(found[1]) if found else None
