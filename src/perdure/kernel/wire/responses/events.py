"""A whole response, told as the events of a stream: the way out of a server whose client asked for one.

It knows the order of events and the least that clients rely on. It must never cut text into pieces for effect: each
part grows once.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.messages import Json, JsonObject, Response
from perdure.kernel.wire.responses.response import encode_response

_ENDS = {"incomplete": "response.incomplete", "failed": "response.failed"}


def encode_events(response: Response) -> Iterator[JsonObject]:
    """The events of a response, numbered; a stream decoder makes the same response of them.

    Raises:
        UntranslatableBlock: a block that has no form in this dialect.
    """
    body = encode_response(response)
    for number, event in enumerate(_events(body)):
        yield {**event, "sequence_number": number}


def _events(body: JsonObject) -> Iterator[JsonObject]:
    output = body["output"]
    begun: JsonObject = {**body, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(output if isinstance(output, list) else []):
        if isinstance(item, dict):
            yield from _item_events(index, item)
    yield {"type": _ENDS.get(str(body.get("status")), "response.completed"), "response": body}


def _item_events(index: int, item: JsonObject) -> Iterator[JsonObject]:
    place: JsonObject = {"item_id": item.get("id") or item.get("call_id") or f"item_{index}", "output_index": index}
    begun, grown = _begin(item, place)
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    yield from grown
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _begin(item: JsonObject, place: JsonObject) -> tuple[JsonObject, Iterator[JsonObject]]:
    """The item as it begins, and the events that make it grow to the whole."""
    match item:
        case {"type": "message", "content": [*parts]}:
            return {**item, "status": "in_progress", "content": []}, _parts(parts, place)
        case {"type": "reasoning", "summary": [*parts]}:
            return {**item, "summary": []}, _summary(parts, place)
        case {"type": "function_call", "arguments": str(text)}:
            return {**item, "arguments": ""}, _argument(text, place, "function_call_arguments", "arguments")
        case {"type": "custom_tool_call", "input": str(text)}:
            return {**item, "input": ""}, _argument(text, place, "custom_tool_call_input", "input")
        case _:
            return item, iter(())


def _argument(text: str, place: JsonObject, event: str, field: str) -> Iterator[JsonObject]:
    yield {"type": f"response.{event}.delta", **place, "delta": text}
    yield {"type": f"response.{event}.done", **place, field: text}


def _parts(parts: list[Json], place: JsonObject) -> Iterator[JsonObject]:
    for index, part in enumerate(parts):
        here: JsonObject = {**place, "content_index": index}
        match part:
            case {"type": "output_text", "text": str(text)}:
                yield from _grown("response.content_part", "response.output_text", here, part, text)
            case {"type": "refusal", "refusal": str(text)}:
                yield from _grown("response.content_part", "response.refusal", here, part, text)
            case _:
                yield {"type": "response.content_part.added", **here, "part": part}
                yield {"type": "response.content_part.done", **here, "part": part}


def _summary(parts: list[Json], place: JsonObject) -> Iterator[JsonObject]:
    for index, part in enumerate(parts):
        match part:
            case {"type": "summary_text", "text": str(text)}:
                here: JsonObject = {**place, "summary_index": index}
                events = "response.reasoning_summary_part", "response.reasoning_summary_text"
                yield from _grown(*events, here, part, text)
            case _:
                pass


def _grown(frame: str, grows: str, here: JsonObject, part: JsonObject, text: str) -> Iterator[JsonObject]:
    field = "refusal" if part.get("type") == "refusal" else "text"
    yield {"type": f"{frame}.added", **here, "part": {**part, field: ""}}
    yield {"type": f"{grows}.delta", **here, "delta": text}
    yield {"type": f"{grows}.done", **here, field: text}
    yield {"type": f"{frame}.done", **here, "part": part}
