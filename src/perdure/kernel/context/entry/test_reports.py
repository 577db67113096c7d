"""Reports of test runs: failures with what shows them, the summary and its counts; passes counted.

It knows the usual test runners' words. It must never know what was tested.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, around, both_ends, edges, lines_omitted, openings
from perdure.kernel.pattern import pattern

_PREFIX = pattern(r"@?[\w./-]{1,60}[ :](?:test|tests|check|build|ci)[\w:-]{0,20}: ")
"""What runners of several packages at once put before each line."""

_HEADING = pattern(
    r"_{3,} .{1,300} _{3,}$|(?:FAILED|ERROR)\s|FAIL\b|ERROR: |=+ .{0,200}=+$"  # pytest, unittest, jest, go
    r"|\s*--- FAIL|\s*[●✕✗✖×] |\s*not ok \d|\s{0,8}\d{1,4}\) \S|---- .{1,200} stdout ----"
    r"|test .{1,300} \.\.\. FAILED|\[ERROR\]|failures:|Failures:|rspec |\(fail\) "
)
_SUMMARY = pattern(
    r"=+ .{0,200}\b(?:passed|failed|error|errors|skipped)\b|Tests?:? |Test Suites:|Test Files|Snapshots:|Ran \d+ test"
    r"|test result:|\s*\d+ (?:passing|failing|pending)|\d+ examples?,|FAILED \(|OK\b|Tests run:"
    r"|\[(?:INFO|ERROR)\] Tests run|# (?:tests|pass|fail)\b|ok\s+\S|FAIL\s+\S|\d+ (?:passed|failed)"
    r"|exit code|Exit code|Process exited|make: \*\*\*"
)
_EVIDENCE = pattern(
    r"E {2,}\S|E$|>  |\s*(?:Expected|Received|expected|actual|got|want|left|right|Actual)\b.{0,3}:|\s*[+-] {1,4}\S"
    r"|\S{1,300}:\d+: \w|\s+\S{1,200}\.(?:go|py|rs|ts|tsx|js|rb|java|kt|c|cc|cpp):\d+|\s+at .{0,200}(?:test|spec)"
    r"|thread '|panic:|\s*[\w.]{0,100}(?:Error|Exception|Failure)\b|\s*assert|\s*expect\(|\s*File \"|WARNING: DATA RACE"
)
_PASSED = pattern(
    r"\S{1,300}\.\w{1,5}\s[.sxFE]{2,}"
    r"|\s*(?:[✓✔√] |ok \d|--- PASS|=== (?:RUN|PAUSE|CONT))|PASS\b|\((?:pass|skip)\) "
)


def draft_test_report(text: str) -> Draft:
    """Headings of failures and the summary, the evidence of each failure, its surroundings, then what is no pass."""
    full = text.split("\n")
    lines = openings(full)
    if sum(_PREFIX.match(line) is not None for line in lines[:100]) > 20:
        lines = [bare_report_line(line) for line in lines]
    passed = {place for place, line in enumerate(lines) if _is_pass(line)}
    others = [place for place in range(len(lines)) if place not in passed]
    headings = [place for place in others if _HEADING.match(lines[place])]
    summary = [place for place in others if _SUMMARY.match(lines[place])]
    evidence = [place for place in others if _EVIDENCE.match(lines[place])]
    sheet = Sheet(lines=full, mark=lambda first, past: _mark(passed, first, past))

    def order() -> Iterator[int]:
        yield from edges(len(lines), 3, 5)
        yield from reversed(summary[-8:])
        yield from both_ends(headings[:60])
        yield from reversed(headings[-20:])
        yield from both_ends(evidence[:80])
        yield from both_ends(evidence)
        yield from around(evidence, 4, 4, len(lines))
        yield from both_ends(headings)
        yield from both_ends(others)
        yield from both_ends(range(len(lines)))

    return lambda room: sheet.fill(order(), room)


def _is_pass(line: str) -> bool:
    return "PASSED" in line or line.endswith((" ... ok", " ... ignored")) or _PASSED.match(line) is not None


def bare_report_line(line: str) -> str:
    """The line without the name of the package whose tests it is about."""
    found = _PREFIX.match(line)
    return line[found.end() :] if found else line


def _mark(passed: set[int], first: int, past: int) -> str:
    if all(place in passed for place in range(first, past)):
        return lines_omitted(first, past).replace("omitted", "of passed tests omitted")
    return lines_omitted(first, past)
