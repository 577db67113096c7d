"""One measurement in a process of its own, so that its memory is its own: `python -m bench.replaying POLICY PATH ...`.

It prints bytes, seconds of the processor, seconds of the clock, and the most memory that it held, in KiB.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from time import perf_counter, process_time

from perdure.kernel.context import with_window
from perdure.kernel.errors import PerdureError
from perdure.kernel.models import ModelProfile, lookup
from perdure.lab.policies import policy_named
from perdure.lab.readers import read, walk
from perdure.lab.recording import Recording
from perdure.lab.replay import Setting, Subject, replay

READ_ALONE = "read"
"""In the place of a policy: no replay."""
MODEL = "claude-sonnet-4-5"
WINDOW = 200_000


def main(policy: str, paths: list[Path]) -> None:
    """Read, replay, print."""
    size = 0
    wall, cpu = perf_counter(), process_time()
    for path in walk(paths):
        try:
            for recording in read(path):
                if policy != READ_ALONE:
                    _replay(recording, policy)
            size += path.stat().st_size
        except PerdureError as error:
            print(f"not replayed: {error}", file=sys.stderr)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    print(size, cpu, wall, most_memory())


def most_memory() -> int:
    """KiB. Linux hands the maximum that `getrusage` tells on from a parent, so its own record comes first there."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _replay(recording: Recording, policy: str) -> None:
    profile = _profile(recording.model)
    setting = Setting(profile=profile, clock=perf_counter)
    replay(Subject(recording, profile), policy, policy_named(policy), setting)


def _profile(model: str | None) -> ModelProfile:
    profile = lookup(model or MODEL)
    return with_window(profile if profile.known else lookup(MODEL), WINDOW)


if __name__ == "__main__":
    main(sys.argv[1], [Path(name) for name in sys.argv[2:]])
