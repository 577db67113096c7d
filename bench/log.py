"""The session log and the archive: appends, opening, recall and search, at the sizes of long sessions.

`python -m bench log`, or `python -m bench.log --full` for 1 GB of evicted originals instead of 200 MB. What it writes,
it removes. Times are p99 of the wall clock where the disk is waited for.
"""

import sys
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.measure import Figure, Row, Took, high, middle, once
from perdure.archive import Archive, open_archive
from perdure.kernel.context import Done, Original
from perdure.kernel.messages import Message, ToolResult
from perdure.kernel.messages.persist import message_to_json
from perdure.log import Entry, SessionLog, create_log, open_log, read_log, state_of
from perdure.log.line import line_of
from perdure.tools.recall import hits

NOW = 1_790_000_000.0
APPENDS = 1_000
ASKED = 300
LOG_BYTES = 100_000_000
EVICTED = 200_000_000
EVICTED_OF_ALL = 1_000_000_000
SIZES = (400, 1_500, 4_000, 9_000, 20_000, 60_000, 200_000)
"""Bytes of outputs: many small ones and a few large ones."""
SHARES = (30, 25, 20, 13, 8, 3, 1)
BATCH = 50
"""Originals that are evicted together."""

DICE = Random(6)
WORDS = ["".join(DICE.choices("abcdefghijklmnopqrstuvwxyz_", k=DICE.randrange(3, 11))) for _ in range(20_000)]
OFTEN = list(accumulate(1 / (place + 1) for place in range(len(WORDS))))
"""Words are as unevenly common as in real text."""


def figures(evicted: int = EVICTED) -> Iterator[Row]:
    """Appends, opening, and an archive of so many bytes."""
    with TemporaryDirectory(prefix="perdure-bench-") as name:
        yield from _appends(Path(name))
        yield from _opening(Path(name))
        yield from _recalls(Path(name), evicted)


def _appends(folder: Path) -> Iterator[Row]:
    with create_log(folder / "appends.jsonl", "s", NOW) as log:
        messages = islice(results(APPENDS * 200_000), APPENDS)
        taken = [once(lambda one=one: log.append_message(one, NOW)) for one in messages]
    yield _waited(f"append with fsync, p99 of {APPENDS:,}", taken, 10)


def _opening(folder: Path) -> Iterator[Row]:
    path = folder / "large.jsonl"
    write_unsynced(path, results(LOG_BYTES))
    size = path.stat().st_size / 1e6
    opened = middle([once(lambda: open_log(path).close()) for _ in range(5)])
    yield Figure(what=f"open a log of {size:.0f} MB for writing", ours=opened.cpu, wall=opened.wall, most=1_500)
    with read_log(path) as log:
        whole = once(lambda: state_of(log))
    yield Figure(what="  and decode its whole transcript", ours=whole.cpu, wall=whole.wall)


def _recalls(folder: Path, whole: int) -> Iterator[Row]:
    path = folder / "evicted.jsonl"
    write_unsynced(path, results(whole))
    size = path.stat().st_size / 1e6
    with open_log(path) as log, open_archive(log) as archive:
        spent = once(lambda: evict(log, archive))
        beside = sum(place.stat().st_size for place in archive.folder.rglob("*") if place.is_file())
        count = archive.count()
        yield Figure(
            what=f"evict {count:,} originals of {size:,.0f} MB",
            ours=1e3 * size / spent.cpu,
            wall=1e3 * size / spent.wall,
            unit="MB/s",
        )
        yield Figure(what="  index beside the log", ours=beside / 2**20, unit="MiB")
        names = [f"h{DICE.randrange(1, count + 1)}" for _ in range(ASKED)]
        yield _waited("recall by handle, p99", [once(lambda name=name: archive.recall(name)) for name in names], 10)
        mixed = [" ".join(words(DICE.randrange(1, 4))) for _ in range(ASKED)]
        yield _waited("search, p99", [once(lambda asked=asked: hits(archive, asked)) for asked in mixed], 100)
        common = [" ".join(WORDS[place : place + 2]) for place in range(50)]
        yield _waited("search for the commonest words, p99", [once(lambda c=c: hits(archive, c)) for c in common], 100)


def _waited(what: str, taken: list[Took], most: float) -> Figure:
    """A time that a person or an agent waits for, disk included."""
    worst = high(taken)
    return Figure(what=what, ours=worst.wall, wall=worst.wall, most=most)


def words(count: int) -> list[str]:
    return DICE.choices(WORDS, cum_weights=OFTEN, k=count)


def output(size: int) -> str:
    """Lines of words, numbers and paths."""
    lines: list[str] = []
    while size > 0:
        line = f"src/{'/'.join(words(2))}.py:{DICE.randrange(3_000)}: {' '.join(words(10))}"
        lines.append(line)
        size -= len(line) + 1
    return "\n".join(lines)


def results(whole: int) -> Iterator[Message]:
    """Messages with outputs, until they are so many bytes together."""
    number = 0
    # Making text takes longer than indexing it: outputs are made of parts that were made before.
    made = [output(4_000) for _ in range(400)]
    while whole > 0:
        number += 1
        size = DICE.choices(SIZES, SHARES)[0]
        text = "\n".join([f"run {number}", *DICE.choices(made, k=size // 4_000), output(min(size, 4_000) // 4)])
        whole -= len(text)
        block = ToolResult(tool_use_id=f"t{number}", content=text)
        yield Message(id=f"m{number}", role="user", content=(block,), provenance="tool", time=NOW + number)


def write_unsynced(path: Path, messages: Iterator[Message]) -> None:
    """A log of many entries, without waiting for the disk at each."""
    with create_log(path, "s", NOW) as log:
        number = log.append_message(next(messages), NOW).id
    with path.open("ab") as file:
        for message in messages:
            number += 1
            told = message_to_json(message)
            file.write(line_of(Entry(id=number, parent=number - 1, kind="message", time=NOW, payload=told)))


def evict(log: SessionLog, archive: Archive) -> None:
    """Evict every message, in batches as the engine does."""
    rows = log.branch()
    for start in range(0, len(rows), BATCH):
        batch = [_original(log.message(row.id), row.id) for row in rows[start : start + BATCH]]
        assert archive.keep(batch, NOW) == Done()


def _original(message: Message, number: int) -> Original:
    what = f"bash {number}"
    return Original(handle=f"h{number}", message_id=message.id, what=what, tokens=1, content=message.content)


if __name__ == "__main__":
    for row in figures(EVICTED_OF_ALL if "--full" in sys.argv else EVICTED):
        print(row, flush=True)
