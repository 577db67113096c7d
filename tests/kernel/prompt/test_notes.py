"""Notes are due when the view says so, and not before."""

from collections.abc import Sequence

from perdure.kernel.messages import JsonObject, Message, Text, ToolResult, ToolUse
from perdure.kernel.prompt import PlanWords, Reminder, plan_mode, repeated_call, stale_todos

WORDS = PlanWords(rules="Plan only.", still="Still planning.", over="Go ahead.")


def called(number: int, name: str = "read", given: JsonObject | None = None) -> tuple[Message, Message]:
    use = ToolUse(id=f"t{number}", name=name, input={"path": "a.py"} if given is None else given)
    result = ToolResult(tool_use_id=use.id, content="x")
    return (
        Message(id=f"a{number}", role="assistant", content=(use,), provenance="assistant"),
        Message(id=f"r{number}", role="user", content=(result,), provenance="tool"),
    )


def calls(*inputs: str, first: int = 0) -> list[Message]:
    return [message for number, path in enumerate(inputs, first) for message in called(number, given={"path": path})]


def given(note: Reminder | None, name: str = "n") -> list[Message]:
    assert note is not None
    return [Message(id=name, role="user", content=(Text(text=note.text),), provenance="harness")]


def typed(name: str) -> Message:
    return Message(id=name, role="user", content=(Text(text="Again."),), provenance="user")


def repeated(view: Sequence[Message]) -> str | None:
    due = repeated_call(view, lambda tool, count: f"{tool} x{count}")
    return due.body if due else None


def test_the_fourth_equal_call_in_a_row_is_told_and_the_third_is_not() -> None:
    assert [None, None, None, "read x4"] == [repeated(calls(*"aaaa"[:count])) for count in (1, 2, 3, 4)]


def test_another_call_between_ends_the_row() -> None:
    assert repeated(calls(*"aaabaaa")) is None


def test_calls_of_one_message_count_each() -> None:
    uses = tuple(ToolUse(id=f"t{number}", name="read", input={"path": "a"}) for number in range(4))

    assert "read x4" == repeated([Message(id="a", role="assistant", content=uses, provenance="assistant")])


def test_what_the_user_types_begins_a_new_row() -> None:
    assert repeated([*calls(*"aaa"), typed("u"), *calls("a", first=3)]) is None


def test_the_repetition_is_told_once_and_again_after_four_more() -> None:
    view = calls(*"aaaa")
    view += given(repeated_call(view, lambda tool, count: "Stop."))

    assert [None, None, None, "read x8"] == [
        repeated([*view, *calls(*"aaaa"[:more], first=4)]) for more in (1, 2, 3, 4)
    ]


def test_other_arguments_are_another_call() -> None:
    assert repeated([*called(0), *called(1), *called(2), *called(3, given={"path": "a.py", "limit": 1})]) is None


def test_todos_are_stale_after_ten_answers_without_a_word_on_them() -> None:
    written = list(called(0, "todo"))

    def due(answers: int) -> Reminder | None:
        return stale_todos([*written, *calls(*(["a"] * answers), first=1)], {"todo"}, "Open: x")

    assert (None, "Open: x") == (due(9), getattr(due(10), "body", None))


def test_todos_are_told_again_only_after_ten_more_answers() -> None:
    view = calls(*(["a"] * 10))
    view += given(stale_todos(view, {"todo"}, "Open: x"))

    assert stale_todos([*view, *calls(*(["a"] * 9), first=20)], {"todo"}, "Open: x") is None
    assert stale_todos([*view, *calls(*(["a"] * 10), first=20)], {"todo"}, "Open: x") is not None


def test_without_an_open_todo_there_is_nothing_to_tell() -> None:
    assert stale_todos(calls(*(["a"] * 30)), {"todo"}, "") is None


def planned(view: Sequence[Message], *, planning: bool = True) -> str | None:
    due = plan_mode(view, planning, WORDS)
    return due.body if due else None


def test_the_rules_of_plan_mode_are_told_once_and_then_a_short_word_every_five_answers() -> None:
    assert WORDS.rules == planned([])
    view = given(plan_mode([], True, WORDS))
    assert (None, WORDS.still) == (planned([*view, *calls(*"abcd")]), planned([*view, *calls(*"abcde")]))
    view += [*calls(*"abcde"), *given(plan_mode([*view, *calls(*"abcde")], True, WORDS), "n2")]

    assert planned(view) is None


def test_a_view_that_lost_the_rules_is_told_them_again() -> None:
    short = given(plan_mode([*given(plan_mode([], True, WORDS)), *calls(*"abcde")], True, WORDS))

    assert WORDS.rules == planned(short)


def test_the_end_of_plan_mode_is_told_once_and_only_where_the_view_shows_the_mode() -> None:
    view = given(plan_mode([], True, WORDS))
    ended = [*view, *given(plan_mode(view, False, WORDS), "n2")]

    assert (None, WORDS.over, None) == tuple(planned(each, planning=False) for each in ([], view, ended))
    assert WORDS.rules == planned(ended)
