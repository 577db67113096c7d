"""The speed of the memory commands on files, and of the guard.

Run `python bench/memory.py`. It prints and never fails: the figures are of this machine and its disk, in one run. A
write is on the disk when it is answered, so most of its time is the disk's.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from perdure.guard import SecretGuard
from perdure.guard.library import WITH_LIBRARY
from perdure.kernel.messages import Json, ToolUse
from perdure.memory import Commands, FileStore, Principal
from perdure.tools.memory import MemoryTool

ROUNDS = 400
FILES = 100
LINES = 40
"""Of one file: about 2 KB, as notes are."""
WORDS = ("the", "parser", "keeps", "spans", "of", "tokens", "until", "release", "src/app/main.py", "reads", "twice")


def main() -> None:
    dice = random.Random(5)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        store = FileStore(root=Path(folder) / "store")
        commands = Commands(store=store, principal=Principal(tenant="acme", user="ana"), guard=SecretGuard())
        tool = MemoryTool(commands=commands)
        for number in range(FILES):
            call(tool, command="create", path=f"/memories/topic{number % 10}/{number}.md", file_text=note(dice))
        print(
            f"{FILES} files of about {len(note(dice)):,} bytes, {ROUNDS} calls of each command, in ms (goal: p99 < 5)"
        )
        print(f"{'command':<14}{'p50':>8}{'p99':>8}{'max':>8}")
        report("(the disk)", [timed(lambda: alone(Path(folder))) for _ in range(ROUNDS)])
        for name, act in acts(tool, dice).items():
            report(name, [timed(lambda number=number, act=act: act(number)) for number in range(ROUNDS)])
    text = "\n".join(note(dice) for _ in range(400))
    for name, guard in (("own", SecretGuard()), ("with library", SecretGuard(detectors=WITH_LIBRARY))):
        spent = timed(lambda guard=guard: guard.find(text))
        print(f"guard, {name}: {len(text) / 1e6 / spent * 1e3:.1f} MB/s")


def acts(tool: MemoryTool, dice: random.Random) -> dict[str, Callable[[int], None]]:
    """Each command on some file, the last two on files of their own."""

    def place(number: int) -> str:
        return f"/memories/topic{number % FILES % 10}/{number % FILES}.md"

    return {
        "view a file": lambda number: call(tool, command="view", path=place(number)),
        "view all": lambda number: call(tool, command="view", path="/memories"),
        "str_replace": lambda number: call(
            tool, command="str_replace", path=place(number), old_str="# note\n", new_str="# note\n"
        ),
        "insert": lambda number: call(
            tool, command="insert", path=place(number), insert_line=1, insert_text=f"- {dice.random()}"
        ),
        "create": lambda number: call(tool, command="create", path=f"/memories/new/{number}.md", file_text=note(dice)),
        "rename": lambda number: call(
            tool, command="rename", old_path=f"/memories/new/{number}.md", new_path=f"/memories/old/{number}.md"
        ),
        "delete": lambda number: call(tool, command="delete", path=f"/memories/old/{number}.md"),
    }


def alone(folder: Path) -> None:
    """What the disk takes for one durable write, whoever asks: a small file and its folder's entry."""
    written = os.open(folder / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(written, b"x" * 2_500)
    os.fsync(written)
    os.close(written)
    (folder / "new").rename(folder / "old")
    entry = os.open(folder, os.O_RDONLY)
    os.fsync(entry)
    os.close(entry)


def note(dice: random.Random) -> str:
    lines = (f"- {' '.join(dice.choices(WORDS, k=9))}." for _ in range(LINES))
    return "# note\n" + "\n".join(lines) + "\n"


def call(tool: MemoryTool, **given: Json) -> None:
    result = tool.call(ToolUse(id="t", name="memory", input=given))
    assert result.is_error is None, result.content


def timed(act: Callable[[], object]) -> float:
    start = perf_counter()
    act()
    return (perf_counter() - start) * 1e3


def report(name: str, spent: list[float]) -> None:
    spent.sort()
    print(f"{name:<14}{spent[len(spent) // 2]:8.2f}{spent[int(len(spent) * 0.99)]:8.2f}{spent[-1]:8.2f}")


if __name__ == "__main__":
    main()
