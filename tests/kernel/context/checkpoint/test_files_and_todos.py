"""Files and todos are told from tool calls as common agents make them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from perdure.kernel.context.checkpoint import CheckpointDocument, Fold, Todo, build
from perdure.kernel.messages import JsonObject, Message, ToolResult, ToolUse


def called(
    identifier: str, name: str, given: JsonObject | str, result: str = "ok", *, failed: bool = False
) -> list[Message]:
    given, raw = ({}, given) if isinstance(given, str) else (given, None)
    use = ToolUse(id=identifier, name=name, input=given, raw_input=raw)
    answer = ToolResult(tool_use_id=identifier, content=result, is_error=failed or None)
    return [
        Message(id=f"{identifier}-a", role="assistant", provenance="assistant", content=(use,)),
        Message(id=f"{identifier}-r", role="user", provenance="tool", content=(answer,)),
    ]


def folded(*calls: Sequence[Message], previous: CheckpointDocument | None = None) -> CheckpointDocument:
    messages = [message for call in calls for message in call]
    return build(Fold(folded=messages, previous=previous), budget=100_000, measure=len)


@pytest.mark.parametrize(
    ("name", "given", "read", "modified"),
    [
        ("Read", {"file_path": "/w/a.py"}, ["/w/a.py"], []),
        ("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, [], ["/w/a.py"]),
        ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "1"}, [], ["n.ipynb"]),
        ("write", {"path": "b.txt", "content": "x"}, [], ["b.txt"]),
        ("str_replace_editor", {"command": "view", "path": "/w/a.py"}, ["/w/a.py"], []),
        ("str_replace_editor", {"command": "create", "path": "/w/c.py", "file_text": ""}, [], ["/w/c.py"]),
        ("mcp__filesystem__read_multiple_files", {"paths": ["a.md", "b.md"]}, ["a.md", "b.md"], []),
        ("apply_patch", "*** Begin Patch\n*** Update File: src/x.rs\n@@\n*** End Patch", [], ["src/x.rs"]),
        ("shell", {"command": ["bash", "-lc", "apply_patch <<'E'\n*** Add File: new.go\nE"]}, [], ["new.go"]),
        ("bash", {"command": "cat src/a.c | head; sed -n 1,20p src/b.c"}, ["src/a.c", "src/b.c"], []),
        ("bash", {"command": "echo hi > out.txt && sed -i 's/a/b/' conf.ini"}, [], ["out.txt", "conf.ini"]),
        ("bash", {"command": "make 2>&1 >/dev/null"}, [], []),
        ("Glob", {"path": "/w", "pattern": "**/*.py"}, [], []),
        ("Grep", {"path": "src", "pattern": "x"}, [], []),
    ],
)  # fmt: skip
def test_a_call_shows_which_files_it_used(
    name: str, given: JsonObject | str, read: list[str], modified: list[str]
) -> None:
    document = folded(called("c1", name, given))

    assert (tuple(read), tuple(modified)) == (document.files_read, document.files_modified)


@pytest.mark.parametrize(
    "result", ["Error: no such file", '{"output":"","metadata":{"exit_code":1}}', "Exit code 2\nboom"]
)
def test_a_call_that_failed_used_no_file(result: str) -> None:
    document = folded(called("c1", "Write", {"file_path": "a", "content": ""}, result))

    assert () == document.files_modified


def test_a_modified_file_is_not_listed_as_read_and_lists_are_carried_in_the_order_of_last_use() -> None:
    first = folded(
        called("1", "Read", {"path": "a"}), called("2", "Read", {"path": "b"}), called("3", "Read", {"path": "c"})
    )
    second = folded(called("4", "Read", {"path": "a"}), called("5", "Edit", {"path": "b", "edits": []}), previous=first)

    assert (("c", "a"), ("b",)) == (second.files_read, second.files_modified)


def test_only_open_todos_of_the_latest_list_are_carried() -> None:
    early: JsonObject = {"todos": [{"content": "a", "status": "pending"}, {"content": "b", "status": "in_progress"}]}
    late: JsonObject = {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]}
    first = folded(called("1", "TodoWrite", early))
    second = folded(called("2", "TodoWrite", late), previous=first)

    assert (Todo(text="a"), Todo(text="b", active=True)) == first.todos
    assert (Todo(text="b", active=True),) == second.todos


@pytest.mark.parametrize("status", ["completed", "cancelled", "deleted"])
def test_a_task_that_ended_never_comes_back_as_open(status: str) -> None:
    first = folded(
        called("1", "TaskCreate", {"subject": "port the parser"}, "Task #1 created successfully: port the parser"),
        called("2", "TaskCreate", {"subject": "write docs"}, "Task #2 created successfully: write docs"),
    )
    second = folded(called("3", "TaskUpdate", {"taskId": "1", "status": status}), previous=first)
    third = folded(called("4", "Read", {"path": "x"}), previous=second)

    assert ("port the parser", "write docs") == tuple(todo.text for todo in first.todos)
    assert (Todo(text="write docs", id="2"),) == third.todos


def test_a_todo_call_that_failed_changes_nothing() -> None:
    first = folded(called("1", "TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}))
    second = folded(called("2", "TodoWrite", {"todos": []}, failed=True), previous=first)

    assert (Todo(text="a"),) == second.todos


def test_the_plan_holds_the_open_steps() -> None:
    plan: JsonObject = {"plan": [{"step": "look", "status": "completed"}, {"step": "fix", "status": "pending"}]}

    assert ("fix",) == folded(called("1", "update_plan", plan)).plan
