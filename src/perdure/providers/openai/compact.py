"""OpenAI's `/responses/compact`: the provider makes the whole next window.

It knows the endpoint. It must never decide when to use it.
"""

from __future__ import annotations

from dataclasses import replace

from perdure.kernel.agent import Ask, Failure
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import JsonObject, Message
from perdure.kernel.value import value
from perdure.kernel.wire import RESPONSES
from perdure.providers.http_model import HttpModel

FIELDS = frozenset({"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier"})
"""What the endpoint takes beside model, input and instructions (SDK `openai` 3.57, `response_compact_params`)."""


@value
class Window:
    """The next window: the user's messages and one opaque item, to be sent whole and unchanged."""

    messages: tuple[Message, ...]
    usage: JsonObject


async def compact(model: HttpModel, ask: Ask) -> Window | Failure:
    """Have the provider compact the messages of this question.

    Raises:
        InvalidSetting: the model does not offer it.
    """
    if not model.profile.offers("response_compaction"):
        raise InvalidSetting(f"{model.profile.id!r} has no `/responses/compact`; use the engine's own checkpoint")
    request = model.request(ask)
    params = {name: value for name, value in request.params.items() if name in FIELDS}
    request = replace(request, tools=(), params=params)
    answer = await model.post("/responses/compact", RESPONSES.encode_request(request), {})
    if isinstance(answer, Failure):
        return answer
    output = answer.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    usage = answer.get("usage")
    if not any(item.get("type") == "compaction" for item in items):
        return Failure(kind="server", message="no compaction item came back", status=200)
    return Window(messages=RESPONSES.decode_messages(items), usage=usage if isinstance(usage, dict) else {})
