"""Cuts what a user typed into passages: sentences of prose, and pieces that look pasted.

It knows English and Chinese punctuation and the looks of code, logs and quoted text. It must never know what a
sentence means. Every passage is a substring of the text, and all of them together cover its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

LONGEST_SENTENCE = 1_500
"""Characters; what runs longer without a stop was not typed as a sentence."""
LONGEST_LIST = 20
"""Items; a longer list was pasted."""
WRAPPED_AT = 60
"""Characters; a line at least this long that ends without a stop may go on in the next one."""

_FENCE = pattern(r"\s*(?:```|~~~)")
_BULLET = pattern(r"\s*(?:[-*•+]|\(?\d{1,3}[.)、]|[a-zA-Z][.)])\s+")
_LEVELS = "TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL"
_LOG = pattern(
    rf"""\s*(?:
      [\[(]?\d{{4}}-\d\d-\d\d[T\s]\d\d:\d\d                # a time stamp
    | [\[(]?\d\d:\d\d:\d\d
    | \w{{3}}\s+\d+\s\d\d:\d\d:\d\d\s
    | \[(?:{_LEVELS})\] | (?:{_LEVELS})(?:\s{{2,}}|\s+\[|\s*\|) | (?:DEBUG|INFO|WARN|ERROR|FATAL):\s
    | at\s+[\w.$<>\[\]]+\s?\(                              # a frame of a stack
    | File\s".*",\sline\s\d
    | Traceback\s\(most
    | \w+(?:\.\w+)*(?:Error|Exception):\s
    | @@\s-\d | (?:\+\+\+|---)\s\S | diff\s--git
    | [{{}}\[\]]\s*[,;]?\s*$ | "[^"]+"\s*:\s | </?\w+[\s>]
    | [$%]\s\S | (?:>>>|\.\.\.)\s
    | [-=_*\#|+]{{4,}}
    | \|.*\|\s*$
    | (?:\S+\s+)?[\w./\\-]+:\d+(?::\d+)?:\s               # file:line: of a compiler or a search
    | (?:PASS|FAIL|PASSED|FAILED)\s+\S+[./:]\S*
    | (?:def|class)\s\w+.*:\s*$ | from\s\S+\simport\s | \#include\s
    | .*[;{{}}]\s*$                                         # code
    )""",
    re.VERBOSE,
)
_QUOTED = pattern(r"\s*>")
_STOP = pattern(r"(?:(?<![.!?])[.!?]++[\"')\]”’]*(?=\s)|[。！？；]+[”’」』）)\"]*)")
_ABBREVIATION = pattern(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|approx|mr|mrs|ms|dr|fig|\d{1,3})\.$", re.IGNORECASE)


@value
class Passage:
    """One stretch of a text."""

    text: str
    start: int
    """Position in the text."""
    pasted: bool
    """Whether it looks like code, a log, a quotation or a long list rather than like the user's own words."""

    @property
    def end(self) -> int:
        """Position behind its last character."""
        return self.start + len(self.text)


def passages(text: str) -> tuple[Passage, ...]:
    """The passages of a text, in order."""
    lines = _lines(text)
    pasted = _pasted(lines)
    found: list[Passage] = []
    index = 0
    while index < len(lines):
        stop = index + 1
        if pasted[index]:
            while stop < len(lines) and pasted[stop]:
                stop += 1
        else:
            while stop < len(lines) and not pasted[stop] and _goes_on(lines[stop - 1][1], lines[stop][1]):
                stop += 1
        start, end = lines[index][0], lines[stop - 1][0] + len(lines[stop - 1][1])
        found.extend(_block(text, start, end, pasted[index]))
        index = stop
    return tuple(found)


def _block(text: str, start: int, end: int, pasted: bool) -> Iterator[Passage]:
    cuts = [(start, end)] if pasted else _sentences(text, start, end)
    for first, last in cuts:
        piece = text[first:last]
        words = piece.strip()
        if words:
            begin = first + len(piece) - len(piece.lstrip())
            yield Passage(text=words, start=begin, pasted=pasted or len(words) > LONGEST_SENTENCE)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for stop in _STOP.finditer(text, start, end):
        if not _ABBREVIATION.search(text[max(begin, stop.end() - 10) : stop.end()]):
            yield begin, stop.end()
            begin = stop.end()
    if begin < end:
        yield begin, end


def _lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    start = 0
    for line in text.split("\n"):
        lines.append((start, line))
        start += len(line) + 1
    return lines


def _goes_on(line: str, following: str) -> bool:
    """Whether a sentence runs from one line into the next: a long line without a stop, hard-wrapped."""
    words, after = line.rstrip(), following.lstrip()
    return (
        len(words) >= WRAPPED_AT
        and bool(after)
        and not _BULLET.match(following)
        and words[-1] not in ".!?。！？；:："
        and (after[0].islower() or after[0] in "\"'`([" or after[0].isdigit() or _is_han(after[0]))
    )


def _pasted(lines: list[tuple[int, str]]) -> list[bool]:
    marks = [bool(_QUOTED.match(line) or _LOG.match(line)) for _, line in lines]
    for index in range(1, len(lines) - 1):
        if marks[index - 1] and marks[index + 1] and not _STOP.search(f"{lines[index][1]} "):
            marks[index] = True
    fences = [index for index, (_, line) in enumerate(lines) if _FENCE.match(line)]
    for first, last in zip(fences[::2], fences[1::2], strict=False):
        marks[first : last + 1] = [True] * (last + 1 - first)
    _mark_long_lists(lines, marks)
    return marks


def _mark_long_lists(lines: list[tuple[int, str]], marks: list[bool]) -> None:
    index = 0
    while index < len(lines):
        stop = index
        while stop < len(lines) and _BULLET.match(lines[stop][1]):
            stop += 1
        if stop - index > LONGEST_LIST:
            marks[index:stop] = [True] * (stop - index)
        index = max(stop, index + 1)


def _is_han(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"
