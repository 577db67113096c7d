"""A session that is written until the process is killed: the victim of the crash tests.

`python tests/log/writer.py` reads lines `LOG FIRST SEED`. For each it forks a process, tells its id, and lets it append
entries and keep originals for ever; each number is told once its entry and its original are acknowledged. Forking saves
importing anew for each of a thousand victims.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

from perdure.archive import open_archive
from perdure.kernel.context import Done, Original
from perdure.kernel.messages import Message, ToolResult
from perdure.log import open_log

NOW = 1_790_000_000.0


def message_of(number: int) -> Message:
    """The message of a number: mostly small ones, sometimes one that takes the disk a while."""
    dice = Random(number)
    size = dice.choice((1, 1, 3, 10, 40, 40_000))
    text = f"{number} " + f"{dice.random()} 说 " * size
    return Message(
        id=f"m{number}", role="user", content=(ToolResult(tool_use_id=f"t{number}", content=text),), provenance="tool"
    )


def original_of(number: int) -> Original:
    """What a message loses. Of every third one the log holds another form, so that a blob is written."""
    content = message_of(number).content
    if number % 3 == 0:
        content = (ToolResult(tool_use_id=f"t{number}", content=f"whole of {number} " * 500),)
    return Original(handle=f"h{number}", message_id=f"m{number}", what=f"bash {number}", tokens=1, content=content)


def write_until_killed(path: Path, first: int) -> None:
    """Append and keep, and tell each number that is acknowledged."""
    with open_log(path) as log, open_archive(log) as archive:
        number = first
        while True:
            log.append_message(message_of(number), NOW)
            os.write(1, f"logged {number}\n".encode())
            if archive.keep([original_of(number)], NOW) != Done():
                os.write(1, b"refused\n")
            os.write(1, f"kept {number}\n".encode())
            number += 1


def main() -> None:
    """Serve victims."""
    for line in sys.stdin:
        path, first = line.split()
        child = os.fork()
        if child == 0:
            write_until_killed(Path(path), int(first))
        os.write(1, f"victim {child}\n".encode())
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
