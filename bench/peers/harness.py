"""pydantic-ai-harness: clearing, sliding, summarizing and the three in tiers, as pydantic-ai calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
)

from bench.peers.peer import TAIL, TRIGGER, Peer, Piece, Written, pieces_of, rebuilt
from perdure.kernel.messages import Message


def peers() -> dict[str, Callable[[], Peer]]:
    """By name."""
    return {
        "pydantic-ai-harness ClearToolResults, keep 3": lambda: Session(_clearing),
        "pydantic-ai-harness ClearToolResults, at least 20k": lambda: Session(_clearing_much),
        "pydantic-ai-harness SlidingWindow": lambda: Session(_sliding),
        "pydantic-ai-harness Summarizing": lambda: Session(_summarizing),
        "pydantic-ai-harness Tiered": lambda: Session(_tiered),
    }


Strategy = ClearToolResults[None] | SlidingWindowCompaction[None] | SummarizingCompaction[None] | TieredCompaction[None]


def _clearing(model: FunctionModel) -> Strategy:
    return ClearToolResults[None](max_tokens=TRIGGER)


def _clearing_much(model: FunctionModel) -> Strategy:
    return ClearToolResults[None](max_tokens=TRIGGER, min_clear_tokens=20_000)


def _sliding(model: FunctionModel) -> Strategy:
    return SlidingWindowCompaction[None](max_tokens=TRIGGER, keep_tokens=TAIL)


def _summarizing(model: FunctionModel) -> Strategy:
    return SummarizingCompaction[None](model=model, max_tokens=TRIGGER, keep_tokens=TAIL)


def _tiered(model: FunctionModel) -> Strategy:
    tiers = (_clearing_much(model), _summarizing(model))
    return TieredCompaction[None](tiers=tiers, target_tokens=TRIGGER)


class Session:
    """What a strategy changes stays changed, as in its agents."""

    def __init__(self, make: Callable[[FunctionModel], Strategy]) -> None:
        self._written = Written()
        self._model = FunctionModel(self._write)
        self._strategy = make(self._model)
        self._pieces: dict[datetime, Piece] = {}
        self._history: list[ModelMessage] = []

    def send(self, given: Sequence[Message], new: Sequence[Message], written: Written) -> Sequence[Message]:
        """The session behind the strategy."""
        self._written = written
        self._history += [self._translated(message) for message in new]
        context = RunContext[None](deps=None, model=self._model, usage=RunUsage(), messages=list(self._history))
        asked = ModelRequestContext(
            model=self._model,
            messages=list(self._history),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        self._history = list(asyncio.run(self._strategy.before_model_request(context, asked)).messages)
        return rebuilt(self._found())

    def recalled(self) -> Mapping[str, str]:
        """Nothing can be had back."""
        return {}

    def _write(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(content=self._written.write())])

    def _found(self) -> list[tuple[Piece | None, str]]:
        found: list[tuple[Piece | None, str]] = []
        for message in self._history:
            if isinstance(message, ModelResponse):
                piece = self._pieces.get(message.timestamp)
                found.append((piece, "" if piece is None else piece.text))
                continue
            for part in message.parts:
                if isinstance(part, ToolReturnPart | UserPromptPart):
                    found.append((self._pieces.get(part.timestamp), str(part.content)))
                elif text := getattr(part, "content", None):
                    found.append((None, str(text)))
        return found

    def _translated(self, message: Message) -> ModelMessage:
        pieces = [(self._stamp(piece), piece) for piece in pieces_of(message)]
        if message.role == "assistant":
            calls = [
                ToolCallPart(tool_name=use.name, args=dict(use.input), tool_call_id=use.id) for use in message.tool_uses
            ]
            return ModelResponse(parts=[TextPart(content=pieces[-1][1].text), *calls], timestamp=pieces[-1][0])
        return ModelRequest(
            parts=[
                ToolReturnPart(tool_name="read", content=piece.text, tool_call_id=piece.key[1], timestamp=stamp)
                if piece.key[1]
                else UserPromptPart(content=piece.text, timestamp=stamp)
                for stamp, piece in pieces
            ]
        )

    def _stamp(self, piece: Piece) -> datetime:
        """A time that tells the piece from all others: strategies carry it along."""
        stamp = datetime.fromtimestamp(1_000_000 + len(self._pieces), UTC)
        self._pieces[stamp] = piece
        return stamp
