"""Checks that come too late: at the end of a turn alone, or not at all."""

from perdure.kernel.context import Checkpoint, Engine, with_window
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk, output, play

SMALL = with_window(lookup("claude-sonnet-4-6"), 32_000)


def test_a_tool_loop_of_one_turn_is_kept_inside_the_window_at_every_call() -> None:
    talk = Talk().typed("port everything").rounds(120, 3_000)
    engine = Engine(SMALL)

    sent = list(play(engine, talk.transcript, ScriptedPorts(["absent"])))

    assert all(one.usage.upper <= 16_000 for one in sent)
    assert any(isinstance(edit, Checkpoint) for edit in engine.ledger)


def test_outputs_are_cleared_in_the_middle_of_a_job_of_one_turn() -> None:
    talk = Talk().typed("port everything").rounds(40, 9_000)
    engine = Engine(with_window(SMALL, 200_000))

    sent = list(play(engine, talk.transcript, ScriptedPorts()))
    first = next(place for place, one in enumerate(sent) if one.why == "clear_point")

    assert first < len(sent) - 1


def test_a_subagent_is_kept_inside_its_window_by_an_engine_of_its_own() -> None:
    leader, sub = Engine(SMALL), Engine(SMALL, overhead=2_000)
    task = Talk().typed("find every caller").rounds(120, 3_000)

    sent = list(play(sub, task.transcript, ScriptedPorts(["absent"])))

    assert all(one.usage.upper <= 16_000 for one in sent)
    assert (0, True) == (len(leader.ledger), len(sub.ledger) > 0)


def test_an_output_is_reduced_before_it_is_sent_for_the_first_time() -> None:
    talk = Talk().typed("port everything").called().answered(output(1, 60_000))

    *_, sent = play(Engine(with_window(SMALL, 200_000)), talk.transcript, ScriptedPorts())

    assert sent.usage.tokens < 4_000
    assert ["entry"] == [edit.reason.why for edit in sent.edits]
