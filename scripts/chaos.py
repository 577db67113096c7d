"""Runs agents under chaos, in every dialect, and fails where one request was wrong or one word of the user's was lost.

`python scripts/chaos.py [RUNS] [FIRST SEED]`; 2,000 take some minutes. A line for each kind says what was counted, and
each run that went wrong is told by its seed, with which it happens again.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from time import monotonic

from perdure.testing.chaos import KINDS, ChaosRun

RUNS = 2_000


def main(arguments: Sequence[str]) -> int:
    runs = int(arguments[0]) if arguments else RUNS
    first = int(arguments[1]) if len(arguments) > 1 else 0
    planned = [
        ChaosRun(behind=behind, dialect=dialect, seed=first + seed)
        for seed in range(-(-runs // len(KINDS)))
        for behind, dialect in KINDS
    ][:runs]
    began = monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(zip(planned, pool.map(ChaosRun.wrong, planned, chunksize=8), strict=True))
    counted = Counter((run.behind, run.dialect) for run in planned)
    bad = Counter((run.behind, run.dialect) for run, wrong in found if wrong)
    for kind, count in counted.items():
        print(f"{' '.join(kind):<18}{count:>6} runs, {bad[kind]} went wrong")
    for run, wrong in found:
        if wrong:
            print(f"{run}: {'; '.join(wrong)[:500]}")
    print(f"{monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
