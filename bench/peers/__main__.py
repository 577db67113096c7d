"""`python -m bench.peers [LIBRARY ...] [--sessions PATH ...] [--seeds N]`: the table, as Markdown."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.peers.measured import LIBRARIES
from perdure.kernel.messages import Json, JsonObject, decode_json

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".cache" / "peers-venv"
PACKAGES = ("pydantic-ai-harness==0.62.0", "langchain==1.5.2", "distil-llm==1.58.0", "headroom-ai==0.42.0")
"""The versions that the figures in docs/economics.md are of. OpenHands' SDK (1.58.2) is not among them: it needs Python
3.12."""

SECONDS = 900
HEAD = "| | price | /append | peak | breaks | visible | recallable | gone | facts | refused or too long | ms | MiB |"
MEANING = """\
price: units of an uncached input token, summaries paid for, answers included; /append: over append-only. peak: tokens
of the largest request. breaks: requests that could not read what the one before had left. visible, recallable, gone:
what of the needles, one in each result, the last request shows, a handle gives back, or neither; facts: of what the
user typed, word for word. ms: processor time of one request, the median. MiB: memory that the session added.
"""


def main() -> None:
    """Make the environment, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"of {', '.join(LIBRARIES)}")
    parser.add_argument(
        "--sessions", nargs="*", default=[], type=Path, metavar="PATH", help="recorded sessions as well"
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="sessions of mixed output that are made up")
    options = parser.parse_args()
    _make()
    named = {f"mixed output, {options.seeds} sessions": [f"mixed:{seed}" for seed in range(1, options.seeds + 1)]}
    named |= {path.name: [str(path)] for path in options.sessions}
    for title, sessions in named.items():
        print(f"\n{title}\n\n{HEAD}\n|{'---|' * 12}", flush=True)
        base: float | None = None
        for library in ("perdure", *(options.libraries or LIBRARIES)):
            for name, rows in _measured(library, sessions):
                if isinstance(rows, str):
                    print(f"| {name} | not measured: {rows} |", flush=True)
                    continue
                found = _summed(rows)
                base = found["units"] if base is None else base
                print(_line(name, found, base), flush=True)
    print(f"\n{MEANING}")


def _make() -> None:
    """The environment of the peers, where it is not there yet."""
    ready = ENVIRONMENT / "ready"
    wanted = "\n".join(PACKAGES)
    if ready.exists() and ready.read_text() == wanted:
        return
    venv.create(ENVIRONMENT, with_pip=True)
    install = [str(_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    subprocess.run(install, check=True)
    ready.write_text(wanted)


def _measured(library: str, sessions: Sequence[str]) -> Iterator[tuple[str, list[JsonObject] | str]]:
    """The rows of each of a library's peers, a session each; or why there are none."""
    names = _told(library)
    if isinstance(names, str):
        yield library, names
        return
    for name in names if isinstance(names, list) else ():
        rows = [_told(library, str(name), session) for session in sessions]
        failed = next((row for row in rows if isinstance(row, str)), None)
        yield str(name), failed if failed is not None else [row for row in rows if isinstance(row, dict)]


def _told(*arguments: str) -> Json:
    """What a process of the measured library prints; a text where it failed.

    It gets an empty home, so that it finds no settings and leaves no originals behind, and is told to stay offline.
    """
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "PYTHONWARNINGS": "ignore",
            "HF_HUB_OFFLINE": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        python = sys.executable if arguments[0] == "perdure" else str(_python())
        command = [python, "-m", "bench.peers.measured", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=home, timeout=SECONDS, check=False
        )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:200]
    return decode_json(done.stdout.strip().splitlines()[-1])


def _python() -> Path:
    return ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin") / "python"


def _summed(rows: Iterable[JsonObject]) -> dict[str, float]:
    """Sums over sessions; of peak, time and memory the largest."""
    found: dict[str, float] = {}
    for row in rows:
        for key, value in row.items():
            if isinstance(value, int | float):
                before = found.get(key, 0.0)
                largest = key in ("peak", "milliseconds", "mebibytes")
                found[key] = max(before, value) if largest else before + value
    return found


def _line(name: str, found: dict[str, float], base: float) -> str:
    needles = found["needles"]
    gone = needles - found["visible"] - found["recallable"]
    cells = (
        f"{found['units'] / 1_000:,.0f}k",
        f"{found['units'] / base:.3f}",
        f"{found['peak'] / 1_000:.0f}k",
        f"{found['breaks']:.0f}",
        *(f"{part:.0f}" for part in (found["visible"], found["recallable"], gone)),
        f"{found['facts']:.0f}",
        f"{found['faults']:.0f}",
        f"{found['milliseconds']:.2f}",
        f"{found['mebibytes']:.1f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
