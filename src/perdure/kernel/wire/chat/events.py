"""A whole response, told as the chunks of a stream: the way out of a server whose client asked for one.

It knows the order of chunks. It must never cut text into pieces for effect: each field arrives whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.messages import Json, JsonObject, Response
from perdure.kernel.wire.chat.response import encode_response


def encode_events(response: Response) -> Iterator[JsonObject]:
    """The chunks of a response; a stream decoder makes the same response of them. The caller ends with `[DONE]`.

    Usage comes last and in a chunk of its own, with no choices, as OpenAI sends it.

    Raises:
        UntranslatableBlock: a block that has no form in this dialect.
    """
    body = encode_response(response)
    choices = body["choices"]
    choice = choices[0] if isinstance(choices, list) else None
    whole = choice if isinstance(choice, dict) else JsonObject()
    message = whole.get("message")
    frame: JsonObject = {key: None if key == "usage" else value for key, value in body.items()}
    if "object" in frame:
        frame["object"] = "chat.completion.chunk"
    early: JsonObject = {key: value if key in ("index", "message") else None for key, value in whole.items()}
    fields = _fields(message if isinstance(message, dict) else JsonObject())
    for name, value in fields:
        yield _chunk(frame, early, {name: value})
    yield _chunk(frame, whole, {})
    if isinstance(body.get("usage"), dict):
        yield {**frame, "choices": [], "usage": body["usage"]}


def _chunk(frame: JsonObject, choice: JsonObject, delta: JsonObject) -> JsonObject:
    told: JsonObject = {}
    for key, value in choice.items():
        told["delta" if key == "message" else key] = delta if key == "message" else value
    return {**frame, "choices": [told]}


def _fields(message: JsonObject) -> list[tuple[str, Json]]:
    """The fields of a message in their order, calls one by one with the number that a stream gives them."""
    fields: list[tuple[str, Json]] = []
    for name, value in message.items():
        if name == "tool_calls" and isinstance(value, list):
            fields.extend(
                (name, [{"index": index, **call}]) for index, call in enumerate(value) if isinstance(call, dict)
            )
        else:
            fields.append((name, value))
    return fields
