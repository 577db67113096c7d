"""Broken input is put right where everybody can see it, and valid input is left alone."""

from hypothesis import given

from perdure.kernel.messages import (
    Block,
    Image,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
    text_of,
    typed_texts,
)
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import UNKNOWN_OUTCOME, check_messages, repair
from perdure.testing.transcripts import broken_transcripts, transcripts

PROFILE = lookup("claude-opus-5")


def user(name: str, *blocks: Block, provenance: Provenance = "user") -> Message:
    return Message(id=name, role="user", content=blocks, provenance=provenance)


def assistant(name: str, *blocks: Block) -> Message:
    return Message(id=name, role="assistant", content=blocks, provenance="assistant")


def call(name: str) -> ToolUse:
    return ToolUse(id=name, name="bash", input={})


def result(name: str, text: str = "text") -> ToolResult:
    return ToolResult(tool_use_id=name, content=text)


def typed(messages: tuple[Message, ...]) -> set[str]:
    return {text.text for message in messages for text in typed_texts(message)}


HELLO = user("hello", Text(text="hello"))
OK = Text(text="ok")


@given(transcripts())
def test_valid_input_comes_back_identical(transcript: Transcript) -> None:
    repaired = repair(transcript)

    assert () == repaired.repairs
    assert all(one is other for one, other in zip(transcript, repaired.messages, strict=True))


@given(broken_transcripts())
def test_what_was_repaired_is_valid_and_has_ids_of_its_own(broken: tuple[Message, ...]) -> None:
    repaired = repair(broken)

    # Who speaks first is for whoever puts the history together: there is nothing to repair it from.
    faults = check_messages(repaired.messages, PROFILE, "anthropic")

    assert [] == [fault for fault in faults if fault.kind != "first_not_user"]
    assert len(repaired.messages) == len(Transcript(repaired.messages))


@given(broken_transcripts())
def test_a_second_repair_finds_nothing(broken: tuple[Message, ...]) -> None:
    once = repair(broken)

    assert (once.messages, ()) == (repair(once.messages).messages, repair(once.messages).repairs)


@given(broken_transcripts())
def test_no_text_is_lost_by_a_repair(broken: tuple[Message, ...]) -> None:
    kept = "\n".join(text_of(message.content) for message in repair(broken).messages)

    for message in broken:
        for block in message.content:
            assert text_of((block,)).strip() in kept


@given(broken_transcripts())
def test_a_repair_never_makes_words_the_users(broken: tuple[Message, ...]) -> None:
    repaired = repair(broken).messages

    assert typed(repaired) <= typed(broken)


def test_an_unanswered_call_gets_a_result_that_says_that_nobody_knows() -> None:
    repaired = repair([HELLO, assistant("a", call("x"), call("y")), user("r", result("x")), user("n", OK)])

    assert (
        user("a-results", ToolResult(tool_use_id="y", content=UNKNOWN_OUTCOME, is_error=True), provenance="tool")
        == (repaired.messages[2])
    )
    assert [("call_answered", "a")] == [(done.kind, done.message_id) for done in repaired.repairs]


def test_an_open_round_at_the_very_end_stays_open() -> None:
    messages = (HELLO, assistant("a", call("x"), call("y")), user("r", result("x"), provenance="tool"))

    assert messages == repair(messages).messages


def test_an_orphan_becomes_text_of_a_tool_and_keeps_its_pictures() -> None:
    picture = Image(source={"type": "url", "url": "https://pictures.example/1.png"})
    orphan = ToolResult(tool_use_id="gone", content=(Text(text="found 3"), picture))

    repaired = repair([HELLO, assistant("a", OK), user("r", orphan, OK)])

    told = Text(text="[Result of the call 'gone', which is not open here]\nfound 3")
    assert (
        HELLO,
        assistant("a", OK),
        user("r", OK),
        user("r-told", told, picture, provenance="tool"),
    ) == repaired.messages


def test_a_result_behind_other_content_moves_to_the_front() -> None:
    repaired = repair([HELLO, assistant("a", call("x")), user("r", OK, result("x"))])

    assert (HELLO, assistant("a", call("x")), user("a-results", result("x"), provenance="tool"), user("r", OK)) == (
        repaired.messages
    )
    assert ["result_moved"] == [done.kind for done in repaired.repairs]


def test_a_second_call_of_the_same_id_is_renamed_together_with_its_result() -> None:
    round_of_x = (assistant("a", call("x")), user("r", result("x"), provenance="tool"))
    again = (assistant("b", call("x")), user("s", result("x", "later"), provenance="tool"))

    repaired = repair([HELLO, *round_of_x, *again])

    assert (
        assistant("b", call("x-2")),
        user("s", result("x-2", "later"), provenance="tool"),
    ) == repaired.messages[3:]


def test_two_calls_of_one_id_in_one_message_keep_their_results_in_order() -> None:
    repaired = repair(
        [HELLO, assistant("a", call("x"), call("x")), user("r", result("x", "1"), result("x", "2"), provenance="tool")]
    )

    assert (
        assistant("a", call("x"), call("x-2")),
        user("r", result("x", "1"), result("x-2", "2"), provenance="tool"),
    ) == repaired.messages[1:]


def test_empty_text_and_what_it_leaves_empty_go() -> None:
    repaired = repair([HELLO, assistant("a", Text(text=" ")), user("b", Text(text=""), OK)])

    assert (HELLO, user("b", OK)) == repaired.messages
    assert ["empty_text_dropped", "empty_message_dropped", "empty_text_dropped"] == [
        done.kind for done in repaired.repairs
    ]


def test_an_answer_that_broke_off_in_its_thinking_loses_the_stump() -> None:
    stump = assistant("a", Thinking(thinking="so", signature="s"))

    repaired = repair([HELLO, stump, user("b", OK)])

    assert (HELLO, user("b", OK)) == repaired.messages
    assert [("thinking_dropped", "a")] == [(done.kind, done.message_id) for done in repaired.repairs]


def test_a_message_id_that_came_before_is_changed() -> None:
    repaired = repair([HELLO, assistant("a", OK), HELLO])

    assert ["hello", "a", "hello-2"] == [message.id for message in repaired.messages]
