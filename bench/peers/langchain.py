"""LangChain's `ClearToolUsesEdit` and `SummarizationMiddleware`, as its agents call them before each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.runtime import Runtime

from bench.peers.peer import SUMMARY, TAIL, TRIGGER, Peer, Piece, Written, pieces_of, rebuilt
from perdure.kernel.messages import Message


def peers() -> dict[str, Callable[[], Peer]]:
    """By name."""
    return {
        "LangChain ClearToolUsesEdit, keep 3": lambda: Clearing(ClearToolUsesEdit(trigger=TRIGGER)),
        "LangChain ClearToolUsesEdit, at least 20k": lambda: Clearing(
            ClearToolUsesEdit(trigger=TRIGGER, clear_at_least=20_000)
        ),
        "LangChain SummarizationMiddleware": Summarizing,
    }


class _Session:
    """Messages in its types, and the pieces that they stand for."""

    def __init__(self) -> None:
        self.pieces: dict[str, Piece] = {}
        self.history: list[AnyMessage] = []

    def take_in(self, new: Sequence[Message]) -> None:
        for message in new:
            for piece in pieces_of(message):
                name = "/".join(piece.key)
                self.pieces[name] = piece
                self.history.append(_translated(piece, name))

    def back(self, messages: Sequence[AnyMessage]) -> list[Message]:
        return rebuilt((self.pieces.get(one.id or ""), str(one.text)) for one in messages)

    def recalled(self) -> Mapping[str, str]:
        """Nothing can be had back."""
        return {}


class Clearing(_Session):
    """Works on a copy before each request; the session keeps everything."""

    def __init__(self, edit: ClearToolUsesEdit) -> None:
        super().__init__()
        self._edit = edit

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """What the edit leaves."""
        self.take_in(new)
        copy = list(self.history)
        self._edit.apply(copy, count_tokens=count_tokens_approximately)
        return self.back(copy)


class Summarizing(_Session):
    """Puts a summary into the session itself."""

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """The session behind it."""
        self.take_in(new)
        middleware = SummarizationMiddleware(
            FakeListChatModel(responses=[SUMMARY]), trigger=("tokens", TRIGGER), keep=("tokens", TAIL)
        )
        update = middleware.before_model({"messages": self.history}, Runtime())
        if update is not None:
            written.write()
            self.history = [one for one in update["messages"] if not isinstance(one, RemoveMessage)]
        return self.back(self.history)


def _translated(piece: Piece, name: str) -> AnyMessage:
    if piece.key[1]:
        return ToolMessage(content=piece.text, tool_call_id=piece.key[1], id=name, name="read")
    if piece.message.role == "assistant":
        calls = [{"name": use.name, "args": dict(use.input), "id": use.id} for use in piece.message.tool_uses]
        return AIMessage(content=piece.text, tool_calls=calls, id=name)
    return HumanMessage(content=piece.text, id=name)
