"""Rounds of a model with the gateway's own tools, which its client never sees and its provider must see again.

It knows what the client was shown and what was really said. It must never know a tool. When the client sends back what
it was shown, what was really said takes its place, so that the request extends the last one byte for byte and the
signatures of thinking stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, decode_json
from perdure.kernel.value import value
from perdure.kernel.wire import Dialect


@value
class Splice:
    """One answer that the client was shown otherwise than it was given."""

    at: int
    """Which item of the client's list the answer begins with."""
    shown: tuple[JsonObject, ...]
    """The items that the client was given."""
    actual: tuple[JsonObject, ...]
    """The items in their place."""
    results: tuple[JsonObject, ...] = ()
    """Anthropic: results of our own, to stand before the client's in the message behind."""


def restored(fresh: Sequence[JsonObject], first: int, splices: Sequence[Splice], dialect: Dialect) -> list[JsonObject]:
    """New items of a request, of which the first has the index `first`, with what the client has not seen."""
    known = {splice.at: splice for splice in splices}
    items: list[JsonObject] = []
    place = 0
    while place < len(fresh):
        splice = known.get(first + place)
        if splice is None or not _matches(fresh[place : place + len(splice.shown)], splice.shown):
            items.append(fresh[place])
            place += 1
            continue
        items.extend(splice.actual)
        place += len(splice.shown)
        if splice.results and place < len(fresh) and dialect == "anthropic":
            items.append(_with_results(fresh[place], splice.results))
            place += 1
    return items


def _with_results(item: JsonObject, results: Sequence[JsonObject]) -> JsonObject:
    content = item.get("content")
    blocks: list[Json] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return {**item, "content": [*results, *blocks]}


def _matches(given: Sequence[JsonObject], shown: Sequence[JsonObject]) -> bool:
    """Whether a client sent back what it was shown: SDKs add fields that are null, give ids of their own, keep the
    number that a call had in the stream, and write its arguments anew."""
    return len(given) == len(shown) and all(_loose(one) == _loose(two) for one, two in zip(given, shown, strict=True))


def _loose(value: Json) -> Json:
    match value:
        case dict():
            left_out = ("cache_control", *_LEFT_OUT.get(str(value.get("type")), ()))
            kept = {
                name: _decoded(item) if name == "arguments" else _loose(item)
                for name, item in value.items()
                if item not in (None, [], "") and name not in left_out
            }
            return _one_text(kept)
        case list():
            return [_loose(item) for item in value]
        case _:
            return value


_LEFT_OUT = {
    "message": ("id", "status"),
    "function_call": ("id", "status"),
    "reasoning": ("id", "status"),
    "function": ("index",),
}
"""Fields that clients change, by the type of what holds them."""


def _decoded(arguments: Json) -> Json:
    if not isinstance(arguments, str):
        return arguments
    try:
        return decode_json(arguments.encode())
    except InvalidJson:
        return arguments


def _one_text(item: JsonObject) -> JsonObject:
    match item.get("content"):
        case [{"type": "text", "text": str(text)}]:
            return {**item, "content": text}
        case _:
            return item


def splice_to_json(splice: Splice) -> JsonObject:
    """A splice as a store keeps it."""
    return {
        "at": splice.at,
        "shown": [*splice.shown],
        "actual": [*splice.actual],
        "results": [*splice.results],
    }


def splice_from_json(given: JsonObject) -> Splice:
    """The splice that `splice_to_json` wrote."""
    at = given["at"]
    return Splice(
        at=at if isinstance(at, int) else 0,
        shown=_objects(given["shown"]),
        actual=_objects(given["actual"]),
        results=_objects(given["results"]),
    )


def _objects(value: Json) -> tuple[JsonObject, ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
