"""`perdure replay`: what a policy would have done to recorded sessions, request by request, and at what price.

It knows options, files and where to print. It must never compute a figure: the lab does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from perdure.cli.elsewhere import FILES, here, listed
from perdure.cli.progress import Progress
from perdure.guard.plain import one_line
from perdure.kernel.context import with_window
from perdure.kernel.errors import PerdureError, UserError
from perdure.kernel.messages import encode_json
from perdure.kernel.models import ModelProfile, lookup
from perdure.lab.policies import PEERS, POLICIES, followed, policy_named
from perdure.lab.readers import read
from perdure.lab.recording import Recording
from perdure.lab.replay import Setting, Subject, recorded, replay
from perdure.lab.report.page import page
from perdure.lab.report.summary import Outcome, report
from perdure.lab.report.table import table, validation_table
from perdure.lab.validate import validate

NAMES = [*POLICIES, "recorded"]
FOLLOWED = "followed"
"""Bound to a recording, as no other policy is."""
DEFAULT_MODEL = "claude-sonnet-4-5"
DEFAULT_WINDOW = 200_000
"""Tokens, where neither the option nor the model's profile tells."""

DESCRIPTION = """\
Replays recorded sessions of coding agents: for every model request that a session really made, it works out what a
context policy would have sent, checks that a provider would have accepted it and that it fits, and prices it with a
model of the provider's prompt cache at the recorded times.

Reads sessions of Perdure, Claude Code, Codex, pi, mini-swe-agent, SWE-agent, OpenHands, Copilot CLI and OpenCode, raw
Anthropic or OpenAI requests (JSONL), and JSON lists of messages. Folders are walked. The format is found by looking.
"""

EPILOG = """\
policies:
  append-only  everything, always
  classic      the classic ladder: planned anew at each call and rendered for that call only
  balanced     Perdure's default; cautious acts later, thrifty earlier
  recorded     the bill that the session's own usage numbers show, where it has them
  all          every one of these
  followed     a session of Perdure under the edits of its own log, at the sizes that the provider counted
  and what others do: sliding-window, mask-10, mask-3 and mask-10-batched (the newest results only), native-100k and
  native-100k-20k (a provider's own clearing), reset-80, summary-85, summary-92 (near the window), entry-only

No model is called. Where a policy would have a model write a summary, a fixed stand-in of 1,500 tokens takes its place
that carries no facts, so that only what code carries survives; its price is counted.

"Needed later" counts identifiers, paths and quoted lines that the recorded agent used and that only tool results before
had brought: still visible, recallable by a handle, or gone. It is off-policy: the agent acted on the context that it
had. It is no measure of answer quality.

examples:
  perdure replay session.jsonl
  perdure replay ~/.claude/projects --policy balanced --policy classic --policy recorded
  perdure replay session.jsonl --window 100000 --html report.html
  perdure replay sessions/ --validate
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "replay",
        help="replay recorded sessions under context policies",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    parser.add_argument(
        "--policy",
        action="append",
        metavar="NAME",
        choices=[*NAMES, FOLLOWED, *PEERS, "all"],
        help=f"one of {', '.join([*NAMES, FOLLOWED, *PEERS])}, or all; may be repeated (default: balanced)",
    )
    parser.add_argument("--model", metavar="M", help="price as this model (default: the session's own)")
    parser.add_argument("--window", metavar="N", type=int, help="window in tokens (default: the model's)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--html", metavar="OUT", type=Path, help="write a self-contained page")
    parser.add_argument(
        "--validate", action="store_true", help="hold the cache model against the recorded usage numbers instead"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay, print, and give the exit code: 2 where a file could not be read."""
    names = _names(options.policy)
    progress = Progress()
    troubles: list[str] = []
    outcomes: list[Outcome] = []
    recordings: list[Recording] = []
    for recording in _recordings(options.files, progress, troubles):
        if options.validate:
            recordings.append(recording)
        else:
            outcomes += _outcomes(recording, names, options, progress)
    progress.clear()
    if not (recordings or outcomes or troubles):
        troubles.append(
            "no recorded session was found there; name a file, or see `perdure replay --help` for the formats"
        )
    for trouble in troubles:
        print(f"perdure: {trouble}", file=sys.stderr)
    if options.validate:
        print(validation_table(validate(recordings)), end="")
    elif outcomes or options.json:
        _print(outcomes, options)
    return 2 if troubles else 0


def _names(given: list[str] | None) -> list[str]:
    if given is None:
        return ["balanced"]
    return NAMES if "all" in given else list(dict.fromkeys(given))


def _print(outcomes: list[Outcome], options: argparse.Namespace) -> None:
    if options.html is not None:
        try:
            options.html.write_text(page(outcomes), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {str(options.html)!r}: {error.strerror}") from error
        print(f"perdure: wrote {options.html}", file=sys.stderr)
    if options.json:
        sys.stdout.buffer.write(encode_json(report(outcomes)) + b"\n")
    else:
        print(table(outcomes), end="")


def _recordings(names: list[str], progress: Progress, troubles: list[str]) -> Iterator[Recording]:
    """Every session in the files, one after the other; what cannot be read is told and the others go on."""
    for place in listed(names):
        progress.show(f"reading {one_line(PurePath(place).name)}", 0, 0)
        try:
            with here(place) as path:
                for recording in read(path):
                    # The name of a file, or of a thread in it, is another's text: it must not steer the terminal.
                    yield replace(recording, file=one_line(recording.file))
        except PerdureError as error:
            troubles.append(str(error))


def _outcomes(
    recording: Recording, names: list[str], options: argparse.Namespace, progress: Progress
) -> Iterator[Outcome]:
    profile, warning = profile_for(recording, options.model, options.window)
    subject = Subject(recording, profile)
    for name in names:
        if name == "recorded":
            replayed = recorded(subject)
        else:
            what = f"{recording.file} under {name}"
            setting = Setting(
                profile=profile,
                clock=time.perf_counter,
                progress=lambda done, whole, what=what: progress.show(what, done, whole),
            )
            policy = followed(recording) if name == FOLLOWED else policy_named(name)
            replayed = replay(subject, name, policy, setting)
        if replayed is not None:
            replayed.warnings += [warning] if warning else []
            yield Outcome(recording=recording, replayed=replayed)


def profile_for(recording: Recording, model: str | None, window: int | None) -> tuple[ModelProfile, str]:
    """The model to price as, and what a person should know about that choice."""
    wanted = model or recording.model or DEFAULT_MODEL
    profile = lookup(wanted)
    warning = ""
    if not profile.known:
        profile = lookup(DEFAULT_MODEL)
        warning = f"the model {wanted!r} is not known; priced as {DEFAULT_MODEL}"
    elif model is None and recording.model is None:
        warning = f"the recording names no model; priced as {DEFAULT_MODEL}"
    if window is not None:
        profile = with_window(profile, window)
    elif profile.window.tokens is None:
        profile = with_window(profile, DEFAULT_WINDOW)
        warning = f"the window of {profile.id!r} is not known; taken as {DEFAULT_WINDOW} tokens"
    return profile, warning
