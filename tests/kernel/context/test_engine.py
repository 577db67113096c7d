"""When the engine acts, and what it says about it."""

import pytest

from perdure.kernel.context import (
    Checkpoint,
    ClearToolResult,
    Commit,
    Engine,
    ReduceOutput,
    SessionMemory,
    Settings,
    TrimText,
    drive,
    with_window,
)
from perdure.kernel.errors import RevertRefused
from perdure.kernel.messages import Message, Text, text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, output, play

MODEL = lookup("claude-sonnet-4-6")
PROFILE = with_window(MODEL, 200_000)
START = 1_790_000_000.0
LIGHT = Settings(fold_growth=None)
DRY = Settings(fold_growth=None, low_water=0.01)


def test_light_rungs_run_at_the_clear_point_down_to_half_of_the_history() -> None:
    talk = Talk().typed("go on").rounds(60, 9_000)

    sent = list(play(Engine(PROFILE, LIGHT, overhead=20_000), talk.transcript, ScriptedPorts()))
    first = next(one for one in sent if one.changed)

    assert "clear_point" == first.why
    assert 80_000 < first.tokens_before + 9_000
    assert 40_000 <= first.tokens_after <= 55_000


def test_a_batch_under_the_floor_does_not_happen() -> None:
    talk = Talk().typed("go on" + LINE * 3_200).said("read").rounds(8, 3_000)

    sent = drive(Engine(PROFILE, LIGHT).project(talk.transcript, None), ScriptedPorts())

    assert (False, ("no_progress",)) == (sent.changed, sent.notes)


def test_a_cold_cache_clears_all_but_the_five_newest() -> None:
    talk = Talk(start=START).typed("go on").rounds(15, 4_500).said("well").wait(3_600).typed("back again")

    sent = drive(Engine(PROFILE).project(talk.transcript, talk.now), ScriptedPorts())

    assert ("cold", 10) == (sent.why, len(sent.edits))
    assert sent.price is not None
    assert 0.0 == sent.price.cost


def test_a_warm_cache_is_left_alone() -> None:
    talk = Talk(start=START).typed("go on").rounds(15, 4_500).said("well").wait(200).typed("back again")

    assert not drive(Engine(PROFILE).project(talk.transcript, talk.now), ScriptedPorts()).changed


def test_without_times_a_cache_is_taken_to_be_warm() -> None:
    talk = Talk().typed("go on").rounds(15, 4_500).said("well").typed("back again")

    assert not drive(Engine(PROFILE).project(talk.transcript, START), ScriptedPorts()).changed


def test_a_repeated_call_counts_once_among_the_five() -> None:
    talk = Talk().typed("go on").rounds(20, 9_000)
    for number in range(6):
        talk.called({"path": "same.py"}, tool="read").answered(output(number, 9_000))
    talk.said("well").typed("go on")

    sent = drive(
        Engine(PROFILE, Settings(fold_growth=None, low_water=0.01)).project(talk.transcript, None), ScriptedPorts()
    )
    cleared = {edit.tool_use_id for edit in sent.edits if isinstance(edit, ClearToolResult)}

    assert {f"call_{number}" for number in range(26)} - cleared == {f"call_{number}" for number in (16, 17, 18, 19, 25)}


def test_small_results_and_protected_tools_stay() -> None:
    talk = Talk().typed("go on").rounds(4, 500).rounds(3, 9_000, tool="recall").rounds(30, 9_000)

    sent = drive(
        Engine(PROFILE, Settings(fold_growth=None, low_water=0.01)).project(talk.transcript, None), ScriptedPorts()
    )
    cleared = {edit.tool_use_id for edit in sent.edits if isinstance(edit, ClearToolResult)}

    assert cleared
    assert not cleared & {f"call_{number}" for number in range(7)}


