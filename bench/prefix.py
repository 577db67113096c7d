"""Milliseconds from nothing to the bytes of a first request, in a repository of 50,000 files.

`python -m bench prefix`. Each run is a process of its own, so nothing is remembered; the pages of the files may be in
the memory of the system. What git takes is counted in, and is most of it.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from bench.measure import Figure, Row
from perdure.kernel.cache import Head, PrefixChain
from perdure.kernel.messages import Message, Text, Tool, encode_json, freeze
from perdure.kernel.messages.canonical import decode_object
from perdure.kernel.models import lookup
from perdure.kernel.prompt import Telling, remind, reminders, request_of
from perdure.kernel.wire import ANTHROPIC
from perdure.memory.auto import find_topics, memory_body, read_index, recall
from perdure.project import Opening, places_of, read_parts

FILES = 50_000
FOLDER = 100
"""Files in each folder."""
SKILLS = 40
TOPICS = 60
RUNS = 5
GOAL = 300.0
NOW = 1_796_083_200.0
TYPED = "The release build fails since the cache was moved; find out why."
TOOLS = tuple(
    Tool(name=name, description=f"{name} works on files. {'It has rules. ' * 20}", schema={"type": "object"})
    for name in ("read", "write", "edit", "bash", "glob", "grep", "todo", "subagent")
)


def figures() -> Iterator[Row]:
    """Whole prefix in a new process, then with the interpreter's start and the imports."""
    with tempfile.TemporaryDirectory() as name:
        root, home = Path(name) / "repo", Path(name) / "home"
        make(root, home)
        told = [_run(root, home) for _ in range(RUNS)]
    for what, key, goal in (
        (f"whole prefix from a cold start, {FILES:,} files, git included", "all", GOAL),
        ("  of which ours, without git", "ours", None),
        ("interpreter, imports and prefix: the whole process", "process", None),
    ):
        yield Figure(
            what=what,
            ours=median(each[f"{key}_cpu"] for each in told),
            wall=median(each[f"{key}_wall"] for each in told) if f"{key}_wall" in told[0] else None,
            most=goal,
        )
    yield Figure(what="system prompt and first reminders", ours=told[0]["bytes"] / 1024 / 1024, unit="MiB")


def make(root: Path, home: Path) -> None:
    """A repository of many files with instructions, skills and a memory."""
    for number in range(FILES // FOLDER):
        folder = root / "src" / f"part{number:03}"
        folder.mkdir(parents=True)
        for each in range(FOLDER):
            (folder / f"file{each:02}.py").write_text(f"VALUE = {number * each}\n", encoding="utf-8")
    (root / "AGENTS.md").write_text("Use tabs. Run the tests.\n" * 200, encoding="utf-8")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*identity, "commit", "-q", "-m", "First"]):
        # Whichever git the machine has.
        subprocess.run(["git", "-C", str(root), *arguments], check=True)  # noqa: S607
    (root / "src" / "part000" / "file00.py").write_text("VALUE = 1\n", encoding="utf-8")
    for number in range(SKILLS):
        skill = home / "skills" / f"skill-{number:02}"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\ndescription: Does thing {number}.\n---\nSteps.\n" * 10, encoding="utf-8")
    memory = home / "memory"
    memory.mkdir()
    (memory / "MEMORY.md").write_text("- [topic](topic-00.md): something\n" * TOPICS, encoding="utf-8")
    for number in range(TOPICS):
        text = f"---\nname: topic {number}\ndescription: About the release of part {number}.\n---\n"
        (memory / f"topic-{number:02}.md").write_text(text + "A line of what was found.\n" * 100, encoding="utf-8")


def measure(root: Path, home: Path) -> None:
    """Build one prefix, and print what it took."""
    begun, cpu = perf_counter(), process_time()
    size = len(build(root, home))
    ours, wall = 1e3 * (process_time() - cpu), 1e3 * (perf_counter() - begun)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    git = 1e3 * (children.ru_utime + children.ru_stime)
    told = {"all_cpu": ours + git, "all_wall": wall, "ours_cpu": ours, "bytes": float(size)}
    told["process_cpu"] = 1e3 * process_time() + git
    sys.stdout.buffer.write(encode_json(freeze(told)))


def build(root: Path, home: Path) -> bytes:
    """The bytes of the first request of a session."""
    with ThreadPoolExecutor(max_workers=1) as aside:
        # The memory is read while git answers.
        asked = aside.submit(Opening.read, root, {**os.environ, "PERDURE_HOME": str(home)}, NOW)
        places = places_of(root, home)
        body = memory_body(read_index(places.memory), read_index(places.user_memory))
        topics = (*find_topics(places.user_memory).topics, *find_topics(places.memory).topics)
        recalled = recall(TYPED, topics, (), NOW)
        opening = asked.result()
    parts = read_parts(opening, NOW, memory=body).parts
    told = remind(reminders(Telling(parts=parts, memories=recalled), ()), id="reminders", time=NOW)
    typed = Message(id="typed", role="user", content=(Text(text=TYPED),), provenance="user", time=NOW)
    messages = (typed,) if told is None else (told, typed)
    system = opening.system("leader", TOOLS)
    head = Head(profile=lookup("claude-opus-5"), tools=TOOLS, system=system.blocks, params={"max_tokens": 8_000})
    return ANTHROPIC.encode_request(request_of(system, PrefixChain(head, messages), messages))


def _run(root: Path, home: Path) -> dict[str, float]:
    begun = perf_counter()
    ran = subprocess.run(
        [sys.executable, "-m", "bench.prefix", str(root), str(home)], check=True, capture_output=True
    ).stdout
    wall = 1e3 * (perf_counter() - begun)
    told = {name: value for name, value in decode_object(ran).items() if isinstance(value, float)}
    return told | {"process_wall": wall}


if __name__ == "__main__":
    measure(Path(sys.argv[1]), Path(sys.argv[2]))
