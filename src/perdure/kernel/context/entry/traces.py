"""Tracebacks: what was raised, the frames in the project's own files, both ends.

It knows how languages print a stack. It must never know whose project it is: a frame is foreign if its path says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.context.entry.select import Sheet, around, both_ends, edges, lines_with, openings
from perdure.kernel.pattern import pattern

_FRAME = pattern(
    r"\s*File \"[^\"]{1,400}\", line \d+"  # Python
    r"|\s+at \S"  # JavaScript, Java, C#
    r"|\t?\S{1,400}\.go:\d+"  # Go
    r"|\s+\d{1,4}: \S|\s+from \S{1,400}:\d+"  # Rust, Ruby
)
_RAISED = pattern(
    r"[\w.$]{0,200}(?:Error|Exception|Interrupt|Exit|Fault|Warning|Timeout|Panic)\b[^\n]{0,4}"
    r"|panic:|goroutine \d+ \[|fatal error:|Caused by|thread '|Unhandled|Uncaught|\[cause\]|error:"
    r"|During handling of|The above exception|Traceback|Exception in thread"
)
_FOREIGN = (
    "site-packages",
    "dist-packages",
    "node_modules",
    "node:",
    "/lib/python",
    "<frozen",
    "java.base",
    "java.lang",
    "java.util",
    "sun.reflect",
    "jdk.internal",
    "org.springframework",
    "org.junit",
    "/usr/lib",
    "/usr/local/go",
    "runtime/",
    ".cargo/registry",
    "/rustc/",
    "std::",
    "core::",
    "/gems/",
)


def draft_traceback(text: str) -> Draft:
    """Exception lines, then the project's frames with their line of code, the innermost first, then the rest."""
    full = text.split("\n")
    lines = openings(full)
    frames = [place for place, line in enumerate(lines) if _FRAME.match(line)]
    foreign = lines_with("\n".join(lines), _FOREIGN)
    own = [place for place in frames if place not in foreign]
    raised = [place for place, line in enumerate(lines) if _RAISED.match(line.lstrip())]
    code = [place + 1 for place in own if place + 1 < len(lines)]
    sheet = Sheet(lines=full)

    def order() -> Iterator[int]:
        yield from edges(len(lines), 3, 4)
        yield from both_ends(raised)
        yield from around(raised[:8], 2, 3, len(lines))
        yield from both_ends(own)
        yield from both_ends(code)
        yield from around(raised[8:40], 2, 2, len(lines))
        yield from both_ends(frames)
        yield from both_ends(range(len(lines)))

    return lambda room: sheet.fill(order(), room)
