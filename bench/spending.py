"""`python -m bench.spending PATH ... [--policy NAME ...]`: where the money of recorded sessions goes under a policy.

It knows the lab's replay and bills. It must never know a policy's ways. Each unit of the price is counted once;
together they are the price, getting things back included.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from perdure.kernel.context import Original
from perdure.kernel.errors import PerdureError
from perdure.kernel.messages import Transcript, weigh
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import tokens_of
from perdure.lab.bound import bounds
from perdure.lab.policies import Policy, policy_named
from perdure.lab.policies.run import Run, Sent
from perdure.lab.providers import profile_of
from perdure.lab.readers import read, walk
from perdure.lab.recall import RecallPrice, recall_cost
from perdure.lab.replay import Setting, Subject, replay

MODEL = "claude-sonnet-4-6"
WINDOW = 200_000
PROVIDER = "anthropic-5m"

HEADS: tuple[str, ...] = (
    "fixed overhead, read",
    "fixed overhead, written",
    "history, read",
    "history, written first",
    "history, written again after a pause",
    "history, written again after an edit",
    "history, written again otherwise",
    "answers",
    "narratives",
    "getting things back",
)


class Watched:
    """A run, and the tokens that each request carried for the first time."""

    def __init__(self, run: Run, subject: Subject) -> None:
        """Nothing was sent yet."""
        self._run, self._subject, self._seen = run, subject, 0
        self.fresh: list[int] = []

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """What the policy sends, without the narratives that it asked for: those are priced apart."""
        sent = self._run.send(transcript, now)
        new = {message.id for message in transcript[self._seen :]}
        self._seen = len(transcript)
        tokens = 0
        for place in range(len(sent.messages) - 1, -1, -1):
            message = sent.messages[place]
            if message.id not in new:
                break
            tokens += tokens_of(weigh(message), self._subject.profile, self._subject.calibration)
        self.fresh.append(tokens)
        return replace(sent, asks=(), written=())

    def originals(self) -> Mapping[str, Original]:
        """Those of the policy."""
        return self._run.originals()


def spent(subject: Subject, name: str) -> dict[str, float]:
    """The price of one session under a policy, by head."""
    runs: list[Watched] = []
    policy = policy_named(name)

    def watched(profile: ModelProfile, overhead: int) -> Run:
        runs.append(Watched(policy(profile, overhead), subject))
        return runs[-1]

    setting = Setting(profile=subject.profile, clock=perf_counter)
    found = _by_head(subject, watched, runs, setting)
    whole = sum(point.bill.units for point in replay(subject, name, policy, setting).points)
    found["narratives"] = whole - sum(found[head] for head in HEADS[:8])
    return found


def _by_head(subject: Subject, policy: Policy, runs: list[Watched], setting: Setting) -> dict[str, float]:
    rules, price = subject.profile.cache, RecallPrice()
    write, long = rules.lives[0].write, rules.lives[-1].write
    head = subject.overhead + subject.uncounted
    found = dict.fromkeys(HEADS, 0.0)
    points = replay(subject, "", policy, setting).points
    for point, fresh in zip(points, runs[0].fresh, strict=True):
        bill = point.bill
        fixed = min(bill.read, head)
        again = max(0, bill.written - fresh)
        why = {"idle": "a pause", "edited": "an edit"}.get(point.broke or "")
        found["fixed overhead, read"] += fixed * rules.read
        found["fixed overhead, written"] += bill.written_long * long
        found["history, read"] += (bill.read - fixed) * rules.read
        found["history, written first"] += (bill.written - again) * write + bill.fresh
        found[f"history, written again {f'after {why}' if why else 'otherwise'}"] += again * write
        spoken = bill.units - bill.read * rules.read - bill.written * write - bill.written_long * long - bill.fresh
        found["answers"] += spoken
        found["getting things back"] += recall_cost(point.missed, point.tokens, subject.profile, price).units
    return found


def subjects(paths: list[Path]) -> Iterator[Subject]:
    """The sessions, made ready; what cannot be read is named and left out."""
    profile = profile_of(None, MODEL, WINDOW, PROVIDER)
    for path in walk(paths):
        try:
            for recording in read(path):
                if recording.asked:
                    yield Subject(recording, profile)
        except PerdureError as error:
            print(f"not read: {error}", file=sys.stderr)


def main() -> None:
    """Replay, add up, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.spending", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--policy", action="append", metavar="NAME")
    options = parser.parse_args()
    policies: list[str] = options.policy or ["append-only", "summary-85", "balanced", "thrifty"]
    sums = {name: dict.fromkeys(HEADS, 0.0) for name in policies}
    once = free = 0.0
    for subject in subjects(options.paths):
        least = bounds(subject, RecallPrice())
        once, free = once + least.sent_once, free + least.free_rewrites
        for name in policies:
            for head, units in spent(subject, name).items():
                sums[name][head] += units
    _print(sums, once, free)


def _print(sums: Mapping[str, Mapping[str, float]], once: float, free: float) -> None:
    wholes = {name: sum(found.values()) for name, found in sums.items()}
    print(f"| share of its price | {' | '.join(f'`{name}`' for name in sums)} |")
    print("|---" * (len(sums) + 1) + "|")
    for head in HEADS:
        print(f"| {head} | {' | '.join(f'{found[head] / wholes[name]:.1%}' for name, found in sums.items())} |")
    print(f"| price, thousands of units | {' | '.join(f'{whole / 1_000:,.0f}' for whole in wholes.values())} |")
    for what, least in (("clearing alone", free), ("everything sent once", once)):
        cells = [f"{1 - least / whole:.1%}" for whole in wholes.values()]
        print(f"| at most to be saved: {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
