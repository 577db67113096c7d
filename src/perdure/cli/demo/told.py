"""How the demo ends: what was checked, what the context cost, and what it would have cost otherwise.

It knows lines and the replay of the lab. It must never leave out a check that failed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from perdure.cli.demo.stage import MODEL, Played
from perdure.cli.demo.verdict import Verdict
from perdure.cli.progress import Progress
from perdure.kernel.context import with_window
from perdure.kernel.errors import UserError
from perdure.kernel.messages import Json, encode_json
from perdure.kernel.models import lookup
from perdure.lab.policies import policy_named
from perdure.lab.replay import Setting, Subject, recorded, replay
from perdure.lab.report.page import page
from perdure.lab.report.summary import Outcome, report
from perdure.lab.report.table import table

POLICIES = ("append-only", "classic")
"""What the session is compared with."""


def told(verdict: Verdict, played: Played, html: Path, *, as_json: bool) -> None:
    """Print everything, and write the page.

    Raises:
        UserError: the page cannot be written.
    """
    starts = [event for event in played.events if event.get("event") == "turn_start"]
    largest = max((int(str(event.get("tokens", 0))) for event in starts), default=0)
    outcomes = _compared(verdict, played)
    try:
        html.write_text(page(outcomes), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {str(html)!r}: {error.strerror}; name another file with --html") from error
    if as_json:
        checks: list[Json] = [
            {"what": check.what, "right": check.right, "of": check.of, "holds": check.holds} for check in verdict.checks
        ]
        value: Json = {
            "checks": checks,
            "edits": dict(played.rungs()),
            "seconds": round(played.seconds, 1),
            "replays": report(outcomes),
        }
        sys.stdout.buffer.write(encode_json(value) + b"\n")
        return
    print(f"{len(starts)} requests in {played.seconds:.0f} s, the largest estimated at {largest:,} tokens.")
    print(f"The context was made smaller {sum(played.rungs().values())} times: {_rungs(played)}.")
    print(f"{verdict.handles} originals left it, {verdict.left:,} tokens; each can be recalled by its handle.\n")
    for check in verdict.checks:
        print(f"  {'ok ' if check.holds else 'NOT'}  {check.right:>5,} of {check.of:<5,}  {check.what}")
    print("\nThe same session under other policies, priced as the provider bills it (`recorded` is what was paid):\n")
    print(table(outcomes))
    print(f"The page with every request, edit and loss: {html}")


def _compared(verdict: Verdict, played: Played) -> list[Outcome]:
    recording = verdict.recording
    profile = with_window(lookup(MODEL), played.window)
    subject = Subject(recording, profile)
    outcomes: list[Outcome] = []
    bill = recorded(subject)
    if bill is not None:
        outcomes.append(Outcome(recording=recording, replayed=bill))
    progress = Progress()
    for name in POLICIES:
        setting = Setting(
            profile=profile,
            clock=time.perf_counter,
            progress=lambda done, whole, name=name: progress.show(f"the same under {name}", done, whole),
        )
        outcomes.append(Outcome(recording=recording, replayed=replay(subject, name, policy_named(name), setting)))
    progress.clear()
    return outcomes


def _rungs(played: Played) -> str:
    names = {"micro": "reduced or cleared", "trim": "trimmed", "memory": "folded by session memory", "full": "folded"}
    return ", ".join(f"{number} {names.get(kind, kind)}" for kind, number in played.rungs().most_common())
