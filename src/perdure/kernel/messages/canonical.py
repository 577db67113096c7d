"""The one encoder whose bytes reach a provider, and the one decoder.

It knows JSON and nothing else. It must never know what the values mean. Prompt caches match byte-identical prefixes, so
one value has one encoding for ever: keys in the order given, no spaces, UTF-8 unescaped, floats in Python's shortest
round-trip form, integers whole. No other place calls `json.dumps`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from perdure.kernel.errors import InvalidJson

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""Any JSON value. Values held by messages are never mutated: whoever wants another value makes one."""

JsonObject: TypeAlias = dict[str, Json]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)

_make = cast(
    "Callable[..., Callable[[object, int], Iterable[str]]] | None", getattr(json.encoder, "c_make_encoder", None)
)
# What `JSONEncoder.encode` makes for each call, made once: that is most of the time of encoding a short value. Where
# there is no C accelerator, as on PyPy, the encoder itself does it.
_chunks: Callable[[object, int], Iterable[str]] = (
    _make(None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    if _make is not None
    else lambda value, _: _ENCODER.encode(value)
)

MAX_DEPTH = 200
"""Levels of nesting that `freeze` follows. Real schemas stay under 20; the limit keeps hostile input off the stack."""


def encode_json(value: Json) -> bytes:
    """Encode a value: the same bytes for the same value for ever.

    A lone surrogate, which JSON text may contain and UTF-8 may not, leaves as the escape that it came as.

    Raises:
        InvalidJson: the value holds something that JSON has no form for, such as NaN.
    """
    try:
        text = "".join(_chunks(value, 0))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidJson(f"this value has no JSON form: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def decode_json(data: bytes | str) -> Json:
    """Decode one JSON value.

    Raises:
        InvalidJson: not JSON; the message gives line and column. NaN, infinities and nesting beyond the stack count
            as not JSON.
    """
    try:
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
        return cast("Json", _DECODER.decode(text))
    except json.JSONDecodeError as error:
        raise InvalidJson(
            f"not JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"not JSON: {error}") from error


def decode_object(data: bytes | str) -> JsonObject:
    """Decode one JSON object.

    Raises:
        InvalidJson: not JSON, or JSON of another kind.
    """
    value = decode_json(data)
    if not isinstance(value, dict):
        raise InvalidJson(f"a JSON object is needed here, not {kind_of(value)}")
    return value


def canonical_object(text: str) -> JsonObject | None:
    """The object whose one encoding is this text; None where the text is anything else."""
    try:
        value, end = _DECODER.raw_decode(text)
        # Only a lone surrogate's escape leaves otherwise than the encoder's own text.
        if end == len(text) and isinstance(value, dict):
            found = cast("JsonObject", value)
            if "".join(_chunks(found, 0)) == text or ("\\ud" in text and encode_json(found).decode() == text):
                return found
    except (ValueError, RecursionError):
        pass
    return None


def freeze(value: object) -> Json:
    """Copy a caller's value into JSON that nobody else can change.

    Mappings become objects, lists and tuples become arrays; the copy shares no mutable part with the original.

    Raises:
        InvalidJson: a part that JSON has no form for; the message gives its path.
    """
    try:
        return _freeze(value, 0)
    except _Unfit as unfit:
        raise InvalidJson(f"{unfit.path()} {unfit.reason}") from None


def freeze_object(value: Mapping[str, object]) -> JsonObject:
    """Copy a caller's mapping into a JSON object, as `freeze` does.

    Raises:
        InvalidJson: not a mapping, or a part that JSON has no form for.
    """
    frozen = freeze(value)
    if not isinstance(frozen, dict):
        raise InvalidJson(f"a JSON object is needed here, not {kind_of(frozen)}")
    return frozen


def kind_of(value: object) -> str:
    """The JSON name of a value's kind, for messages to people."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return type(value).__name__


class _Unfit(Exception):
    """Climbs from the part that has no JSON form to `freeze`, collecting the path on its way."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []

    def path(self) -> str:
        return "/".join(reversed(self.steps)) or "the value"


def _freeze(value: object, depth: int) -> Json:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise _Unfit(f"is {value!r}, which JSON has no form for")
    if depth > MAX_DEPTH:
        raise _Unfit(f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return _freeze_mapping(cast("Mapping[object, object]", value), depth)
    if isinstance(value, list | tuple):
        return _freeze_sequence(cast("Sequence[object]", value), depth)
    raise _Unfit(f"is of type {type(value).__name__}, which JSON has no form for")


def _freeze_mapping(value: Mapping[object, object], depth: int) -> JsonObject:
    frozen: JsonObject = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _Unfit(f"has the key {key!r}; keys of JSON objects are strings")
        try:
            frozen[key] = _freeze(item, depth + 1)
        except _Unfit as unfit:
            unfit.steps.append(key)
            raise
    return frozen


def _freeze_sequence(value: Sequence[object], depth: int) -> list[Json]:
    frozen: list[Json] = []
    for index, item in enumerate(value):
        try:
            frozen.append(_freeze(item, depth + 1))
        except _Unfit as unfit:
            unfit.steps.append(str(index))
            raise
    return frozen


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:20]} is out of range")
    return number


# Made once: `json.loads` with options makes a decoder for each call, which costs more than a short text.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