def test_long_texts_of_the_model_keep_1200_characters_of_their_head_and_800_of_their_tail() -> None:
    talk = Talk().typed(LINE * 100)
    for _ in range(60):
        talk.said("A" * 1_200 + "x" * 3_000 + "Z" * 800).typed("more")

    sent = drive(Engine(PROFILE, LIGHT).project(talk.transcript, None), ScriptedPorts())
    trims = [edit for edit in sent.edits if isinstance(edit, TrimText)]
    head, note, tail = trims[0].content.split("\n")

    assert ("A" * 1_200, "Z" * 800) == (head, tail)
    assert note.startswith("[3000 characters trimmed]")
    assert talk.messages[-4:] == list(sent.messages[-4:])
    assert talk.messages[0] == sent.messages[0]


def test_a_checkpoint_of_project_is_provisional_until_it_is_committed() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)
    engine, ports = Engine(PROFILE, Settings(clear_growth=None)), ScriptedPorts()

    drive(engine.project(talk.transcript, None), ports)
    before = engine.ledger.in_force.committed
    committed = drive(engine.compact(talk.transcript, "", None), ports)

    assert before is None
    assert [Commit] == [type(edit) for edit in committed.edits]
    assert engine.ledger.in_force.checkpoint is engine.ledger.in_force.committed


def test_compact_makes_a_committed_checkpoint_and_passes_on_what_the_user_asked_to_mind() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)
    engine, ports = Engine(PROFILE), ScriptedPorts()

    sent = drive(engine.compact(talk.transcript, "mind the database schema", None), ports)

    assert "mind the database schema" in ports.asks[0].instruction
    assert engine.ledger.in_force.committed is not None
    assert (sent.compacted_count, len(talk.messages)) == (sent.compacted_count, sent.compacted_count + sent.kept_count)


def test_session_memory_takes_the_place_of_a_model_where_it_covers_the_cut() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)
    memory = SessionMemory(text="## Goal\n- Rename the ledger module.", covers_until=talk.messages[-3].id)
    ports = ScriptedPorts(memory=memory)

    sent = drive(Engine(PROFILE, Settings(clear_growth=None)).project(talk.transcript, None), ports)

    assert ("session_memory", []) == (sent.strategy, ports.asks)
    assert "Rename the ledger module." in text_of(sent.messages[0].content)


@pytest.mark.parametrize(
    "memory",
    [
        None,
        SessionMemory(text="", covers_until="m79"),
        SessionMemory(text="## Goal\n- to fill in", covers_until="m79", template="## Goal\n- to fill in"),
        SessionMemory(text="## Goal\n- Rename it.", covers_until="m4"),
        SessionMemory(text="## Goal\n- Rename it.", covers_until="of another session"),
    ],
)
def test_session_memory_that_is_missing_empty_untouched_or_too_old_is_not_applied(memory: SessionMemory | None) -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)
    engine = Engine(PROFILE, Settings(clear_growth=None))

    sent = drive(engine.project(talk.transcript, None), ScriptedPorts(memory=memory))

    assert "full_summary" == sent.strategy


def test_session_memory_is_capped_at_the_end_of_a_line() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)
    lines = "\n".join(f"- point {number} of the plan" for number in range(2_000))
    ports = ScriptedPorts(memory=SessionMemory(text=f"## Goal\n{lines}", covers_until="m80"))
    engine = Engine(PROFILE, Settings(clear_growth=None, session_memory_cap=300))

    drive(engine.project(talk.transcript, None), ports)
    checkpoint = engine.ledger.in_force.checkpoint

    assert isinstance(checkpoint, Checkpoint)
    assert all(goal.endswith("of the plan") for goal in checkpoint.document.narrative.goal)
    assert 5 <= len(checkpoint.document.narrative.goal) <= 13


def test_a_reverted_edit_restores_the_view_exactly() -> None:
    talk = Talk().typed("go on").called().answered(output(1, 60_000))
    engine, ports = Engine(PROFILE), ScriptedPorts()
    (edit,) = drive(engine.project(talk.transcript, None), ports).edits

    back = drive(engine.revert(talk.transcript, edit.id, None), ports)
    again = drive(engine.project(talk.transcript, None), ports)

    assert talk.messages == list(back.messages)
    assert talk.messages == list(again.messages)


