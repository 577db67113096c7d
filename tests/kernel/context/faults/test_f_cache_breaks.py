"""Bytes early in the request that change although nothing was decided."""

import itertools
import os
import subprocess
import sys

import pytest

from perdure.kernel.context import ClearToolResult, Engine, Ledger, Projection, Settings, drive, with_window
from perdure.kernel.messages import Transcript, encode_json
from perdure.kernel.models import lookup
from perdure.kernel.wire import ANTHROPIC
from perdure.testing.ports import ScriptedPorts
from perdure.testing.sessions import Scenario, generate
from perdure.testing.talk import Talk, output, play

PROFILE = with_window(lookup("claude-sonnet-4-6"), 200_000)

DIGEST = """
from hashlib import sha256
from perdure.kernel.context import Engine, Settings, with_window
from perdure.kernel.messages import encode_json
from perdure.kernel.models import lookup
from perdure.kernel.wire import ANTHROPIC
from perdure.testing.ports import ScriptedPorts
from perdure.testing.sessions import Scenario, generate
from perdure.testing.talk import play

session = generate(5, Scenario(requests=30, turns=6, tokens=40_000))
settings = Settings(clear_inputs=True, entry_limit=800, batch_floor=300)
engine = Engine(with_window(lookup("claude-sonnet-4-6"), 16_000), settings)
digest = sha256()
for sent in play(engine, session.transcript, ScriptedPorts(["good", "absent"])):
    digest.update(encode_json(ANTHROPIC.encode_messages(sent.messages)))
print(digest.hexdigest(), len(engine.ledger))
"""


def uncounted(seed: int, scenario: Scenario) -> Transcript:
    """A session without the counts of requests that were never edited, which an engine would rightly believe."""
    return Transcript(message.counted(None) for message in generate(seed, scenario).transcript)


def encoded(sent: Projection) -> list[bytes]:
    return [encode_json(item) for item in ANTHROPIC.encode_messages(sent.messages)]


def prefix_changes(sent: list[Projection]) -> int:
    """How many requests do not begin with all of the one before."""
    bodies = [encoded(one) for one in sent]
    return sum(after[: len(before)] != before for before, after in itertools.pairwise(bodies))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_prefix_moves_only_a_few_times_in_a_long_session(seed: int) -> None:
    transcript = uncounted(seed, Scenario(requests=100, turns=8, tokens=200_000, pauses=0.0))

    sent = list(play(Engine(PROFILE), transcript, ScriptedPorts()))

    assert 1 <= prefix_changes(sent) <= 8


def test_each_change_of_the_prefix_has_its_edit_in_the_ledger() -> None:
    transcript = uncounted(3, Scenario(requests=60, turns=8, tokens=100_000))

    sent = list(play(Engine(with_window(PROFILE, 64_000)), transcript, ScriptedPorts()))

    for before, after in itertools.pairwise(sent):
        moved = encoded(after)[: len(before.messages)] != encoded(before)
        assert moved == any(edit.reason.why != "entry" for edit in after.edits if type(edit).__name__ != "Attempt")


def test_nothing_slides_an_engine_asked_twice_sends_the_same_bytes() -> None:
    talk = Talk(start=1_790_000_000.0).typed("go on").rounds(60, 9_000)
    engine, ports = Engine(PROFILE), ScriptedPorts()

    first = drive(engine.project(talk.transcript, talk.now), ports)
    later = drive(engine.project(talk.transcript, talk.now + 60 if talk.now else None), ports)

    assert encoded(first) == encoded(later)
    assert () == later.edits


def test_reduction_at_entry_moves_no_byte_that_was_sent() -> None:
    talk = Talk().typed("go on")
    for number in range(12):
        talk.called().answered(output(number, 20_000))

    sent = list(play(Engine(PROFILE), talk.transcript, ScriptedPorts()))

    assert 12 == sum(edit.reason.why == "entry" for one in sent for edit in one.edits)
    assert 0 == prefix_changes(sent)


def test_a_restart_in_the_middle_sends_the_same_bytes_and_plans_the_same_edits() -> None:
    transcript = uncounted(4, Scenario(requests=40, turns=8, tokens=80_000))
    profile = with_window(PROFILE, 64_000)
    whole = Engine(profile)
    half = Transcript(transcript[: len(transcript) // 2])
    list(play(whole, half, ScriptedPorts()))

    anew = Engine(profile, ledger=Ledger(whole.ledger))
    ports, others = ScriptedPorts(), ScriptedPorts()
    for place in range(len(half), len(transcript) + 1):
        shown = Transcript(transcript[:place])
        if shown[-1].role == "assistant":
            continue
        now = shown[-1].time
        assert encoded(drive(whole.project(shown, now), ports)) == encoded(drive(anew.project(shown, now), others))
    assert [edit.id for edit in whole.ledger] == [edit.id for edit in anew.ledger]


def test_no_order_of_keys_or_sets_reaches_the_bytes() -> None:
    seen = {digest_under(seed) for seed in ("0", "1", "2")}

    assert 1 == len(seen)


def digest_under(seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_digest_covers_edits_of_all_kinds() -> None:
    transcript = uncounted(5, Scenario(requests=30, turns=6, tokens=40_000))
    engine = Engine(with_window(PROFILE, 16_000), Settings(clear_inputs=True, entry_limit=800, batch_floor=300))

    list(play(engine, transcript, ScriptedPorts(["good", "absent"])))

    assert {"ReduceOutput", "ClearToolResult", "Checkpoint"} <= {type(edit).__name__ for edit in engine.ledger}


def test_clearing_keeps_the_same_placeholder_for_the_same_result_for_ever() -> None:
    talk = Talk().typed("go on").rounds(60, 9_000)
    engine, ports = Engine(PROFILE, Settings(fold_growth=None)), ScriptedPorts()
    first = {message.id: message for message in drive(engine.project(talk.transcript, None), ports).messages}
    cleared = [edit.message_id for edit in engine.ledger if isinstance(edit, ClearToolResult)]

    talk.rounds(60, 9_000)
    second = {message.id: message for message in drive(engine.project(talk.transcript, None), ports).messages}

    assert cleared
    assert [first[name] for name in cleared] == [second[name] for name in cleared]
