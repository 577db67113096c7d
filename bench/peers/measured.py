"""One peer on one session, in a process of its own: `python -m bench.peers.measured LIBRARY NAME SESSION`.

It prints one JSON object. SESSION is `mixed:SEED` or a file. Without a name it prints the names of the library's peers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from bench.peers.peer import Peer, as_policy
from bench.peers.transcript import mixed
from bench.replaying import most_memory
from perdure.kernel.context import with_window
from perdure.kernel.messages import JsonObject, Message, Transcript, encode_json, text_of
from perdure.kernel.models import lookup
from perdure.lab.policies import Policy, policy_named
from perdure.lab.policies.run import Run, Sent
from perdure.lab.readers import read
from perdure.lab.recall import RecallPrice, recall_cost
from perdure.lab.recording import Recording
from perdure.lab.replay import Setting, Subject, replay
from perdure.lab.trial import Trial, policy_of

MODEL = "claude-sonnet-4-5"
WINDOW = 200_000
OURS = ("append-only", "balanced", "thrifty")
LIMITS = (2_000, 1_000, 500)
"""Entry limits that are measured beside the preset's: the peers that write outputs shorter cut as low."""

LIBRARIES = {
    "langchain": ("bench.peers.langchain", "peers"),
    "pydantic-ai-harness": ("bench.peers.harness", "peers"),
    "distil": ("bench.peers.rewriting", "distil_peers"),
    "headroom": ("bench.peers.rewriting", "headroom_peers"),
}


def main(library: str, name: str | None = None, session: str = "") -> None:
    """Measure, or list."""
    policies = policies_of(library)
    if name is None:
        print(encode_json([*policies]).decode())
        return
    print(encode_json(measured(policies[name], session)).decode())


def policies_of(library: str) -> dict[str, Policy]:
    """What is measured of a library, by name; of Perdure, some of the lab's policies."""
    if library == "perdure":
        limited = {limit: Trial(policy="balanced", changes=(("entry_limit", limit),)) for limit in LIMITS}
        ours = {f"balanced, entry limit {limit:,}": policy_of(trial) for limit, trial in limited.items()}
        return {name: policy_named(name) for name in OURS} | ours | {"summary-85": policy_named("summary-85")}
    module, function = LIBRARIES[library]
    found: dict[str, Callable[[], Peer]] = getattr(importlib.import_module(module), function)()
    return {name: as_policy(begin) for name, begin in found.items()}


def measured(policy: Policy, session: str) -> JsonObject:
    """The figures of a session under a policy."""
    recording, needles, facts = _session(session)
    profile = with_window(lookup(MODEL), WINDOW)
    subject = Subject(recording, profile)
    run = Watched(policy(profile, subject.overhead))
    before = most_memory()
    replayed = replay(subject, "peer", lambda profile, overhead: run, Setting(profile=profile, clock=perf_counter))
    points = replayed.points
    costs = [recall_cost(point.missed, point.tokens, profile, RecallPrice()) for point in points]
    shown = "\n".join(_shown(run.last))
    back = "\n".join(text for one in run.originals().values() for text in (text_of(one.content), *_shown(one.messages)))
    return {
        "requests": len(points),
        "units": round(sum(point.bill.units for point in points)),
        "recall_units": round(sum(cost.units for cost in costs)),
        "peak": max(point.tokens for point in points),
        "breaks": sum(point.broke is not None for point in points),
        "faults": sum(point.faults > 0 or point.over_window for point in points),
        "needles": len(needles),
        "visible": sum(needle in shown for needle in needles),
        "recallable": sum(needle not in shown and needle in back for needle in needles),
        "facts": sum(fact in shown for fact in facts),
        "needed": replayed.needed.asked,
        "needed_visible": replayed.needed.visible,
        "needed_gone": replayed.needed.gone,
        "milliseconds": round(1_000 * median(run.took), 3),
        "mebibytes": round((most_memory() - before) / 1024, 1),
    }


class Watched:
    """A run whose processor time is taken, and whose last request is kept."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.took: list[float] = []
        self.last: Iterable[Message] = ()
        self.originals = run.originals

    def send(self, transcript: Transcript, now: float | None) -> Sent:
        """The run's own."""
        start = process_time()
        sent = self._run.send(transcript, now)
        self.took.append(process_time() - start)
        self.last = sent.messages
        return sent


def _session(name: str) -> tuple[Recording, Sequence[str], Sequence[str]]:
    if name.startswith("mixed:"):
        made = mixed(int(name.removeprefix("mixed:")))
        return made.recording, made.needles, made.facts
    return next(iter(read(Path(name)))), (), ()


def _shown(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        yield text_of(message.content)
        yield from (text_of(one.content) for one in message.tool_results)


if __name__ == "__main__":
    main(*sys.argv[1:])
