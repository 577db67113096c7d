"""Commands of a session: started in a group of their own, watched, ended, and what they printed.

It knows processes and the file that each prints into. A file instead of a pipe bounds memory, loses nothing, and lets a
server that was started with `&` live on without holding anybody up. It must never know what a command means.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import count
from pathlib import Path

from perdure.kernel.value import record
from perdure.tools.failed import ToolFailed

LOOK = 0.05
"""Seconds between two looks at what was printed."""
GRACE = 2.0
"""Seconds that a group has between the request to end and the end."""
LARGEST = 256_000_000
"""Bytes that one command may print before it is ended: a disk is not filled by a loop."""
PIECE = 65_536
"""Bytes that a listener gets at once."""
FOLLOWED = 16 * PIECE
"""Bytes that it gets at each look."""

Listener = Callable[[str], None]
"""Gets what a command prints while it runs. May not raise, and not block."""


@record(kw_only=True)
class Job:
    """A command that runs or ran."""

    id: str
    command: str
    process: asyncio.subprocess.Process
    output: Path
    """Both streams, in the order in which they were written."""
    started: float
    """Seconds of the loop's clock."""
    ended: float | None = None
    overran: bool = False
    """Whether it was ended since it printed too much."""
    told: int = 0
    """Bytes of the output that the model was told of."""
    watch: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self.process.returncode

    @property
    def size(self) -> int:
        """Bytes that it printed so far."""
        with contextlib.suppress(FileNotFoundError):
            return self.output.stat().st_size
        return 0

    def read(self, start: int, length: int) -> bytes:
        """A part of what it printed."""
        with self.output.open("rb") as file:
            file.seek(start)
            return file.read(length)

    def lives_on(self) -> bool:
        """Whether any process of its group is there."""
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


class Jobs:
    """The commands of one session."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._numbers = count(1)
        self._jobs: dict[str, Job] = {}

    async def start(self, argv: Sequence[str], command: str, cwd: Path, environment: Mapping[str, str]) -> Job:
        """Start a command, with nothing to read and a group of its own.

        Raises:
            ToolFailed: it cannot be started.
        """
        loop = asyncio.get_running_loop()
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = next(name for number in self._numbers if not (self._kept / f"{(name := f'job{number}')}.log").exists())
        output = self._kept / f"{name}.log"
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                cwd=cwd,
                env=dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            output.unlink(missing_ok=True)
            raise ToolFailed(f"The command could not be started: {error}.") from error
        finally:
            os.close(descriptor)
        job = Job(id=name, command=command, process=process, output=output, started=loop.time())
        self._jobs[name] = job
        job.watch = loop.create_task(_watched(job))
        return job

    def find(self, name: str) -> Job:
        """The job of this name.

        Raises:
            ToolFailed: there is none.
        """
        if name not in self._jobs:
            raise ToolFailed(f"There is no job {name[:40]!r}. There are: {', '.join(self._jobs) or 'none'}.")
        return self._jobs[name]

    def all(self) -> tuple[Job, ...]:
        """Every job of which something is left, in the order in which they were started."""
        return tuple(self._jobs.values())

    def drop(self, job: Job) -> None:
        """Forget a job that is over, with what it printed, unless something of it lives on."""
        if not job.lives_on():
            self._jobs.pop(job.id, None)
            job.output.unlink(missing_ok=True)

    async def close(self) -> None:
        """End everything that was started. What was printed into files stays."""
        for job in self.all():
            await end(job)


async def wait(job: Job, seconds: float, listen: Listener | None = None) -> bool:
    """Wait until a job is over, at most so long; whether it is. A listener gets what it prints meanwhile."""
    loop = asyncio.get_running_loop()
    deadline, heard = loop.time() + seconds, job.size if job.told else 0
    watch = job.watch
    while watch is not None and not watch.done() and (left := deadline - loop.time()) > 0:
        await asyncio.wait({watch}, timeout=min(left, LOOK) if listen else left)
        heard = _tell(job, heard, listen)
    _tell(job, heard, listen)
    return watch is None or watch.done()


async def end(job: Job) -> None:
    """End a job and every process of its group: asked first, then made to."""
    try:
        if _signal(job, signal.SIGTERM) and job.watch is not None:
            await asyncio.wait({job.watch}, timeout=GRACE)
    finally:
        # Also where whoever waited was interrupted again: nothing may live on.
        _signal(job, signal.SIGKILL)
    if job.watch is not None:
        await asyncio.wait({job.watch}, timeout=GRACE)


async def _watched(job: Job) -> None:
    """Until a job is over. One that prints without end is ended."""
    over = asyncio.get_running_loop().create_task(job.process.wait())
    while not over.done():
        await asyncio.wait({over}, timeout=0.1)
        if job.size > LARGEST and not over.done():
            job.overran = True
            _signal(job, signal.SIGKILL)
    job.ended = asyncio.get_running_loop().time()


def _signal(job: Job, number: signal.Signals) -> bool:
    try:
        os.killpg(job.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _tell(job: Job, heard: int, listen: Listener | None) -> int:
    """Give a listener what is new, and no more than it can follow: a flood is skipped up to its end."""
    if listen is None:
        return heard
    heard = max(heard, job.size - FOLLOWED)
    for _ in range(FOLLOWED // PIECE):
        if not (piece := job.read(heard, PIECE)):
            break
        heard += len(piece)
        listen(piece.decode("utf-8", "replace"))
    return heard
