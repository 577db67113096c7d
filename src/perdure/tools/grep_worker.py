"""Searches files for a regular expression, in a process of its own, for machines without ripgrep.

A regular expression may take for ever and hold Python's lock meanwhile; a process can be ended. It is run by its path,
so it must never import anything beyond the standard library. It prints as `rg --null --no-heading` does.

    python grep_worker.py PATTERN i|- CONTEXT < paths, each ended by NUL
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LARGEST = 20_000_000
"""Bytes of a file that is searched."""


def main() -> None:
    """Search what standard input names."""
    pattern, case, context = sys.argv[1:]
    regex = re.compile(pattern, re.IGNORECASE if case == "i" else 0)
    out = sys.stdout.buffer
    for name in sys.stdin.buffer.read().split(b"\0"):
        if name:
            for row in hits(name, regex, int(context)):
                out.write(row)
            out.flush()


def hits(name: bytes, regex: re.Pattern[str], context: int) -> list[bytes]:
    """The lines of a file that match, with those around them."""
    try:
        path = Path(name.decode("utf-8", "surrogateescape"))
        data = path.read_bytes() if path.is_file() and path.stat().st_size <= LARGEST else b""
    except OSError:
        return []
    if b"\0" in data[:8192]:
        return []
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    found = [at for at, line in enumerate(lines) if (line or at < len(lines) - 1) and regex.search(line.rstrip("\r"))]
    matching = set(found)
    around = sorted({near for at in found for near in range(max(0, at - context), min(len(lines), at + context + 1))})
    return [
        b"%b\0%d%b%b\n" % (name, at + 1, b":" if at in matching else b"-", lines[at].encode("utf-8", "surrogateescape"))
        for at in around
    ]


if __name__ == "__main__":
    main()
