"""Which kind of output a text is: a look at a bounded sample, helped by what the call was.

It knows how outputs look. It must never know what is done with a kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perdure.kernel.context.entry.clean import clean
from perdure.kernel.context.entry.file_text import is_numbered
from perdure.kernel.context.entry.kind import Kind
from perdure.kernel.context.entry.search_hits import HIT, is_path
from perdure.kernel.context.entry.select import openings
from perdure.kernel.context.entry.test_reports import bare_report_line
from perdure.kernel.pattern import pattern

HEAD_SAMPLE, TAIL_SAMPLE = 12_000, 6_000
"""Characters that are looked at."""

HINT = 400
"""Characters of the hint that are looked at."""

_WIDE = 2_000
"""Characters per line from which text counts as minified."""

_READS = pattern(r"(?:\w{0,40}read\w{0,20}|view|open\w{0,10}|cat|str_replace\w{0,40}|fetch_file)\b", re.IGNORECASE)
_PRINTS = pattern(r"[^\n]{0,200}?(?:\bcat |\bsed -n|\bhead |\btail |\bnl |\bawk |\bgit show \S{1,200}:)")
_RUNS = pattern(r"(?:\w{0,20}(?:bash|shell|exec|terminal|command|stdin)\w{0,20}|run|cmd|powershell)\b", re.IGNORECASE)
_SEARCHES = pattern(
    r"(?:\w{0,20}(?:grep|glob|search|find|rg)\b|[^\n|]{0,120}\b(?:grep|rg|find|fd|ag|ls -R|git ls-files) )",
    re.IGNORECASE,
)
_TABLE_NAME = pattern(r"[^\n]{0,400}\.[ct]sv\b", re.IGNORECASE)
_LOG_NAME = pattern(r"[^\n]{0,400}\.(?:log|out)\b", re.IGNORECASE)
_DIFF_NAME = pattern(r"[^\n]{0,400}(?:\.(?:diff|patch)\b|\bgit (?:diff|show)\b)", re.IGNORECASE)

_TESTS = pattern(
    r"=+ test session starts|=+ (?:FAILURES|ERRORS) =|=+ short test summary|=+ .{0,120}(?:passed|failed).{0,60} in \d"
    r"|Test Suites:|Tests:  | Test Files  |--- (?:FAIL|PASS): |[ ]{0,4}--- FAIL|=== RUN |test result: "
    r"|running \d+ tests?$"
    r"|Ran \d+ tests? in|[ ]{2,4}\d+ (?:passing|failing)|(?:PASS|FAIL) \S+\.\w+|TAP version|ok \d+ - |not ok \d"
    r"|\[?(?:INFO|ERROR)?\]? ?Tests run: |test .{1,200} \.\.\. (?:ok|FAILED)$|\d{1,7} examples?, \d{1,7} failures?"
    r"|ok  \t\S+\t|\d+ passed(?:, \d+ \w+)* in [\d.]+s|\S{1,300} PASSED {1,30}\[ *\d+%\]| [✓❯] \S+\.(?:test|spec)\."
    r"|\((?:pass|fail)\) \S"
)
_DIFF = pattern(r"diff --git |@@ -\d|Index: \S|\*\*\* (?:Update|Add) File: ")
_DIFF_LINE = pattern(r"[+\- @]|diff |index |commit |Author:|Date:|$")
_TRACE = pattern(
    r"Traceback \(most recent call last\)|[ \t]{1,12}at \S[^\n]{0,300}[:(]|goroutine \d+ \[|panic: "
    r"|thread '.{0,80}panicked at"
    r"|Exception in thread|Caused by: |[ \t]{1,12}File \"[^\"\n]{1,300}\", line \d"
)
_LOG_LINE = pattern(
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|level=\w"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b|(?:error|warning|note|info)(?:\[\w+\])?: "
    r"|npm (?:ERR!|WARN|notice|http|warn|error)|\s{2,5}(?:Compiling|Checking|Downloaded|Downloading) \S"
    r"|(?:Collecting|Downloading|Requirement already|Installing|Building|Get:\d|Unpacking|Setting up) "
    r"|make(?:\[\d+\])?: |\[\s?\d{1,3}%\]|\[\d+/\d+\]|#\d+ \[|Step \d+/\d+|> Task |gcc |g\+\+ |cc |clang "
    r"|\S{1,200}:\d+:\d+: (?:error|warning|note)|\S{1,200}\(\d+,\d+\): (?:error|warning) "
)
_TABLE_LINE = pattern(
    r"[-dlcbps][-r][-w][-xsS][-rwxsStT]{6}|\s?[-=+|]{3,}[-=+| ]{3,}$|\|.{1,300}\|\s*$|\S+\t\S.{0,200}\t"
    r"|[^|\n]{0,200}\s\|\s[^|\n]{0,200}\s\||\S+[ ]{2,}\S.{0,200}[ ]{2,}\S"
)
_CODE_LINE = pattern(
    r"\s{2,}\S|\t|[})\]];?,?\s*$|//|/\*|#!|#{1,4} |<\w|[\w.-]{1,60}:\s|[\w.]{1,80}\s?=\s"
    r"|(?:def|class|function|public|private|package|#include|use|fn|func|struct|type|return|if|for|while|import|from|export"
    r"|const|let|var|@\w)\b"
)


def kind_of_body(text: str, hint: str = "") -> Kind:
    """The kind of a text from which the lines of a harness were taken; `hint` is the call's description."""
    hint = hint[:HINT]
    sample = clean(text if len(text) <= HEAD_SAMPLE + TAIL_SAMPLE else text[:HEAD_SAMPLE] + "\n" + text[-TAIL_SAMPLE:])
    lines = [line for line in sample.split("\n") if line.strip()]
    if not lines:
        return "prose"
    return (
        _json_kind(lines)
        or _wide_kind(text)
        or _read_kind(lines, hint)
        or _marked_kind(lines)
        or _kind_of_lines(lines, hint)
    )


