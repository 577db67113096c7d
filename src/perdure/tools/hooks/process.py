"""The process of a hook: given its text, bounded in time and output, ended with all that it started.

It knows processes. It must never know what a hook says. Input and output are files, since a pipe would be waited for as
long as anybody holds it, and would fill up for one that does not read.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from perdure.kernel.value import value

OUTPUT = 64_000
"""Bytes of its output that are read."""
LARGEST = 16_000_000
"""Bytes that it may print before it is ended."""
LOOK = 0.02
"""Seconds between two looks."""


@value
class Started:
    """What is run."""

    command: str
    told: bytes
    """Its standard input."""
    cwd: Path
    environment: Mapping[str, str]
    timeout: float
    """Seconds."""


@value
class Ended:
    """What came of it."""

    code: int = 0
    out: str = ""
    error: str = ""
    trouble: str = ""
    """Why there is no answer; empty where it ended by itself."""


async def run(started: Started) -> Ended:
    """Run it beside everything else. Cancellation ends it."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + started.timeout
    with _files(started) as files:
        process = _process(started, files)
        if isinstance(process, Ended):
            return process
        try:
            # Nothing tells of a process that is not asyncio's own, whose end would wait for whoever holds its pipes.
            while (trouble := _trouble(process, files, deadline - loop.time())) is None:  # noqa: ASYNC110
                await asyncio.sleep(LOOK)
        finally:
            _end(process)
        return _ended(process, files, trouble, started.timeout)


def run_blocking(started: Started) -> Ended:
    """Run it while everything waits."""
    deadline = time.monotonic() + started.timeout
    with _files(started) as files:
        process = _process(started, files)
        if isinstance(process, Ended):
            return process
        try:
            while (trouble := _trouble(process, files, deadline - time.monotonic())) is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK)
        finally:
            _end(process)
        return _ended(process, files, trouble, started.timeout)


@value
class _Files:
    told: IO[bytes]
    out: IO[bytes]
    error: IO[bytes]


@contextmanager
def _files(started: Started) -> Generator[_Files]:
    with (
        tempfile.TemporaryFile() as told,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as error,
    ):
        told.write(started.told)
        told.seek(0)
        yield _Files(told=told, out=out, error=error)


def _process(started: Started, files: _Files) -> subprocess.Popen[bytes] | Ended:
    try:
        return subprocess.Popen(
            ("/bin/sh", "-c", started.command),
            stdin=files.told,
            stdout=files.out,
            stderr=files.error,
            cwd=started.cwd,
            env=dict(started.environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Ended(trouble=f"cannot be started: {error}")


def _trouble(process: subprocess.Popen[bytes], files: _Files, left: float) -> str | None:
    """Why it need not be waited for any longer: empty where it is over by itself; None while it may go on."""
    if process.poll() is not None:
        return ""
    if any(os.fstat(file.fileno()).st_size > LARGEST for file in (files.out, files.error)):
        return "printed too much"
    return "took longer than {} s" if left <= 0 else None


def _ended(process: subprocess.Popen[bytes], files: _Files, trouble: str, timeout: float) -> Ended:
    if trouble:
        return Ended(trouble=trouble.format(f"{timeout:g}"))
    return Ended(code=process.returncode, out=_text(files.out), error=_text(files.error))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End its whole group: a hook leaves nothing behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT).decode("utf-8", "replace")
