"""The bash tool, and the job tool for what it leaves running.

It knows how a command is run and how its output is told. It must never judge a command: permissions do. Each command
starts in the working directory, whatever the one before it did: what holds after a summary, a resume or a fork is what
the call itself says, and permissions know where it will run.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.tools.actions import Action, Harmless, Offered, RunCommand
from perdure.tools.arguments import arguments, number_in, text_in, truth_in
from perdure.tools.disk import existing_folder
from perdure.tools.encoding import encoding_of, shown
from perdure.tools.failed import ToolFailed
from perdure.tools.process import Job, Jobs, Listener, end, wait
from perdure.tools.workspace import Workspace

TIMEOUT = 120
LONGEST = 600
"""Seconds that a call may take."""
SHOWN = 100_000
"""Bytes of an output that are told, half from its start and half from its end. What is worth carrying of them is for
the engine to say, which knows test reports from listings."""

BASH = Tool(
    name="bash",
    description=(
        "Runs a shell command. Each starts in the working directory (cd does not last: give cwd), without input or "
        "terminal. Both output streams come back, with the exit code. background=true returns at once with the id of "
        "a job, for servers and long work."
    ),
    schema={
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "cwd": {"type": "string"},
            "timeout": {"type": "integer", "description": f"seconds, {TIMEOUT} unless given, at most {LONGEST}"},
            "background": {"type": "boolean"},
        },
        "required": ["command"],
    },
)

JOB = Tool(
    name="job",
    description="What a background job printed since you last asked, and whether it runs. Without an id all jobs.",
    schema={
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "wait": {"type": "integer", "description": f"wait for its end, at most so many seconds (up to {LONGEST})"},
            "kill": {"type": "boolean"},
        },
    },
)

_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
"""Programs print for no screen, and ask nobody."""
_ESCAPES = pattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_OVERPRINTED = pattern(r"[^\n]*\r(?!\n)(?=[^\r\n])")
_ONLY_CD = pattern(r"\s*cd\s+[^;&|\n]+\s*")


@value
class Shell:
    """How a command becomes a process."""

    program: Sequence[str]
    """What gets the command as its last argument, such as `/bin/bash -c`."""
    confine: Callable[[Sequence[str], Path], Sequence[str]] = lambda argv, _: argv
    """Puts a sandbox around a program that starts in a folder."""


@value
class Wanted:
    """What a call asks for."""

    command: str
    cwd: Path
    timeout: int
    background: bool


def shell_of(workspace: Workspace) -> Shell:
    """The shell of this machine: bash where there is one."""
    path = workspace.environment.get("PATH")
    return Shell(program=(shutil.which("bash", path=path) or "/bin/sh", "-c"))


def offered(workspace: Workspace, jobs: Jobs, shell: Shell, listen: Listener | None = None) -> Offered:
    """The bash tool for a session. `listen` gets what a command prints while the call waits for it."""

    async def run(given: JsonObject) -> str:
        wanted = _wanted(given, workspace)
        existing_folder(wanted.cwd)
        argv = shell.confine((*shell.program, wanted.command), wanted.cwd)
        job = await jobs.start(argv, wanted.command, wanted.cwd, {**workspace.environment, **_QUIET})
        if wanted.background:
            return f"[Started as {job.id}. Ask for its output with job.]"
        note = await _waited(job, wanted, listen)
        cd = (
            f" The next command starts in {workspace.cwd} again; give cwd."
            if _ONLY_CD.fullmatch(wanted.command)
            else ""
        )
        return _answer(jobs, job, note + cd)

    def actions(given: JsonObject) -> tuple[Action, ...]:
        try:
            wanted = _wanted(given, workspace)
        except ToolFailed:
            return (Harmless(),)
        return (RunCommand(command=wanted.command, cwd=wanted.cwd),)

    return Offered(tool=AgentTool(definition=BASH, run=run), actions=actions)


def offered_job(jobs: Jobs) -> Offered:
    """The job tool for a session."""

    async def run(given: JsonObject) -> str:
        named = arguments(given, JOB)
        name = text_in(named, "id")
        seconds, kill = number_in(named, "wait", 0, least=0, most=LONGEST), truth_in(named, "kill")
        if not name:
            rows = [f"{job.id}: {_state(job)} {shown(job.command[:200])}" for job in jobs.all()]
            return "\n".join(rows) or "[There are no jobs.]"
        job = jobs.find(name)
        if kill:
            await end(job)
        await wait(job, seconds)
        return _news(job)

    return Offered(tool=AgentTool(definition=JOB, run=run), actions=lambda _: (Harmless(),))


async def _waited(job: Job, wanted: Wanted, listen: Listener | None) -> str:
    """Wait for a command to end, and say what ended it where it was not itself."""
    try:
        if await wait(job, wanted.timeout, listen):
            return ""
        await end(job)
    except asyncio.CancelledError:
        # The user interrupted. What was printed until then is worth more than the exception: the loop has been told.
        await end(job)
        return " The user interrupted it."
    return f" It was ended after {wanted.timeout} s, its timeout; use background=true for what takes longer."


def _answer(jobs: Jobs, job: Job, note: str) -> str:
    size = job.size
    said = _told(job.read(0, SHOWN)) if size <= SHOWN else _both_ends(job, size)
    if job.lives_on():
        note += f" Processes that it started still run, as {job.id}."
        job.told = size
    elif size <= SHOWN and said is not None:
        jobs.drop(job)
    if said is None:
        said = f"[Binary output of {size:,} bytes, kept in {job.output}]"
    return "\n".join(part for part in (said, f"[{_state(job)}{note}]") if part)


def _news(job: Job) -> str:
    size = job.size
    start = max(job.told, size - SHOWN)
    skipped = f"[... {start - job.told:,} bytes left out; all of it is in {job.output}]\n" if start > job.told else ""
    said = _told(job.read(start, size - start))
    job.told = size
    body = f"[Binary output, kept in {job.output}]" if said is None else said or "[Nothing new.]"
    return f"{skipped}{body}\n[{_state(job)}]"


def _both_ends(job: Job, size: int) -> str | None:
    head, tail = _told(job.read(0, SHOWN // 2)), _told(job.read(size - SHOWN // 2, SHOWN // 2))
    if head is None or tail is None:
        return None
    return f"{head}\n[... {size - SHOWN:,} bytes left out; all of it is in {job.output}]\n{tail}"


def _told(data: bytes) -> str | None:
    """Output as text: without what steers a terminal, and with what progress bars left in the end. None: no text."""
    if data and encoding_of(data.replace(b"\x1b", b"").replace(b"\b", b"")) is None:
        return None
    text = _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    return shown(_OVERPRINTED.sub("", text)).replace("\r", "").rstrip("\n")


def _state(job: Job) -> str:
    loop = asyncio.get_running_loop()
    took = f"{(job.ended or loop.time()) - job.started:.1f} s"
    if job.code is None:
        return f"The command has been running for {took}."
    how = f"exited with code {job.code}" if job.code >= 0 else f"was ended by signal {-job.code}"
    return f"The command {how} after {took}.{' It printed too much.' if job.overran else ''}"


def _wanted(given: JsonObject, workspace: Workspace) -> Wanted:
    named = arguments({name: value for name, value in given.items() if name != "description"}, BASH)
    command = text_in(named, "command")
    if not command.strip() or "\0" in command:
        raise ToolFailed("Give a command, without NUL.")
    try:
        command.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed("The command has half of a surrogate pair in it, which no shell takes.") from error
    return Wanted(
        command=command,
        cwd=workspace.resolve(text_in(named, "cwd")) if named.get("cwd") else workspace.cwd,
        timeout=number_in(named, "timeout", TIMEOUT, least=1, most=LONGEST),
        background=truth_in(named, "background"),
    )
