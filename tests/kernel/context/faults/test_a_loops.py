"""Compaction that repeats, frees nothing, or eats what it was meant to make room for."""

import pytest

from perdure.kernel.context import (
    Attempt,
    Checkpoint,
    ClearToolResult,
    Engine,
    Projection,
    Settings,
    drive,
    limits_of,
    with_window,
)
from perdure.kernel.errors import Infeasible
from perdure.kernel.messages import Message, Text, Transcript, typed_texts
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, output, play

MODEL = lookup("claude-sonnet-4-6")
PROFILE = with_window(MODEL, 200_000)


def checkpoints(projections: list[Projection]) -> int:
    return sum(isinstance(edit, Checkpoint) for projection in projections for edit in projection.edits)


def test_a_long_session_is_not_compacted_at_each_call() -> None:
    talk = Talk().typed("make it faster").rounds(200, 12_000)

    sent = list(play(Engine(PROFILE), talk.transcript, ScriptedPorts()))

    assert checkpoints(sent) <= 10
    assert sum(one.changed and one.why != "entry" for one in sent) <= 20


@pytest.mark.parametrize("overhead", [150_000, 178_000, 181_000, 186_000])
def test_a_threshold_below_or_near_the_fixed_overhead_does_not_compact_from_the_first_message_on(
    overhead: int,
) -> None:
    talk = Talk().typed("hello").rounds(3, 600)

    sent = list(play(Engine(PROFILE, overhead=overhead), talk.transcript, ScriptedPorts()))

    assert [False] * len(sent) == [projection.changed for projection in sent]


def test_an_overhead_larger_than_the_window_is_an_error_with_numbers_and_compacts_nothing() -> None:
    engine = Engine(PROFILE, overhead=199_000)
    talk = Talk().typed("hello").rounds(2, 600)

    with pytest.raises(Infeasible) as caught:
        drive(engine.project(talk.transcript, None), ScriptedPorts())

    assert (199_000, 200_000) == (caught.value.overhead, caught.value.window)
    assert "199000" in str(caught.value)


def test_what_a_user_pastes_above_the_fold_point_is_read_before_it_is_folded() -> None:
    talk = Talk().typed(f"what is wrong here?\n{LINE * 4_200}")

    (sent,) = play(Engine(PROFILE), talk.transcript, ScriptedPorts())

    assert talk.messages == list(sent.messages)


def test_what_a_user_pastes_behind_a_long_history_makes_the_history_yield_and_not_the_paste() -> None:
    talk = Talk().typed("first task").rounds(12, 9_000).said("done").typed(f"and this?\n{LINE * 4_200}")

    *_, sent = play(Engine(PROFILE), talk.transcript, ScriptedPorts())

    assert talk.messages[-1] == sent.messages[-1]


def test_results_that_the_model_has_not_seen_are_neither_cleared_nor_folded_while_they_fit() -> None:
    outputs = [output(number, 12_000) for number in range(30)]
    talk = Talk().typed("look").called(*({"path": f"{number}.py"} for number in range(30))).answered(*outputs)
    ports = ScriptedPorts()

    *_, sent = play(Engine(PROFILE, Settings(entry_limit=None)), talk.transcript, ports)

    assert talk.messages == list(sent.messages)
    assert [] == ports.asks


def test_one_message_larger_than_the_threshold_is_shortened_with_a_handle_and_not_compacted_for_ever() -> None:
    engine, ports = Engine(PROFILE), ScriptedPorts()
    talk = Talk().typed(f"what is wrong here?\n{LINE * 12_000}")

    first = drive(engine.project(talk.transcript, None), ports)
    again = drive(engine.project(talk.transcript, None), ports)

    assert first.usage.upper <= (first.limits.threshold if first.limits else 0)
    assert "what is wrong here?" in str(first.messages)
    assert first.lost
    assert () == again.edits


def test_one_turn_larger_than_the_threshold_goes_on_and_keeps_the_request_that_began_it() -> None:
    talk = Talk().typed("rewrite the parser, and keep the grammar file as it is").rounds(150, 14_000)
    engine, ports = Engine(PROFILE), ScriptedPorts(["absent"])

    *_, sent = play(engine, talk.transcript, ports)

    assert "rewrite the parser, and keep the grammar file as it is" in str(sent.messages)
    assert sent.usage.upper <= 180_000


