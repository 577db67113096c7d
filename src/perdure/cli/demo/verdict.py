"""What became of the demo, checked against what nobody told the agent.

It knows the sample's right answers, the session's log and what the provider received. Each finding is a count of how
many of how many; it must never take the agent's word for anything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from perdure.archive import Archive, open_archive
from perdure.cli.demo.stage import Played, Stage
from perdure.kernel.context import Checkpoint, ClearToolInput, Edit, NativeCheckpoint
from perdure.kernel.messages import Message, ToolResult, ToolUse, Transcript
from perdure.kernel.value import value
from perdure.lab.readers.read import read
from perdure.lab.recording import Recording
from perdure.log import read_log, state_of
from perdure.testing.doubles.shape import as_text
from perdure.testing.freight import CORRECTION, RULES
from perdure.testing.freight.sample import clause_of


@value
class Check:
    """How many of how many are right."""

    what: str
    right: int
    of: int

    @property
    def holds(self) -> bool:
        """Whether all are."""
        return self.right == self.of


@value
class Verdict:
    """Everything that was found."""

    checks: tuple[Check, ...]
    recording: Recording
    """The session, for its replay under other policies."""
    handles: int
    left: int
    """Tokens that left the context, by the engine's count."""

    @property
    def is_right(self) -> bool:
        """Whether all checks hold."""
        return all(check.holds for check in self.checks)


def judge(stage: Stage, played: Played) -> Verdict:
    """Look at the project, the log, the archive and the requests."""
    log = read_log(stage.log)
    try:
        state = state_of(log)
        with open_archive(log) as archive:
            evicted = [edit for edit in state.ledger if _handle(edit)]
            exact = sum(_is_exact(edit, state.transcript, archive) for edit in evicted)
        left = sum(getattr(edit, "saved", 0) for edit in evicted)
    finally:
        log.close()
    recording = replace(next(iter(read(stage.log))), file="the demo's session")
    checks = (
        *_work(stage, played),
        Check(what="originals that left the context, recalled byte for byte", right=exact, of=len(evicted)),
        *_requests(played),
    )
    return Verdict(checks=checks, recording=recording, handles=len(evicted), left=left)


def _work(stage: Stage, played: Played) -> Iterator[Check]:
    sample = played.sample
    found = {name: _surcharge(stage.project / "carriers" / f"{name}.py") for name in sample.names}
    right = sum(found[name] == cents for name, cents in sample.surcharges.items())
    yield Check(what="modules with the right surcharge, by contract and rule", right=right, of=len(sample.names))
    stamped = sum(_stamp(stage.project, name) == ("FR-2291" if name[0] <= "d" else "FR-2307") for name in sample.names)
    yield Check(what="modules with the stamp that was in force", right=stamped, of=len(sample.names))
    tests = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."],
        cwd=stage.project,
        capture_output=True,
        check=False,
        timeout=120,
    )
    ran = re.search(rb"Ran (\d+) tests", tests.stderr)
    number = int(ran.group(1)) if ran else 0
    yield Check(what="tests of the project", right=number if tests.returncode == 0 else 0, of=40 * len(sample.names))
    untouched = len(sample.untouchable) - len(sample.touched())
    yield Check(what="files left alone that must not change", right=untouched, of=len(sample.untouchable))
    report = stage.project / "REPORT.md"
    text = report.read_text(encoding="utf-8") if report.exists() else ""
    right = clause_of("Alder", 0, sample.agreed["alder"]).partition(" ")[2]
    quoted = re.search(rf"^> \d+\. {re.escape(right)}$", text, re.MULTILINE) is not None
    yield Check(what="quotes of the first contract in the report at the end", right=int(quoted), of=1)
    yield Check(what="facts that the model missed in its requests", right=len(played.lost), of=0)


def _requests(played: Played) -> Iterator[Check]:
    asked = [one for one in played.received if one.path == "/v1/messages"]
    bad = [one for one in asked if one.status == 400]
    too_long = sum("too long" in as_text(one.answer) for one in bad)
    valid = len(asked) - len(bad) + too_long
    yield Check(what="requests that the strict provider found valid", right=valid, of=len(asked))
    yield Check(what="refusals as too long, which was provoked once", right=too_long, of=1)
    if played.killed_at is not None:
        killed = played.received[played.killed_at]
        after = played.received[played.killed_at + 1]
        yield Check(what="requests after the kill, byte for byte as before", right=int(killed.raw == after.raw), of=1)
    # The last request of the conversation itself has tools; one for a summary or for notes has not.
    last = next((one for one in reversed(asked) if one.body.get("tools") and one.status == 200), None)
    shown = as_text(last.body.get("messages")) if last is not None else ""
    rules = [as_text({"": rule})[5:-2] for rule in (*RULES, CORRECTION)]
    kept = sum(rule in shown for rule in rules)
    yield Check(what="the user's rules word for word in the last request", right=kept, of=len(rules))


def _is_exact(edit: Edit, transcript: Transcript, archive: Archive) -> bool:
    """Whether an original comes back as the transcript has it."""
    recalled = archive.recall(_handle(edit))
    if isinstance(edit, Checkpoint | NativeCheckpoint):
        return all(_message(transcript, message.id) == message for message in recalled.messages)
    message = _message(transcript, recalled.message_id)
    return message is not None and _fits(edit, recalled.content, message)


def _fits(edit: Edit, content: Sequence[object], message: Message) -> bool:
    wanted = getattr(edit, "tool_use_id", None)
    if wanted is None:
        return all(block in message.content for block in content)
    kind = ToolUse if isinstance(edit, ClearToolInput) else ToolResult
    blocks = [block for block in message.content if isinstance(block, kind)]
    named = [block for block in blocks if wanted in (getattr(block, "tool_use_id", None), getattr(block, "id", None))]
    return bool(content) and all(any(block == one for one in named) for block in content)


def _message(transcript: Transcript, message_id: str) -> Message | None:
    place = transcript.index_of(message_id)
    return None if place is None else transcript[place]


def _handle(edit: Edit) -> str:
    return str(getattr(edit, "handle", "") or "")


def _surcharge(path: Path) -> int | None:
    found = re.search(r"^SURCHARGE = (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found.group(1)) if found else None


def _stamp(project: Path, name: str) -> str:
    first = (project / "carriers" / f"{name}.py").read_text(encoding="utf-8").split("\n", 1)[0]
    return first.removeprefix("# checked: ")