def _json_kind(lines: Sequence[str]) -> Kind | None:
    first, last = lines[0].strip(), lines[-1].strip()
    several = len(lines) > 1
    if several and all(
        line.startswith('{"') and line.rstrip().endswith("}") for line in (lines[0], lines[1], lines[-1])
    ):
        return "ndjson"
    if first.startswith("{") and last.endswith("}") and re.match(r'\{\s*"', "".join(lines[:2])):
        return "json"
    if (
        first.startswith("[")
        and last.endswith("]")
        and re.match(r'\[\s*(?:[{["\d-]|null|true|false)', "".join(lines[:2]))
    ):
        return "json"
    return None


def _wide_kind(text: str) -> Kind | None:
    return "minified" if (text.count("\n") + 1) * _WIDE < len(text) else None


def _read_kind(lines: Sequence[str], hint: str) -> Kind | None:
    """What a tool that reads files returned, or text with a number on each line."""
    if _READS.match(hint) or is_numbered(lines):
        if _TABLE_NAME.match(hint):
            return "table"
        if _LOG_NAME.match(hint):
            return "log"
        if _DIFF_NAME.match(hint):
            return "diff"
        return "file"
    return None


def _marked_kind(lines: Sequence[str]) -> Kind | None:
    """Kinds that a few unmistakable lines give away."""
    opened = openings(lines)
    if any(map(_DIFF.match, opened)) and _share(lines, _DIFF_LINE) > 0.5:
        return "diff"
    if any(_TESTS.match(bare_report_line(line)) for line in opened):
        return "test_report"
    traced = sum(_TRACE.match(line) is not None for line in opened)
    if traced and traced * 8 >= len(lines):
        return "traceback"
    return None


def _kind_of_lines(lines: Sequence[str], hint: str) -> Kind:
    """Kinds that most lines belong to."""
    logged = _share(lines, _LOG_LINE)
    if logged > 0.5:
        return "log"
    if _share(lines, HIT) > 0.5:
        return "search_hits"
    paths = sum(is_path(line) for line in lines)
    if paths * 10 > len(lines) * 8 or (_SEARCHES.match(hint) and paths * 2 > len(lines)):
        return "search_hits"
    if logged > 0.2 or _LOG_NAME.match(hint):
        return "log"
    if _PRINTS.match(hint):
        return "table" if _TABLE_NAME.match(hint) else "file"
    if _share(lines, _TABLE_LINE) > 0.6 or _separated(lines):
        return "table"
    if _SEARCHES.match(hint):
        return "search_hits"
    if _RUNS.match(hint):
        return "log"
    return "file" if _share(lines, _CODE_LINE) > 0.55 else "prose"


def _share(lines: Sequence[str], pattern: re.Pattern[str]) -> float:
    return sum(pattern.match(line[:400]) is not None for line in lines) / len(lines)


def _separated(lines: Sequence[str]) -> bool:
    """Whether the lines are rows of comma, semicolon or tab separated values."""
    for separator in (",", ";", "\t"):
        columns = lines[0].count(separator)
        spaced = sum(f"{separator} " in line for line in lines)
        if (
            columns
            and spaced * 2 < len(lines)
            and sum(line.count(separator) == columns for line in lines) * 10 >= len(lines) * 8
        ):
            return len(lines) > 3
    return False
