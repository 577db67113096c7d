"""A conversation that goes on, told to the editor as if it happened now.

It knows what of a message people see. It must never leave out what the user or the model said.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from acp.helpers import (
    plan_entry,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_user_message_text,
)

from perdure.acp import calls
from perdure.acp.outbox import Update
from perdure.kernel.messages import REMINDER_OPENING, Message, Text, Thinking, ToolResult, ToolUse, Transcript
from perdure.tools.todo import Todo, todos_in

CUT = "It was cut off before it ended."


def told_again(transcript: Transcript, cwd: Path) -> Iterator[Update]:
    """Every message of the user's and of the model's, with calls and what came of them; then the open plan."""
    waiting: dict[str, ToolUse] = {}
    for message in transcript:
        yield from _of_message(message, waiting, cwd)
    for call in waiting.values():
        yield calls.ended(call, ToolResult(tool_use_id=call.id, content=CUT, is_error=True), cwd)
    todos = todos_in(transcript)
    if todos:
        yield plan_of(todos)


def plan_of(todos: tuple[Todo, ...]) -> Update:
    """The list of todos as the protocol's plan."""
    return update_plan([plan_entry(todo.text, status=todo.state) for todo in todos])


def _of_message(message: Message, waiting: dict[str, ToolUse], cwd: Path) -> Iterator[Update]:
    for block in message.content:
        match block:
            case Text(text=text) if message.role == "assistant" and text:
                yield update_agent_message_text(text)
            case Text(text=text) if _was_typed(message, text):
                yield update_user_message_text(text)
            case Thinking(thinking=text) if text:
                yield update_agent_thought_text(text)
            case ToolUse():
                waiting[block.id] = block
                yield calls.started(block, cwd)
            case ToolResult(tool_use_id=name) if name in waiting:
                yield calls.ended(waiting.pop(name), block, cwd)
            case _:
                pass


def _was_typed(message: Message, text: str) -> bool:
    return message.role == "user" and message.is_typed and not text.lstrip().startswith(REMINDER_OPENING)