def test_a_rung_that_frees_too_little_is_dropped_once_and_left_alone_until_the_transcript_grew() -> None:
    huge_answers = Talk().typed("tell me everything")
    for number in range(60):
        huge_answers.said(f"chapter {number}\n{LINE * 5}").typed("more")
    engine = Engine(with_window(MODEL, 20_000), Settings(clear_growth=1_000, fold_growth=None))

    sent = list(play(engine, huge_answers.transcript, ScriptedPorts(["absent"])))
    idle = [
        edit
        for projection in sent
        for edit in projection.edits
        if isinstance(edit, Attempt) and edit.reason.rung == "tool_result_microcompact"
    ]

    assert 1 <= len(idle) <= 1 + sent[-1].usage.tokens // (20_000 // 10)


def test_what_is_told_again_behind_checkpoints_never_fills_the_view_to_the_next_one() -> None:
    ports = ScriptedPorts()
    ports.after = tuple(
        Message(id=f"r{number}", role="user", content=(Text(text=LINE * 400),), provenance="harness")
        for number in range(10)
    )
    talk = Talk().typed("go on").rounds(120, 11_000)

    sent = list(play(Engine(PROFILE, Settings(clear_growth=None)), talk.transcript, ports))

    assert checkpoints(sent) <= 15


def test_no_model_is_asked_to_summarise_a_few_words() -> None:
    outputs = [output(number, 12_000) for number in range(30)]
    talk = Talk().typed("look").called(*({"path": f"{number}.py"} for number in range(30))).answered(*outputs)
    ports = ScriptedPorts()

    list(play(Engine(with_window(MODEL, 120_000), Settings(entry_limit=None)), talk.transcript, ports))

    assert [] == ports.asks


def test_compacting_twice_in_a_row_changes_nothing_the_second_time() -> None:
    engine, ports = Engine(PROFILE), ScriptedPorts()
    talk = Talk().typed("go on").rounds(40, 9_000)

    drive(engine.compact(talk.transcript, "", None), ports)
    again = drive(engine.compact(talk.transcript, "", None), ports)

    assert ((), ("nothing_to_fold",)) == (again.edits, again.notes)


def test_a_switch_to_a_smaller_window_compacts_once_and_then_goes_on() -> None:
    talk = Talk().typed("go on").rounds(30, 9_000)
    engine, ports = Engine(PROFILE), ScriptedPorts(["absent"])
    list(play(engine, talk.transcript, ports))

    drive(engine.prefix_changed(talk.transcript, with_window(MODEL, 32_000), 1_000, None), ports)
    first = drive(engine.project(talk.transcript, None), ports)
    talk.rounds(1, 300)
    second = drive(engine.project(talk.transcript, None), ports)

    assert first.usage.upper <= 16_000 + 1
    assert (True, False) == (first.changed, second.changed)


@pytest.mark.parametrize("window", [4_000, 8_000, 16_000, 32_000, 128_000, 200_000, 1_000_000, 2_000_000])
def test_a_session_works_in_any_window_without_being_rewritten_more_than_at_each_third_call(window: int) -> None:
    talk = Talk().typed("go on")
    for number in range(20):
        talk.rounds(4, min(24_000, window // 12)).said("so far so good").typed(f"next: {number}")

    sent = list(play(Engine(with_window(MODEL, window)), talk.transcript, ScriptedPorts(["absent"])))

    assert all(one.limits is not None and one.usage.tokens <= one.limits.hard for one in sent)
    assert sum(one.changed and one.why != "entry" for one in sent) <= len(sent) / 3


def test_limits_leave_room_for_history_wherever_the_window_has_any() -> None:
    for window in (4_000, 32_000, 200_000, 2_000_000):
        for overhead in range(0, window * 15 // 16, window // 16):
            limits = limits_of(Settings(), with_window(MODEL, window), overhead)

            assert limits is not None
            assert limits.overhead < limits.threshold <= limits.hard


def test_what_is_cleared_is_not_what_the_running_request_needs() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)

    sent = list(play(Engine(PROFILE), talk.transcript, ScriptedPorts()))
    cleared = [edit for one in sent for edit in one.edits if isinstance(edit, ClearToolResult)]

    assert cleared
    assert all(edit.reason.at - index_of(talk.transcript, edit.message_id) > 2 for edit in cleared)


def index_of(transcript: Transcript, message_id: str) -> int:
    return next(place for place, message in enumerate(transcript) if message.id == message_id)


def test_the_user_message_of_the_running_turn_is_never_the_only_thing_folded_away() -> None:
    talk = Talk().typed("the one rule: no new dependencies")
    for number in range(30):
        talk.rounds(3, 4_000).said("ok").typed(f"step {number}")
    engine = Engine(with_window(MODEL, 32_000))

    *_, sent = play(engine, talk.transcript, ScriptedPorts(["absent"]))

    assert typed_texts(sent.messages[-1])
    assert talk.messages[-1] == sent.messages[-1]
