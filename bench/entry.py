"""Reduction at entry: outputs of each kind down to 2,000 tokens, before they are first sent."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from bench.measure import Figure, Row, repeat
from perdure.kernel.context.entry import kind_of_output, reduce_text
from perdure.kernel.messages import JsonObject, encode_json

MEGABYTE = 1_000_000
ROUNDS = 5
RECALL = "recall h0123456789"
LIMIT = 2_000
"""Tokens that an output is reduced to."""


def measure(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 3 + 1


def repeated(line: Callable[[int], str], separator: str = "\n") -> str:
    lines: list[str] = []
    size = 0
    while size < MEGABYTE:
        lines.append(line(len(lines)))
        size += len(lines[-1]) + len(separator)
    return separator.join(lines)


def item(number: int) -> JsonObject:
    return {"id": f"ord_{number:06d}", "state": "paid", "total": number * 7, "tags": ["new", "eu"]}


DICE = random.Random(7)
LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
OUTPUTS = {
    "json": encode_json({"orders": [item(n) for n in range(15_000)]}).decode(),
    "ndjson": repeated(lambda n: encode_json(item(n)).decode()),
    "log": repeated(
        lambda n: f"2026-05-01T10:{n % 60:02d}:07Z {LEVELS[DICE.randrange(6)]} api handled request {n} in {n % 97} ms"
    ),
    "test report": "===== test session starts =====\n"
    + repeated(lambda n: f"tests/test_api.py::test_case_{n} {'FAILED' if n % 900 == 5 else 'PASSED'} [ {n % 100}%]"),
    "search hits": repeated(lambda n: f"src/app/part_{n // 40}.py:{n % 400}:    total = compute(order, {n})"),
    "diff": repeated(
        lambda n: (
            f"diff --git a/src/f{n}.py b/src/f{n}.py\n--- a/src/f{n}.py\n+++ b/src/f{n}.py\n@@ -1,3 +1,3 @@\n"
            f"     first = {n}\n-    total = first\n+    total = first + {n}\n     return total"
        )
    ),
    "table": repeated(lambda n: f"-rw-r--r--  1 root  staff  {n * 31:9d} May  1 10:{n % 60:02d} file_{n:05d}.parquet"),
    "file": repeated(lambda n: f"def handler_{n}(value):\n    total = value + {n}\n    return total\n"),
    "traceback": "Traceback (most recent call last):\n"
    + repeated(lambda n: f'  File "/app/src/part_{n % 40}.py", line {n}, in run\n    return step(value, {n})')
    + "\nRecursionError: maximum recursion depth exceeded",
    "prose": repeated(lambda n: f"Paragraph {n} tells at some length what was found, and why it matters to nobody."),
    "minified": repeated(lambda n: f"function a{n}(b){{return b+{n}}}", ";"),
    "escapes": repeated(lambda n: f"\x1b[32m{n % 100:3d}%\x1b[0m building part {n}\r\x1b[33mdone\x1b[0m part {n}"),
    "line ends alone": "\n" * MEGABYTE,
    "5 MB in one line": "x" * (5 * MEGABYTE),
    "brackets": "[" * MEGABYTE,
}


def figures() -> Iterator[Row]:
    """A figure for each kind of output, in milliseconds for what it has, which is a megabyte unless it says more."""
    for name, text in OUTPUTS.items():
        took = repeat(lambda text=text: reduce_text(text, limit=LIMIT, measure=measure, recall=RECALL), ROUNDS)
        what = f"reduce {name} ({kind_of_output(text)}, {len(text) / MEGABYTE:.1f} MB)"
        yield Figure(what=what, ours=took.cpu, wall=took.wall, most=50.0)
