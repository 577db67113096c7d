"""Reading recorded sessions and replaying them: megabytes a second on one core, and the memory it takes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measure import Figure, Missing, Row
from bench.recordings import together, write
from bench.replaying import READ_ALONE
from perdure.lab.policies import POLICIES

SIZE = 100_000_000
"""Bytes of generated sessions that are read."""
REPLAYED = {"balanced": 20_000_000}
"""Bytes that are replayed under a policy: each session starts anew, so a part shows the speed of the whole."""
PART = 5_000_000
"""Bytes for every other policy."""
DEFAULT = "balanced"


def figures() -> Iterator[Row]:
    """On generated sessions, which are written into a folder that is deleted again."""
    with TemporaryDirectory(prefix="perdure-bench-") as folder:
        paths = write(Path(folder), SIZE)
        size = sum(path.stat().st_size for path in paths) / 1e6
        yield from _measured(f"read {size:.0f} MB in {len(paths)} sessions", READ_ALONE, paths, goal=True)
        for policy in sorted(POLICIES, key=lambda name: name != DEFAULT):
            few = paths[: max(1, len(paths) * REPLAYED.get(policy, PART) // SIZE)]
            what = f"read and replay {len(few)} of them, {policy}"
            yield from _measured(what, policy, few, goal=policy == DEFAULT)
        whole = together(paths, Path(folder) / "whole.jsonl")
        yield from _measured(f"read {size:.0f} MB in one session", READ_ALONE, [whole], goal=True)


def recorded(path: Path) -> Iterator[Row]:
    """On recorded sessions."""
    yield from _measured("read", READ_ALONE, [path])
    for policy in POLICIES:
        yield from _measured(f"read and replay, {policy}", policy, [path], goal=policy == DEFAULT)


def _measured(what: str, policy: str, paths: Sequence[Path], *, goal: bool = False) -> Iterator[Row]:
    command = [sys.executable, "-m", "bench.replaying", policy, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield Missing(what=f"{what}: {done.stderr.strip().splitlines()[-1:]}")
        return
    size, cpu, wall, memory = map(float, done.stdout.split())
    fast, most = (10.0, 1_024.0) if goal else (None, None)
    yield Figure(what=what, ours=size / 1e6 / cpu, wall=size / 1e6 / wall, unit="MB/s", least=fast)
    yield Figure(what="  memory at its peak", ours=memory / 1_024, unit="MiB", most=most)
