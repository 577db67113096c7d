"""pydantic-ai-harness' `ClearToolResults`, as pydantic-ai calls it before each request.

It knows pydantic-ai's messages. It must never know Perdure's engine.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace

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
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage, RunUsage
from pydantic_ai_harness.compaction import ClearToolResults

from bench.peer import KEPT, Call, Peer
from perdure.kernel.messages import Message, ToolResult, ToolUse, text_of

INSTRUCTIONS = "You work on code."


def peers(messages: Sequence[Message], tokens: int) -> list[Peer]:
    """Without any count of the provider's, and with one in the last answer, which spares it the counting."""
    given = [_translated(message) for message in messages]
    last = max(place for place, message in enumerate(given) if isinstance(message, ModelResponse))
    answer = given[last]
    assert isinstance(answer, ModelResponse)
    counted = [*given[:last], replace(answer, usage=RequestUsage(input_tokens=tokens)), *given[last + 1 :]]
    return [
        Peer(name="pydantic-ai-harness ClearToolResults", begin=lambda trigger: _begun(given, trigger)),
        Peer(name="the same, with a count to start from", begin=lambda trigger: _begun(counted, trigger)),
    ]


def _begun(messages: Sequence[ModelMessage], trigger: int) -> Call:
    clearing = ClearToolResults[None](max_tokens=trigger, keep_pairs=KEPT)
    model = TestModel()
    context = RunContext[None](deps=None, model=model, usage=RunUsage(), messages=list(messages))

    def call() -> object:
        # As before the next request of a run: what it cleared last time is cleared, and its new messages are not.
        context.messages[:] = messages
        asked = ModelRequestContext(
            model=model,
            messages=list(context.messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return _finished(clearing.before_model_request(context, asked))

    return call


def _finished(work: Coroutine[object, object, object]) -> object:
    """Run it to its end. It awaits nothing that is not there, so no event loop's time is in the figure."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("the peer waits for something; it needs an event loop now")


def _translated(message: Message) -> ModelMessage:
    rest = text_of(tuple(block for block in message.content if not isinstance(block, ToolResult | ToolUse)))
    if message.role == "assistant":
        calls = [
            ToolCallPart(tool_name=use.name, args=dict(use.input), tool_call_id=use.id) for use in message.tool_uses
        ]
        return ModelResponse(parts=[TextPart(content=rest), *calls])
    results = [
        ToolReturnPart(tool_name="read", content=text_of(result.content), tool_call_id=result.tool_use_id)
        for result in message.tool_results
    ]
    return ModelRequest(parts=[*results, *([UserPromptPart(content=rest)] if rest else [])], instructions=INSTRUCTIONS)
