"""The summarizer's breaker and the progress guard."""

from perdure.kernel.context import Attempt, Engine, Ledger, Projection, Settings, drive, with_window
from perdure.kernel.models import lookup
from perdure.testing.ports import Behaviour, ScriptedPorts
from perdure.testing.talk import Talk

MODEL = with_window(lookup("claude-sonnet-4-6"), 64_000)


def compacts(engine: Engine, ports: ScriptedPorts, talk: Talk, times: int) -> list[Projection]:
    sent: list[Projection] = []
    for number in range(times):
        talk.rounds(12, 3_500).said("well").typed(f"go on {number}")
        sent.append(drive(engine.compact(talk.transcript, "", None), ports))
    return sent


def asks(script: list[Behaviour], times: int) -> tuple[Engine, ScriptedPorts, list[Projection]]:
    engine, ports = Engine(MODEL), ScriptedPorts(script)
    return engine, ports, compacts(engine, ports, Talk().typed("go on"), times)


def test_after_three_failures_the_model_is_left_alone_once_and_then_tried_again() -> None:
    _, ports, sent = asks(["failed"], 7)

    skipped = ["circuit_breaker" in one.notes for one in sent]
    assert [False, False, False, True, False, True, False] == skipped
    assert 5 == len(ports.asks)
    assert ["extractive"] * 7 == [one.strategy for one in sent]


def test_a_skip_is_told_to_the_host() -> None:
    _, ports, _ = asks(["failed"], 4)

    told = [event for event in ports.events if event.reason == "circuit_breaker"]
    assert [(None, False)] == [(event.strategy, event.changed) for event in told]


def test_a_skip_leaves_the_count_at_two() -> None:
    engine, _, _ = asks(["failed"], 4)

    assert ["model_failed"] * 3 + ["skipped"] == [e.outcome for e in engine.ledger if isinstance(e, Attempt)]


def test_only_a_success_of_the_model_clears_the_count() -> None:
    engine, ports = Engine(MODEL), ScriptedPorts(["failed", "failed", "absent", "failed", "good"])
    talk = Talk().typed("go on")

    sent = compacts(engine, ports, talk, 4)
    assert 3 == engine.snapshot(talk.transcript, None).breaker_failures
    sent += compacts(engine, ports, talk, 2)

    assert "circuit_breaker" in sent[4].notes
    assert "full_summary" == sent[5].strategy
    assert 0 == engine.snapshot(talk.transcript, None).breaker_failures


def test_a_restart_does_not_close_an_open_breaker() -> None:
    engine, ports = Engine(MODEL), ScriptedPorts(["failed"])
    talk = Talk().typed("go on")
    compacts(engine, ports, talk, 3)

    resumed = Engine(MODEL, ledger=Ledger(engine.ledger))
    (sent,) = compacts(resumed, ports, talk, 1)

    assert "circuit_breaker" in sent.notes


def test_a_rung_without_progress_rests_until_the_transcript_grew_by_a_tenth_of_the_window() -> None:
    engine, ports = Engine(MODEL, Settings(clear_growth=2_000, fold_growth=None)), ScriptedPorts()
    talk = Talk().typed("go on").rounds(20, 400)

    first = drive(engine.project(talk.transcript, None), ports)
    second = drive(engine.project(talk.rounds(10, 400).transcript, None), ports)
    later = drive(engine.project(talk.rounds(40, 500).transcript, None), ports)

    assert (("no_progress",), (), True) == (first.notes, second.notes, "no_progress" in later.notes)


def test_a_cold_cache_wakes_a_resting_rung_since_clearing_is_free_then() -> None:
    start = 1_790_000_000.0
    engine, ports = Engine(with_window(MODEL, 2_000_000), Settings(clear_growth=10_000)), ScriptedPorts()
    talk = Talk(start=start).typed("go on").rounds(12, 4_000)
    drive(engine.project(talk.transcript, talk.now), ports)
    talk.rounds(12, 9_000).said("well").wait(3_600).typed("back again")

    sent = drive(engine.project(talk.transcript, talk.now), ports)

    assert "cold" == sent.why
