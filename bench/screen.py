"""How long a key takes until it stands on the screen, while 500 kB of one answer stream.

It knows a pseudo-terminal and a double. It must never know how the screen is drawn. Times are of the wall clock, and of
a machine that plays the provider as well.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from bench.measure import Figure, Missing, Row
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import answer

LINE = "x = compute(1, 2)  # and so on\n"
SIZE = 500_000
KEYS = 8
"""Typed one after the other: few, so that the stream outlasts them."""
PATIENCE = 10.0


def figures() -> Iterator[Row]:
    """The middle and the worst of the keys that were typed while one long fence and one long text came."""
    for name, text in (
        ("fence", f"```python\n{LINE * (SIZE // len(LINE))}```\n"),
        ("list", "- an item of a long list\n" * (SIZE // 25)),
        ("paragraphs", f"{'word ' * 40}\n\n" * (SIZE // 202)),
    ):
        taken = sorted(_typed(text))
        if not taken:
            yield Missing(what=f"a key while a {name} of 500 kB streams: it was over before one was typed")
            continue
        for part, place in (("p50", len(taken) // 2), ("worst", -1)):
            yield Figure(
                what=f"a key while 500 kB of one {name} stream, {part} (wall clock)", ours=taken[place], most=50
            )


def _typed(text: str) -> list[float]:
    double = AnthropicDouble(lambda _body: answer(text))
    with tempfile.TemporaryDirectory() as folder, serve(double) as url:
        (Path(folder) / ".git").mkdir()
        environment = {
            **os.environ,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "a key of the bench",
            "PERDURE_HOME": str(Path(folder) / "home"),
            "TERM": "xterm-256color",
        }
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "perdure.cli", "--cwd", folder]
        with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as child:
            os.close(slave)
            try:
                return _keys(master)
            finally:
                child.kill()
                os.close(master)


def _keys(master: int) -> list[float]:
    taken: list[float] = []
    _until(master, b"of ")
    os.write(master, b"Write it all.\r")
    _until(master, b"interrupts")
    for _ in range(KEYS):
        began = perf_counter()
        # A letter that stands nowhere in what streams.
        os.write(master, b"Q")
        seen = _until(master, b"Q")
        if seen is None:
            break
        taken.append((perf_counter() - began) * 1_000)
        os.write(master, b"\x15")
        select.select([], [], [], 0.05)
    return taken


def _until(master: int, text: bytes) -> bytes | None:
    """What was written up to a text; None where it does not come."""
    seen = b""
    end = perf_counter() + PATIENCE
    while text not in seen:
        if perf_counter() > end or not select.select([master], [], [], PATIENCE)[0]:
            return None
        data = os.read(master, 65_536)
        if b"\x1b[6n" in data:
            # It asks where the cursor is.
            os.write(master, b"\x1b[1;1R")
        seen += data
    return seen