def test_a_revert_is_refused_where_the_view_would_not_fit_or_there_is_nothing_to_take_back() -> None:
    talk = Talk().typed("go on").rounds(30, 3_000)
    engine, ports = Engine(with_window(MODEL, 32_000), Settings(keep_results=1_000)), ScriptedPorts()
    drive(engine.project(talk.transcript, None), ports)
    checkpoint = next(edit for edit in engine.ledger if isinstance(edit, Checkpoint))

    for name, why in ((checkpoint.id, "would have"), ("e99", "no edit")):
        with pytest.raises(RevertRefused, match=why):
            drive(engine.revert(talk.transcript, name, None), ports)


def test_answers_of_recall_are_not_reduced_again() -> None:
    talk = Talk().typed("go on").called({"handle": "h1"}, tool="recall").answered(output(1, 60_000))

    sent = drive(Engine(PROFILE).project(talk.transcript, None), ScriptedPorts())

    assert talk.messages == list(sent.messages)


def test_outputs_are_reduced_also_where_the_window_is_unknown_and_the_host_hears_of_it() -> None:
    talk = Talk().typed("go on").called().answered(output(1, 60_000))
    engine, ports = Engine(lookup("an-unknown-model")), ScriptedPorts()

    sent = drive(engine.project(talk.transcript, None), ports)

    assert [ReduceOutput] == [type(edit) for edit in sent.edits]
    assert ["entry"] == [event.reason for event in ports.events]
    assert "projected" == engine.snapshot(talk.transcript, None).scope


def test_the_snapshot_counts_what_is_in_force() -> None:
    talk = Talk(start=START).typed("go on").rounds(40, 9_000).called().answered(output(1, 60_000))
    engine, ports = Engine(PROFILE, LIGHT), ScriptedPorts()
    list(play(engine, talk.transcript, ports))

    seen = engine.snapshot(talk.transcript, (talk.now or 0.0) + 100)

    assert (82 + 1, 1) == (seen.transcript_messages, seen.reduced_outputs)
    assert seen.cleared_results > 0
    assert seen.warm_for is not None
    assert 150 < seen.warm_for < 300


def test_a_price_says_what_a_batch_costs_and_when_it_has_paid() -> None:
    talk = Talk().typed("go on").rounds(60, 9_000)

    sent = list(play(Engine(PROFILE, LIGHT), talk.transcript, ScriptedPorts()))
    price = next(one.price for one in sent if one.why == "clear_point")

    assert price is not None
    assert price.payback is not None
    assert price.cost > 0
    assert price.payback == pytest.approx(price.cost / price.saving)


def test_what_is_told_again_under_an_id_of_the_view_is_passed_over() -> None:
    talk = Talk().typed("go on").rounds(40, 2_000)
    note = Message(id="note", role="user", content=(Text(text="A skill."),), provenance="harness")
    ports = ScriptedPorts()
    ports.after = (talk.transcript[-1], note, note)

    sent = drive(Engine(PROFILE).compact(talk.transcript, "", None), ports)

    opening = sent.view.messages[1 : sent.view.tail]
    assert ("note",) == tuple(message.id for message in opening)


def test_after_an_overflow_a_quarter_of_the_history_is_gone_also_where_the_estimate_saw_no_need() -> None:
    # 24,000 tokens, of which a checkpoint alone would leave 20,000 as its tail.
    talk = Talk().typed("go on").rounds(24, 3_000)
    engine, ports = Engine(PROFILE, Settings(keep_tail=20_000)), ScriptedPorts(["absent"])
    before = drive(engine.project(talk.transcript, None), ports).usage.upper

    after = drive(engine.recover_overflow(talk.transcript, "prompt is too long", None), ports).usage.upper

    assert after <= before * 3 // 4


def test_looking_at_an_empty_conversation_does_not_settle_its_frontier() -> None:
    talk, seen, unseen = Talk(), Engine(PROFILE), Engine(PROFILE)
    seen.usage(talk.transcript)
    talk.typed("go on")
    seen.usage(talk.transcript)
    for _ in range(3):
        after = [drive(one.project(talk.transcript, None), ScriptedPorts()).frontier for one in (seen, unseen)]
        talk.rounds(1, 500)

        assert [1, 1] == after
