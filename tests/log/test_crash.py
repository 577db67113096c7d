"""A process that is killed at any moment loses no entry and no original that was acknowledged.

The kills are as many as PERDURE_KILLS says; `make reliability` makes it 1,000.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from select import select

import pytest
from tests.log.writer import NOW, message_of, original_of

from perdure.archive import open_archive
from perdure.log import create_log, open_log

KILLS = int(os.environ.get("PERDURE_KILLS") or 50)
A_SESSION = 10
"""Kills that one session survives before the next one begins, so that files stay small."""


@dataclass(slots=True)
class Told:
    """What one victim acknowledged."""

    logged: list[int] = field(default_factory=list[int])
    kept: list[int] = field(default_factory=list[int])


@pytest.fixture
def server() -> Iterator[subprocess.Popen[bytes]]:
    program = Path(__file__).with_name("writer.py")
    with subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill_one(server: subprocess.Popen[bytes], path: Path, first: int, dice: Random) -> Told:
    """Let a victim write, kill it at a random moment, and give what it had told by then."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{path} {first}\n".encode())
    server.stdin.flush()
    told, victim, enough = Told(), 0, dice.randrange(12)
    killed = False
    for line in server.stdout:
        match line.split():
            case [b"victim", process]:
                victim = int(process)
            case [b"logged", number]:
                told.logged.append(int(number))
            case [b"kept", number]:
                told.kept.append(int(number))
            case [b"dead"]:
                return told
            case _:
                pytest.fail(f"the victim says {line!r}")
        if victim and not killed and len(told.logged) + len(told.kept) >= enough:
            # A moment somewhere inside of what it does next.
            select([], [], [], dice.random() * dice.choice((0.0005, 0.003, 0.02)))
            os.kill(victim, signal.SIGKILL)
            killed = True
    pytest.fail("the server ended")


@pytest.mark.timeout(60 + KILLS * 3)
def test_no_kill_loses_what_was_acknowledged(server: subprocess.Popen[bytes], tmp_path: Path) -> None:
    dice = Random(KILLS)
    path, logged, kept = tmp_path / "none", set[int](), set[int]()
    for kill in range(KILLS):
        if kill % A_SESSION == 0:
            path, logged, kept = tmp_path / f"{kill}.jsonl", set[int](), set[int]()
            create_log(path, "s", NOW).close()
        told = kill_one(server, path, max(logged, default=0) + 1, dice)
        logged |= set(told.logged)
        kept |= set(told.kept)
        with open_log(path) as log, open_archive(log) as archive:
            rows = log.branch()
            # One more than was told may be there: it was durable, and its victim died before it could say so.
            assert len(rows) - len(logged) in (0, 1)
            assert () == log.damage
            for place in {len(rows), *logged} - {0}:
                assert message_of(place) == log.message(rows[place - 1].id)
            for number in kept:
                assert original_of(number).content == archive.recall(f"h{number}").content
            logged |= set(range(1, len(rows) + 1))
