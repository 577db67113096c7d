"""`perdure lab canaries`: what planted statements and facts survive under a policy, by kind and by round.

It knows options, files, and how to ask a command. It must never look for a canary itself: the lab does.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.cli.elsewhere import FILES, here, listed
from perdure.guard.plain import one_line
from perdure.kernel.context import PRESETS, preset
from perdure.kernel.errors import PerdureError, UserError
from perdure.kernel.messages import JsonObject, encode_json
from perdure.lab.canaries import KINDS, CanaryKind, Sighting, judged, plant, survey
from perdure.lab.policies import PEERS, POLICIES, Policy, policy_named
from perdure.lab.policies.engine import engine_without_model
from perdure.lab.providers import profile_of
from perdure.lab.readers import read

ROUNDS = 8
"""Rounds that the table shows."""

LEGEND = """\
visible/said, +r: only recallable, !: the old one of a corrected value is left. A round is a fold of the history;
round 0 is the end of sessions that were never folded, judge what a model answers from the last view.
"""

DESCRIPTION = """\
Plants rules, limits, facts, task state, preferences and corrected values into recorded sessions, by seed, and says
which of them each policy still shows after each fold of the history. A rule that is gone is a rule that is broken.
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser("canaries", help="what survives a policy, by kind and round", description=DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    parser.add_argument("--policy", action="append", metavar="NAME", choices=[*POLICIES, *PEERS])
    parser.add_argument(
        "--summarizer",
        choices=["stand-in", "extractive"],
        default="stand-in",
        help="a model that writes nothing of use, or none, for Perdure's own policies",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--per-kind", type=int, default=2, metavar="N", help="canaries of each kind in a session")
    parser.add_argument("--model", metavar="M", help="the model whose window counts (default: the session's own)")
    parser.add_argument("--window", type=int, metavar="N", help="window in tokens")
    parser.add_argument(
        "--judge", metavar="COMMAND", help="gets the last view and a question on its input, answers on its output"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plant, replay, and print what survived."""
    judge = None if options.judge is None else _judge(options.judge)
    names: list[str] = options.policy or ["balanced", "summary-85"]
    troubles: list[str] = []
    rows: list[JsonObject] = []
    for name in names:
        sightings: list[Sighting] = []
        answers: Counter[tuple[CanaryKind, str]] = Counter()
        for place in listed(options.files):
            try:
                with here(place) as path:
                    found = _of_file(path, _policy(name, options.summarizer), options, judge, answers)
            except PerdureError as error:
                troubles.append(str(error))
                continue
            sightings += found
        rows += _rows(name, sightings, answers if judge else None)
    for trouble in dict.fromkeys(troubles):
        print(f"perdure: {one_line(trouble)}", file=sys.stderr)
    if options.json:
        sys.stdout.buffer.write(encode_json([*rows]) + b"\n")
    else:
        print(_table(rows), end="")
    return 2 if troubles else 0


def _of_file(
    path: Path,
    policy: Policy,
    options: argparse.Namespace,
    judge: Callable[[str], str] | None,
    answers: Counter[tuple[CanaryKind, str]],
) -> list[Sighting]:
    sightings: list[Sighting] = []
    for recording in read(path):
        planted, canaries = plant(recording, options.seed, options.per_kind)
        profile = profile_of(recording.model, options.model, options.window, None)
        found, last = survey(planted, canaries, policy, profile)
        sightings += found
        if judge is not None:
            for kind, (right, asked) in judged(last, canaries, judge).items():
                answers[kind, "right"] += right
                answers[kind, "asked"] += asked
    return sightings


def _policy(name: str, summarizer: str) -> Policy:
    if summarizer == "extractive" and name in PRESETS:
        return engine_without_model(preset(name))
    return policy_named(name)


def _rows(
    policy: str, sightings: Sequence[Sighting], answers: Counter[tuple[CanaryKind, str]] | None
) -> list[JsonObject]:
    """The sums for each round and kind."""
    rows: list[JsonObject] = []
    for number in sorted({one.round for one in sightings}):
        for kind in KINDS:
            of_it = [one for one in sightings if one.round == number and one.kind == kind]
            row: JsonObject = {
                "policy": policy,
                "round": number,
                "kind": kind,
                "planted": sum(one.planted for one in of_it),
                "visible": sum(one.visible for one in of_it),
                "recallable": sum(one.recallable for one in of_it),
                "stale": sum(one.stale for one in of_it),
            }
            rows.append(row)
    for kind in KINDS if answers else ():
        right, asked = (answers or {}).get((kind, "right"), 0), (answers or {}).get((kind, "asked"), 0)
        rows.append({"policy": policy, "round": "judge", "kind": kind, "planted": asked, "visible": right})
    return rows


def _table(rows: Sequence[JsonObject]) -> str:
    """A line for each policy and round: of each kind, how many are visible and how many were said."""
    lines = [f"{'policy':<17}{'round':>6}" + "".join(f"{kind:>16}" for kind in KINDS)]
    places = list(dict.fromkeys((str(row["policy"]), str(row["round"])) for row in rows))
    shown = [place for place in places if not place[1].isdecimal() or int(place[1]) <= ROUNDS]
    for policy, number in shown:
        of_it = {row["kind"]: row for row in rows if row["policy"] == policy and str(row["round"]) == number}
        lines.append(f"{policy:<17}{number:>6}" + "".join(f"{_cell(of_it.get(kind)):>16}" for kind in KINDS))
    more = len(places) - len(shown)
    return "\n".join([*lines, "", *([f"{more} later rounds: --json lists all"] if more else []), LEGEND])


def _cell(row: JsonObject | None) -> str:
    if row is None or not row["planted"]:
        return "-"
    parts = [f"{row['visible']}/{row['planted']}"]
    parts += [f"+{row['recallable']}r"] if row.get("recallable") else []
    parts += [f"!{row['stale']}"] if row.get("stale") else []
    return " ".join(parts)


def _judge(command: str) -> Callable[[str], str]:
    """A command line of the user's, run without a shell."""
    words = shlex.split(command)
    if not words:
        raise UserError("--judge is empty; give a command that reads a prompt and prints an answer")

    def ask(prompt: str) -> str:
        try:
            # The command is the user's own, from the command line.
            done = subprocess.run(words, input=prompt, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(f"the judge {words[0]!r} failed: {error}") from error
        return done.stdout

    return ask
