"""`perdure demo`: the replay on a session made up from a seed, with no key and no network.

It knows what to show first. It must never show a figure that the replay did not give.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from perdure.cli.progress import Progress
from perdure.kernel.context import with_window
from perdure.kernel.errors import UserError
from perdure.kernel.models import lookup
from perdure.lab.policies import POLICIES, policy_named
from perdure.lab.recording import Asked, Recording
from perdure.lab.replay import Setting, Subject, recorded, replay
from perdure.lab.report.page import page
from perdure.lab.report.summary import Outcome
from perdure.lab.report.table import table
from perdure.testing.sessions import generate

WINDOWS = (200_000, 32_000)
MODEL = "claude-sonnet-4-5"

INTRODUCTION = """\
A session of a coding agent, made up from seed {seed}: {requests} model requests, {turns} turns of the user,
{messages} messages. Every policy sees the same session; a request is priced as {model} would bill it,
prompt cache included. No model is called and nothing leaves this machine.
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "demo",
        help="replay a made-up session under every policy",
        description="Replays a realistic made-up session at 200k and at 32k tokens under every policy, prints the "
        "table and writes the page. Needs no key and no network.",
        epilog="example:\n  perdure demo --seed 7 --html demo.html",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1, help="which session is made up (default: 1)")
    parser.add_argument(
        "--html", metavar="OUT", type=Path, default=Path("perdure-demo.html"), help="where the page goes"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the session, replay it, print and write."""
    recording = made_up(options.seed)
    typed = sum(message.is_typed for message in recording.transcript)
    print(
        INTRODUCTION.format(
            seed=options.seed,
            requests=len(recording.asked),
            turns=typed,
            messages=len(recording.transcript),
            model=MODEL,
        )
    )
    progress = Progress()
    outcomes: list[Outcome] = []
    for window in WINDOWS:
        found = _outcomes(recording, window, progress)
        progress.clear()
        print(table(found))
        outcomes += found
    try:
        options.html.write_text(page(outcomes), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot write {str(options.html)!r}: {error.strerror}; name another file with --html"
        ) from error
    print(f"The page with every request, edit and loss: {options.html}")
    return 0


def made_up(seed: int) -> Recording:
    """The generated session as a recording."""
    session = generate(seed)
    messages = session.transcript
    asked = tuple(
        Asked(at=place, time=messages[place - 1].time, usage=message.usage, model=MODEL)
        for place, message in enumerate(messages)
        if message.role == "assistant"
    )
    return Recording(
        file=f"made-up-{seed}",
        format="generated",
        transcript=messages,
        asked=asked,
        model=MODEL,
        system=session.system,
        tools=session.tools,
    )


def _outcomes(recording: Recording, window: int, progress: Progress) -> list[Outcome]:
    profile = with_window(lookup(MODEL), window)
    subject = Subject(recording, profile)
    outcomes: list[Outcome] = []
    for name in POLICIES:
        what = f"{window // 1000}k window, {name}"
        setting = Setting(
            profile=profile,
            clock=time.perf_counter,
            progress=lambda done, whole, what=what: progress.show(what, done, whole),
        )
        outcomes.append(Outcome(recording=recording, replayed=replay(subject, name, policy_named(name), setting)))
    bill = recorded(subject)
    return outcomes if bill is None else [*outcomes, Outcome(recording=recording, replayed=bill)]
