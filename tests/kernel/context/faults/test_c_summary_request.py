"""The request to summarise that is itself too long, or leaves no room for its answer."""

from itertools import pairwise

import pytest

from perdure.kernel.context import Attempt, Checkpoint, Engine, Projection, Settings, Summarize, drive, with_window
from perdure.kernel.messages import Image, Message, ToolResult, ToolUse, weigh_blocks, weigh_text
from perdure.kernel.models import lookup
from perdure.kernel.tokens import text_tokens
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, output, play

MODEL = lookup("claude-sonnet-4-6")
PROFILE = with_window(MODEL, 200_000)
BARE = Settings(entry_limit=None, clear_growth=None)


def history(rounds: int, characters: int = 9_000) -> Talk:
    return Talk().typed("go on").rounds(rounds, characters)


def compacted(talk: Talk, ports: ScriptedPorts, engine: Engine | None = None) -> Projection:
    return drive((engine or Engine(PROFILE, BARE)).compact(talk.transcript, "", None), ports)


def size(ask: Summarize) -> float:
    messages = sum(text_tokens(weigh_blocks(message.content), MODEL) for message in ask.messages)
    return messages + text_tokens(weigh_text(ask.instruction), MODEL)


def test_the_request_extends_the_conversation_where_that_fits() -> None:
    talk, ports = history(30), ScriptedPorts()

    compacted(talk, ports)

    (ask,) = ports.asks
    assert ask.extends
    assert talk.messages[: len(ask.messages)] == list(ask.messages)


def test_where_it_is_too_long_the_oldest_fifth_is_dropped_three_times_and_then_the_next_rung_runs() -> None:
    ports = ScriptedPorts(["too_long"])

    sent = compacted(history(30), ports)
    transcripts = [ask for ask in ports.asks if not ask.extends]
    calls = [ask.instruction.count("[call ") for ask in transcripts]

    assert sent.strategy == "extractive"
    assert 4 == len(transcripts)
    assert sorted(set(calls), reverse=True) == calls
    assert [True] * 3 == [after <= before * 0.9 for before, after in pairwise(calls)]


def test_a_shortened_request_that_is_answered_gives_the_summary() -> None:
    ports = ScriptedPorts(["too_long", "too_long", "good"])

    sent = compacted(history(30), ports)

    assert (3, "full_summary") == (len(ports.asks), sent.strategy)


def test_being_too_long_counts_as_one_failure_however_often_it_was_tried() -> None:
    engine = Engine(PROFILE, BARE)

    compacted(history(30), ScriptedPorts(["too_long"]), engine)

    assert ["model_failed"] == [edit.outcome for edit in engine.ledger if isinstance(edit, Attempt)]


@pytest.mark.parametrize("window", [4_000, 8_000, 32_000, 200_000])
def test_a_history_far_larger_than_the_window_is_never_sent_whole_to_the_summarizer(window: int) -> None:
    talk = history(300, 6_000)
    ports = ScriptedPorts()

    sent = compacted(talk, ports, Engine(with_window(MODEL, window), BARE))

    assert ports.asks
    assert all(size(ask) + ask.max_tokens <= window for ask in ports.asks)
    assert sent.usage.upper <= window


@pytest.mark.parametrize("window", [1_000, 4_000, 16_000, 32_000])
def test_the_answer_asked_for_leaves_most_of_a_small_window_to_the_request(window: int) -> None:
    ports = ScriptedPorts()

    list(play(Engine(with_window(MODEL, window), BARE), history(12, window).transcript, ports))

    assert all(1 <= ask.max_tokens <= window // 4 for ask in ports.asks)


def test_the_reserve_for_the_answer_never_takes_more_than_half_of_the_window() -> None:
    for window in (4_000, 8_000, 30_000):
        limits = Engine(with_window(MODEL, window)).usage(Talk().typed("hi").transcript).limits

        assert limits is not None
        assert limits.reserve <= window // 2


def test_a_transcript_request_carries_no_tool_blocks_that_would_need_the_tools() -> None:
    ports = ScriptedPorts(["too_long", "good"])

    compacted(history(30), ports)

    assert ((), False) == (ports.asks[-1].messages, ports.asks[-1].extends)


def test_one_folded_message_that_no_request_can_hold_does_not_keep_the_session_from_going_on() -> None:
    talk = Talk().typed(LINE * 14_000).said("I see").rounds(6, 9_000)
    engine, ports = Engine(PROFILE, BARE), ScriptedPorts(["too_long"])

    sent = drive(engine.project(talk.transcript, None), ports)

    assert sent.usage.upper <= 180_000


def test_an_overflow_that_the_estimate_did_not_see_is_recovered_with_a_smaller_request() -> None:
    talk = history(8)
    engine, ports = Engine(PROFILE), ScriptedPorts(["absent"])
    before = drive(engine.project(talk.transcript, None), ports)

    after = drive(engine.recover_overflow(talk.transcript, "prompt is too long", None), ports)

    assert after.usage.tokens < before.usage.tokens * 0.9
    assert after.changed


def test_recovery_of_a_session_in_one_giant_round_makes_its_results_smaller() -> None:
    talk = Talk().typed("look").called({"path": "a"}, {"path": "b"}).answered(output(1, 90_000), output(2, 90_000))
    engine = Engine(PROFILE, BARE)

    after = drive(engine.recover_overflow(talk.transcript, "prompt is too long", None), ScriptedPorts())

    assert after.changed
    assert talk.messages[0] == after.messages[0]
    assert not any(isinstance(edit, Checkpoint) for edit in after.edits)


def test_the_summary_of_an_image_session_carries_no_picture_as_text() -> None:
    from_base64 = "iVBORw0KGgo" * 2_000
    ports = ScriptedPorts(["too_long", "good"])
    talk = history(20)
    talk.messages[1:1] = with_picture(from_base64)

    compacted(talk, ports)

    assert from_base64 not in ports.asks[-1].instruction
    assert "[image" in ports.asks[-1].instruction


def with_picture(data: str) -> list[Message]:
    image = Image(source={"type": "base64", "media_type": "image/png", "data": data})
    return [
        Message(
            id="shot", role="assistant", content=(ToolUse(id="see", name="look", input={}),), provenance="assistant"
        ),
        Message(id="seen", role="user", content=(ToolResult(tool_use_id="see", content=(image,)),), provenance="tool"),
    ]
