"""Cache marks: lifted out of the wire objects, and put back in their place.

It knows `cache_control`. It must never know where a mark should stand: `cache` plans that. A mark whose object says
more than `type` and `ttl` is no mark to us but an unknown field, and is carried like one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

from perdure.kernel.errors import InvalidMessage
from perdure.kernel.messages import (
    Block,
    Extra,
    Json,
    JsonObject,
    Mark,
    Request,
    Text,
    Tool,
    Ttl,
    Unknown,
    extra_of,
    in_order,
    lay_out,
)
from perdure.kernel.value import value
from perdure.kernel.wire.anthropic.names import CACHE_CONTROL, DIALECT

Part: TypeAlias = Literal["tools", "system", "messages"]
Places: TypeAlias = Mapping[tuple[Part, int], Mapping[int, Mark]]
"""The marks of each tool, system block and message, by the block they stand on."""

Carrier = TypeVar("Carrier", Block, Tool, Text | Unknown)

_USUAL = ("type", "ttl")


@value
class Place:
    """Where in a request a mark stands."""

    part: Part
    index: int
    block: int = 0


def lift(given: JsonObject, decode: Callable[[JsonObject], Carrier], place: Place) -> tuple[Carrier, Mark | None]:
    """The value of a wire object without its mark, and the mark, if it has one that can be lifted."""
    mark = _mark(given[CACHE_CONTROL], place) if CACHE_CONTROL in given else None
    if mark is None:
        return decode(given), None
    keys = tuple(given)
    bare = {key: value for key, value in given.items() if key != CACHE_CONTROL}
    value = decode(bare)
    if keys[-1] == CACHE_CONTROL:
        return value, mark
    if isinstance(value, Unknown):
        # It has no place to remember where the mark stood, and a block that nobody knows is never marked by us.
        return decode(given), None
    fields = value.extra.fields if value.extra is not None else ()
    return replace(value, extra=Extra(dialect=DIALECT, fields=fields, keys=keys)), mark


def put_back(whole: JsonObject, extra: Extra | None, mark: Mark) -> JsonObject:
    """The wire object with its mark: as its last field, or where it stood when it came."""
    marked = {key: value for key, value in whole.items() if key != CACHE_CONTROL}
    marked[CACHE_CONTROL] = _object(mark)
    stood = extra is not None and extra.dialect == DIALECT and CACHE_CONTROL in extra.keys
    return in_order(marked, extra.keys) if extra is not None and stood else marked


def marks_by_place(request: Request) -> Places:
    """The marks of each tool, system block and message, by the block they stand on.

    Raises:
        InvalidMessage: a mark stands on nothing.
    """
    sizes = {"tools": len(request.tools), "system": len(request.system), "messages": len(request.messages)}
    places: dict[tuple[Part, int], dict[int, Mark]] = {}
    for mark in request.marks:
        whole = 0 <= mark.index < sizes[mark.part]
        blocks = len(request.messages[mark.index].content) if whole and mark.part == "messages" else 1
        if not whole or not 0 <= mark.block < blocks:
            raise InvalidMessage(
                f"a cache mark stands on block {mark.block} of {mark.part}/{mark.index}, which is not there"
            )
        places.setdefault((mark.part, mark.index), {})[mark.block] = mark
    return places


def marks_of(marks: Iterable[Mark | None]) -> tuple[Mark, ...]:
    """Those that are there."""
    return tuple(mark for mark in marks if mark is not None)


def _mark(control: Json, place: Place) -> Mark | None:
    if not isinstance(control, dict) or control.get("type") != "ephemeral":
        return None
    ttl = _ttl(control)
    if len(control) != (1 if ttl is None else 2):
        return None
    extra = extra_of(DIALECT, control, _USUAL[: len(control)])
    return Mark(part=place.part, index=place.index, block=place.block, ttl=ttl, extra=extra)


def _ttl(control: JsonObject) -> Ttl | None:
    match control.get("ttl"):
        case "5m":
            return "5m"
        case "1h":
            return "1h"
        case _:
            return None


def _object(mark: Mark) -> JsonObject:
    known: JsonObject = {"type": "ephemeral"}
    if mark.ttl is not None:
        known["ttl"] = mark.ttl
    return lay_out(known, mark.extra, DIALECT)
