"""Calls and their results: parallel, interleaved, pending, orphaned."""

import pytest

from perdure.kernel.context import Checkpoint, Engine, Projection, Settings, drive, with_window
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse, Transcript
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import check_messages
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk, output, play

MODEL = lookup("claude-sonnet-4-6")
SMALL = with_window(MODEL, 32_000)
FOLDING = Settings(keep_results=1_000)
"""Nothing can be cleared, so that what does not fit is folded."""


def assert_valid(sent: list[Projection]) -> None:
    for one in sent:
        assert () == check_messages(one.messages, MODEL, "anthropic")


def folds(engine: Engine) -> list[Checkpoint]:
    return [edit for edit in engine.ledger if isinstance(edit, Checkpoint)]


def test_parallel_calls_are_folded_or_kept_together() -> None:
    talk = Talk().typed("go on")
    for number in range(30):
        talk.called(*({"n": number, "part": part} for part in range(4)))
        talk.answered(*(output(number * 4 + part, 3_000) for part in range(4)))
    engine = Engine(SMALL, FOLDING)

    sent = list(play(engine, talk.transcript, ScriptedPorts(["absent"])))

    assert folds(engine)
    assert_valid(sent)


def test_text_between_calls_and_results_that_come_one_by_one_are_no_place_to_cut() -> None:
    talk = Talk().typed("go on")
    for number in range(60):
        first, second = f"call_{2 * number}", f"call_{2 * number + 1}"
        talk.add("assistant", (Text(text="a"), use(first), Text(text="and b"), use(second)))
        talk.add("tool", (ToolResult(tool_use_id=second, content=output(number, 1_500)),))
        talk.add("tool", (ToolResult(tool_use_id=first, content=output(-number, 1_500)),))
    engine = Engine(SMALL, FOLDING)

    sent = list(play(engine, talk.transcript, ScriptedPorts(["absent"])))

    assert folds(engine)
    assert_valid(sent)


@pytest.mark.parametrize("where", [0, 5, 25])
def test_an_orphan_call_does_not_keep_the_rest_of_the_session_from_being_folded(where: int) -> None:
    talk = Talk().typed("go on").rounds(where, 3_000)
    talk.called({"lost": True}).typed("it hung, go on without it").rounds(40, 3_000)
    engine = Engine(SMALL, FOLDING)

    list(play(engine, talk.transcript, ScriptedPorts(["absent"])))
    newest = folds(engine)[-1]

    assert (talk.transcript.index_of(newest.covers_until) or 0) > where + 20


def test_a_pending_call_is_not_compacted_away() -> None:
    talk = Talk().typed("go on").rounds(40, 3_000).called({"confirm": "delete the table?"}, tool="ask_user")
    engine = Engine(SMALL, FOLDING)

    sent = drive(engine.compact(talk.transcript, "", None), ScriptedPorts())

    assert folds(engine)
    assert talk.messages[-1] == sent.messages[-1]


def test_a_session_can_be_compacted_while_a_round_is_half_answered_and_goes_on_with_the_other_half() -> None:
    talk = Talk().typed("go on").rounds(40, 3_000).called({"a": 1}, {"b": 2})
    half = ToolResult(tool_use_id="call_40", content="first half")
    talk.add("tool", (half,))
    engine, ports = Engine(SMALL, FOLDING), ScriptedPorts()

    drive(engine.compact(talk.transcript, "", None), ports)
    talk.add("tool", (ToolResult(tool_use_id="call_41", content="second half"),))
    sent = drive(engine.project(talk.transcript, None), ports)

    assert "first half" in str(sent.messages)
    assert "second half" in str(sent.messages)
    assert_valid([sent])


def test_results_that_are_stored_after_a_compaction_find_their_call() -> None:
    talk = Talk().typed("go on").rounds(40, 3_000).called({"a": 1})
    engine, ports = Engine(SMALL, FOLDING), ScriptedPorts()

    drive(engine.compact(talk.transcript, "", None), ports)
    talk.answered("at last")
    sent = drive(engine.project(talk.transcript, None), ports)

    assert ["bash"] == [use.name for use in sent.messages[-2].tool_uses]
    assert_valid([sent])


def test_ids_that_a_server_gives_twice_neither_break_pairs_nor_keep_the_view_from_fitting() -> None:
    talk = Talk().typed("go on")
    for number in range(60):
        talk.add("assistant", (ToolUse(id="call_0", name="bash", input={"n": number}),))
        talk.add("tool", (ToolResult(tool_use_id="call_0", content=output(number, 3_000)),))
    engine = Engine(SMALL)

    sent = list(play(engine, talk.transcript, ScriptedPorts(["absent"])))

    assert folds(engine)
    assert all(one.usage.upper <= 16_000 for one in sent)
    for one in sent:
        calls = [use for message in one.messages for use in message.tool_uses]
        results = [result for message in one.messages for result in message.tool_results]
        assert len(calls) == len(results)


def test_no_cut_leaves_a_result_at_the_head_of_the_tail() -> None:
    talk = Talk().typed("go on").rounds(80, 2_500)

    for keep in (500, 1_000, 3_000, 9_000):
        engine = Engine(SMALL, Settings(keep_tail=keep))
        sent = drive(engine.compact(talk.transcript, "", None), ScriptedPorts(["absent"]))

        assert () == sent.messages[sent.view.tail].tool_results
        assert_valid([sent])


def test_clearing_keeps_the_result_block_in_its_place() -> None:
    talk = Talk().typed("go on").rounds(40, 9_000)

    sent = drive(Engine(with_window(MODEL, 200_000)).project(talk.transcript, None), ScriptedPorts())

    assert any(edit.reason.rung == "tool_result_microcompact" for edit in sent.edits)
    assert [ids(message) for message in talk.messages] == [ids(message) for message in sent.messages]


def ids(message: Message) -> list[str]:
    return [use.id for use in message.tool_uses] + [result.tool_use_id for result in message.tool_results]


def use(name: str) -> ToolUse:
    return ToolUse(id=name, name="bash", input={"of": name})


def test_a_transcript_that_is_nothing_but_an_open_round_is_left_alone() -> None:
    talk = Talk().typed("go on").called({"a": 1}, {"b": 2})

    sent = drive(Engine(SMALL).compact(Transcript(talk.messages), "", None), ScriptedPorts())

    assert talk.messages == list(sent.messages)
