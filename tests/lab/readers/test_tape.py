"""What a recording must be, whatever it was read from."""

from __future__ import annotations

from typing import Literal

from perdure.kernel.messages import Message, RedactedThinking, Text, Thinking, ToolResult, ToolUse, Usage, text_of
from perdure.lab.readers.format import Troubles
from perdure.lab.readers.tape import MISSING, Tape


def tape(dialect: Literal["anthropic", "chat"] = "anthropic") -> Tape:
    made = Tape(file="f", format="x", troubles=Troubles())
    made.dialect = dialect
    return made


def user(name: str, text: str, time: float | None = None) -> Message:
    return Message(id=name, role="user", content=(Text(text=text),), provenance="user", time=time)


def answer(name: str, *blocks: Text | Thinking | RedactedThinking | ToolUse, model: str | None = None) -> Message:
    return Message(id=name, role="assistant", content=blocks, provenance="assistant", model=model)


def call(name: str) -> ToolUse:
    return ToolUse(id=name, name="read", input={})


def test_a_request_is_made_at_the_time_of_the_newest_message_that_it_carries() -> None:
    made = tape()
    made.tell((user("a", "One", 5.0), user("b", "Two", 7.0), user("c", "Three")))
    made.answer(answer("d", Text(text="1")))
    made.answer(answer("e", Text(text="2")), time=9.0)

    assert [(3, 7.0), (4, 9.0)] == [(one.at, one.time) for one in made.recording().asked]


def test_the_model_is_the_one_that_most_requests_went_to() -> None:
    made = tape()
    made.tell((user("a", "One"),))
    for name, model in (("b", "small"), ("c", "large"), ("d", "large"), ("e", None)):
        made.answer(answer(name, Text(text="1"), model=model))

    assert "large" == made.recording().model


def test_ids_that_came_before_get_a_number() -> None:
    made = tape()
    made.tell((user("a", "One"), user("a", "Two"), user("a", "Three"), user("", "Four")))

    assert ["a", "a~1", "a~2", "m3"] == [one.id for one in made.recording().transcript]


def test_requests_stand_before_their_answers_also_where_a_repair_adds_or_drops_messages() -> None:
    made = tape()
    made.tell((user("a", "One"),))
    made.answer(answer("b", call("t1")))
    made.tell((user("c", "Stop"),))
    made.answer(answer("d", Thinking(thinking="Hm.", signature="c2ln")), usage=Usage(input_tokens=9))
    made.tell((user("e", "On"),))
    made.compacted()
    made.answer(answer("f", Text(text="Done.")))
    found = made.recording()

    assert ["a", "b", "b-results", "c", "e", "f"] == [one.id for one in found.transcript]
    assert [(1, 0), (4, 0), (5, 5)] == [(one.at, one.baseline) for one in found.asked]


def test_an_answer_that_nothing_comes_before_gets_a_note_that_is_reported() -> None:
    made = tape()
    made.answer(answer("a", Text(text="Hello.")))
    found = made.recording()

    assert [("harness", MISSING), ("assistant", "Hello.")] == [
        (one.provenance, text_of(one.content)) for one in found.transcript
    ]
    assert [1] == [one.at for one in found.asked]
    assert ["nothing is recorded before the answer 'a'; a note stands there"] == [one.reason for one in found.troubles]


def test_in_chat_an_answer_that_calls_tools_is_not_followed_by_another_answer() -> None:
    made = tape("chat")
    made.tell((user("a", "One"),))
    made.answer(answer("b", call("t1")))
    made.answer(answer("c", Text(text="Done.")))
    found = made.recording()

    assert ["a", "b", "b-results", "c-before", "c"] == [one.id for one in found.transcript]
    assert [1, 4] == [one.at for one in found.asked]


def test_what_only_a_model_can_say_is_taken_out_of_other_messages() -> None:
    made = tape()
    held = (Text(text="One"), call("t1"), ToolResult(tool_use_id="t0", content="x"))
    made.tell((Message(id="a", role="user", content=held, provenance="user"),))
    found = made.recording()

    assert 0 == sum(len(one.tool_uses) for one in found.transcript)
    assert "a block that only a model can say" in found.troubles[0].reason


def test_a_thread_is_reported_under_the_files_name_and_its_own() -> None:
    made = Tape(file="f", format="x", troubles=Troubles(), thread="agent-7")
    made.tell((user("a", "One"),))
    made.answer(answer("b", Text(text="1")))
    found = made.recording()

    assert ("f#agent-7", ["agent-7"]) == (found.file, [one.thread for one in found.asked])


def test_a_count_that_no_model_could_have_read_is_none_and_reported() -> None:
    made = tape()
    made.tell((user("a", "One"),))
    for name, tokens in (("b", 10**12), ("c", 10**400), ("d", 200_000)):
        made.answer(answer(name, Text(text="1")), usage=Usage(input_tokens=tokens))
    made.answer(answer("e", Text(text="2")))
    made.count_last(Usage(output_tokens=10**9))

    recording = made.recording()

    assert [None, None, Usage(input_tokens=200_000), None] == [one.usage for one in recording.asked]
    assert ["3 counts of tokens exceed every window and are left out"] == [one.reason for one in recording.troubles]
