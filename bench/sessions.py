"""`python -m bench.sessions FOLDER FIRST COUNT`: generated sessions as files, one for each seed.

It knows a folder and seeds. It must never know what the sessions are for.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.recordings import write_session


def main(folder: str, first: str, count: str) -> None:
    """Write them."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for seed in range(int(first), int(first) + int(count)):
        write_session(place / f"{seed:05}.jsonl", seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
