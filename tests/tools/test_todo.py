"""The list of todos is written whole, read back out of a conversation, and carried by a checkpoint."""

import pytest

from perdure.kernel.messages import Json, JsonObject, Message, ToolResult, ToolUse
from perdure.tools.failed import ToolFailed
from perdure.tools.todo import MOST, NAME, Todo, Todos, offered, todos_in


def item(id: str, text: str, state: str = "pending") -> JsonObject:
    return {"id": id, "text": text, "state": state}


def write(todos: Todos, *items: Json) -> str:
    result = offered(todos).tool.run({"todos": list(items)})
    assert isinstance(result, str)
    return result


def refused(*items: Json) -> str:
    with pytest.raises(ToolFailed) as caught:
        write(Todos(), *items)
    return str(caught.value)


def exchange(place: int, items: list[Json], *, failed: bool = False, text: bool = False) -> list[Message]:
    given: JsonObject = {"todos": items}
    raw = '{"todos":[{"id":"9","text":"From text","state":"pending"}]}' if text else None
    call = ToolUse(id=f"c{place}", name=NAME, input={} if text else given, raw_input=raw)
    result = ToolResult(tool_use_id=f"c{place}", content="", is_error=failed or None)
    return [
        Message(id=f"a{place}", role="assistant", content=(call,), provenance="assistant", time=None),
        Message(id=f"u{place}", role="user", content=(result,), provenance="tool", time=None),
    ]


def test_each_call_gives_the_whole_list_anew() -> None:
    todos = Todos()

    first = write(todos, item("1", "Brew", "in_progress"), item("2", "Pour"))
    second = write(todos, item("2", "Pour it\nwell"))

    assert "2 todos: 1 in_progress, 1 pending." == first
    assert "1 todos: 1 pending. None is in progress: mark the one that you work on." == second
    assert (Todo(id="2", text="Pour it well", state="pending"),) == todos.now


def test_several_in_progress_are_taken_with_advice() -> None:
    todos = Todos()

    said = write(todos, item("1", "Brew", "in_progress"), item("2", "Pour", "in_progress"))

    assert "2 todos: 2 in_progress. Several are in progress; one at a time is easier to follow." == said
    assert ("Brew", "Pour") == todos.open


def test_what_is_completed_is_no_longer_open() -> None:
    todos = Todos()
    write(todos, item("1", "Brew", "completed"), item("2", "Pour", "in_progress"))

    assert ("Pour",) == todos.open


def test_a_list_that_was_refused_leaves_the_one_there_was() -> None:
    todos = Todos()
    write(todos, item("1", "Brew"))
    with pytest.raises(ToolFailed):
        write(todos, item("1", "A"), item("1", "B"))

    assert ("Brew",) == todos.open


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (["Brew"], "must be an object"),
        ([{"id": "1", "state": "pending"}], "has no `text`"),
        ([item("1", " ")], "has no `text`"),
        ([item("1", "x" * 501)], "500 are the most"),
        ([item("1", "A"), item("1", "B")], "the id '1'"),
        ([item("1", "A", "doing")], "pending, in_progress or completed"),
        ([{"id": True, "text": "A", "state": "pending"}], "The `id` of todo 1"),
        ([item(str(n), "A") for n in range(MOST + 1)], "too many"),
    ],
)
def test_a_list_that_is_none_is_refused_with_what_is_wrong(items: list[Json], said: str) -> None:
    assert said in refused(*items)


def test_a_conversation_that_goes_on_has_the_list_of_its_last_call_that_went_well() -> None:
    messages = [
        *exchange(1, [item("1", "Old")]),
        *exchange(2, [item("1", "Brew")]),
        *exchange(3, [item("1", "Never")], failed=True),
    ]

    assert ("Brew",) == Todos(messages).open


def test_a_call_whose_arguments_came_as_text_is_read_too() -> None:
    assert ("From text",) == tuple(todo.text for todo in todos_in(exchange(1, [], text=True)))
