"""LangChain's `ClearToolUsesEdit`, as `ContextEditingMiddleware.wrap_model_call` applies it.

It knows LangChain's messages. It must never know Perdure's engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from bench.peer import KEPT, Call, Peer
from perdure.kernel.messages import Message, ToolResult, ToolUse, text_of


def peers(messages: Sequence[Message]) -> list[Peer]:
    """The edit alone, and with the copy of the history that the middleware makes before each call."""
    given = [one for message in messages for one in _translated(message)]

    def alone(trigger: int) -> Call:
        edit = ClearToolUsesEdit(trigger=trigger, keep=KEPT)
        # The edit puts new messages into the list and changes none, so a fresh list is a fresh history to it.
        return lambda: edit.apply(list(given), count_tokens=count_tokens_approximately)

    def copied(trigger: int) -> Call:
        edit = ClearToolUsesEdit(trigger=trigger, keep=KEPT)
        return lambda: edit.apply(deepcopy(given), count_tokens=count_tokens_approximately)

    return [
        Peer(name="LangChain ClearToolUsesEdit.apply", begin=alone),
        Peer(name="LangChain ContextEditingMiddleware", begin=copied),
    ]


def _translated(message: Message) -> Iterator[AnyMessage]:
    for result in message.tool_results:
        yield ToolMessage(content=text_of(result.content), tool_call_id=result.tool_use_id, name="read")
    rest = tuple(block for block in message.content if not isinstance(block, ToolResult | ToolUse))
    if message.role == "assistant":
        calls = [{"name": use.name, "args": dict(use.input), "id": use.id} for use in message.tool_uses]
        yield AIMessage(content=text_of(rest), tool_calls=calls)
    elif rest:
        yield HumanMessage(content=text_of(rest))
