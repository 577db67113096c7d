"""A process that lets a session run in children of its own, to be killed.

`python tests/session/killed.py TOP URL` reads a line for each child. It forks one, tells its id, and lets it begin the
session or go on with it. The child tells each turn and each message that the log has acknowledged, and at last `end`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.session.stage import Stage

from perdure.kernel.agent import MessageEnd, TurnStart
from perdure.session import Session, SessionEvent


def tell(line: str) -> None:
    """At once, and whole: a kill leaves no half of it in a buffer."""
    os.write(1, f"{line}\n".encode())


def hear(event: SessionEvent) -> None:
    """What the test has to know."""
    match event:
        case TurnStart():
            tell("turn")
        case MessageEnd(message=message):
            tell(f"said {message.id}")
        case _:
            pass


async def run(stage: Stage, url: str) -> None:
    """Begin, or go on."""
    spec = stage.spec(stage.model(url))
    path = spec.folder / "one.jsonl"
    session = Session.resume(spec, path) if path.exists() else Session.start(spec, "one")
    fresh = not session.transcript
    end = await session.run("Read all of the register." if fresh else None, hear)
    await session.close()
    tell(f"end {end.state}")


def main() -> None:
    """Until there is no further line."""
    stage, url = Stage(Path(sys.argv[1]), memory=True), sys.argv[2]
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(run(stage, url))
            os._exit(0)
        tell(f"child {child}")
        os.waitpid(child, 0)
        tell("gone")


if __name__ == "__main__":
    main()
