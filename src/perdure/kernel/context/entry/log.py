"""Logs and build output: errors with their surroundings, warnings, both ends; runs of similar lines counted.

It knows how programs report trouble. It must never know which program it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, around, both_ends, edges, lines_omitted, lines_with
from perdure.kernel.pattern import pattern

SEVERE = (
    "error:",
    "error ",
    "error]",
    "error[",
    "error=",
    "error\t",
    "error\n",
    '"error"',
    "errors:",
    "exception",
    "fatal",
    "panic",
    "traceback",
    "failed",
    "failure",
    "critical",
    "segmentation fault",
    "undefined reference",
    "unhandled",
    "npm err!",
    "exit code",
    "exit status",
    "exited with",
    "returned non-zero",
    "command not found",
    "no such file",
    "permission denied",
    "out of memory",
    "core dumped",
    "× ",
    "✖ ",
    "✗ ",
    "✘ ",
    "❌",
)
"""What a line that reports a failure contains, in lower case."""

SUSPECT = (
    "warn",
    "deprecat",
    "not found",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "cannot ",
    "can't ",
    "could not",
    "unable to",
    "killed",
    "abort",
    "invalid",
    "missing",
    "conflict",
    "retry",
    "skipped",
    "unexpected",
    "error",
)
"""What a line that hints at trouble contains."""

_HARMLESS = (
    "0 errors",
    "0 error(s)",
    "no errors",
    "errors: 0",
    "errors=0",
    "0 failed",
    "failed: 0",
    "failed=0",
    "failures: 0",
    "failures=0",
    "error: null",
    "exit code 0",
    "exit code: 0",
    "exit status 0",
)

_VARIABLE = b"0123456789abcdef-:., \t"
"""What differs between similar lines: times, counters, hexadecimal ids. Whole words lose their a to f too, in every
line alike, which is harmless for a comparison and lets one call of `translate` do the work."""

_FIRST, _LAST = 4, 10
"""Lines at the ends that come before everything else."""

_MANY = 60
"""Failures that come before the first hint of trouble."""

_PLACE = pattern(r"[^\n]{0,60}?[\w/\\.-]{1,200}\.\w{1,5}(?::\d|\(\d|\", line \d)")
"""A file with a line number."""

_NEAR = 3
"""Lines between a failure and the line that says where it happened."""

_RARE = 3
"""Lines of one likeness that count as a rare event."""


def draft_log(text: str) -> Draft:
    """Failures first, one of each likeness before the second of any, then hints of trouble, then whatever is new."""
    lines = text.split("\n")
    keys = likenesses(text)
    fresh = first_of_each(range(len(lines)), keys)
    severe, suspect = _troubled(lines, keys, fresh)
    told = first_of_each(severe, keys)
    last = list(reversed(first_of_each(reversed(severe), keys)))
    places = _places(lines, severe)
    sheet = Sheet(lines=lines, mark=lambda first, past: _mark(keys, first, past))

    def order() -> Iterator[int]:
        yield from edges(len(lines), _FIRST, _LAST)
        yield from both_ends(told)
        yield from around(told[:8], 2, 4, len(lines))
        yield from both_ends(last)
        yield from both_ends(places)
        yield from islice(both_ends(severe), _MANY)
        yield from both_ends(first_of_each(suspect, keys))
        yield from around(told[8:40], 1, 2, len(lines))
        yield from both_ends(severe)
        yield from _rare(lines, keys)
        yield from both_ends(fresh)
        yield from both_ends(range(len(lines)))

    return lambda room: sheet.fill(order(), room)


def _troubled(lines: Sequence[str], keys: Sequence[bytes], fresh: Sequence[int]) -> tuple[list[int], list[int]]:
    """Lines that report a failure, and lines that hint at trouble: only one of each likeness is looked at."""
    lowered = "\n".join(lines[place] for place in fresh).lower()
    harmless = lines_with(lowered, _HARMLESS)
    severe = lines_with(lowered, SEVERE) - harmless
    suspect = lines_with(lowered, SUSPECT) - harmless - severe
    severe_keys = {keys[fresh[number]] for number in severe}
    suspect_keys = {keys[fresh[number]] for number in suspect}
    return (
        [place for place, key in enumerate(keys) if key in severe_keys],
        [place for place, key in enumerate(keys) if key in suspect_keys],
    )


def likenesses(text: str) -> list[bytes]:
    """For each line, what it has in common with lines that differ in times, counters and ids alone."""
    return text.lower().encode("utf-8", "replace").translate(None, _VARIABLE).split(b"\n")


def first_of_each(places: Iterable[int], keys: Sequence[bytes]) -> list[int]:
    """The first place of each likeness."""
    firsts: dict[bytes, int] = {}
    for place in places:
        firsts.setdefault(keys[place], place)
    return list(firsts.values())


def _places(lines: Sequence[str], severe: Sequence[int]) -> list[int]:
    """Lines close to a failure that say in which file and line it happened; none where there are too many to show."""
    if len(severe) > 4 * _MANY:
        return []
    near = {place for found in severe for place in range(found - _NEAR, found + _NEAR + 1)}
    return [place for place in sorted(near) if 0 <= place < len(lines) and _PLACE.match(lines[place][:300])]


def _rare(lines: Sequence[str], keys: Sequence[bytes]) -> Iterator[int]:
    counts: dict[bytes, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    rare = [place for place, key in enumerate(keys) if counts[key] <= _RARE and lines[place]]
    # Where nearly every line is one of its kind, being rare says nothing.
    return both_ends(rare) if len(rare) * 4 < len(lines) else chain()


def _mark(keys: Sequence[bytes], first: int, past: int) -> str:
    like = keys[first]
    if past - first > 1 and all(keys[place] == like for place in range(first, past)):
        return f"[… {past - first:,} similar lines omitted]"
    return lines_omitted(first, past)
