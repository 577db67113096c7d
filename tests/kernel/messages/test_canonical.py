"""One value has one encoding, and what is no JSON is refused with its place."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, decode_json, decode_object, encode_json, freeze, freeze_object

VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_a_value_and_its_bytes_determine_each_other(value: Json) -> None:
    encoded = encode_json(value)

    assert value == decode_json(encoded)
    assert encoded == encode_json(decode_json(encoded))


def test_keys_stay_in_the_order_given_without_spaces_or_escapes() -> None:
    assert '{"z":1,"a":["é",0.1,null,true]}'.encode() == encode_json({"z": 1, "a": ["é", 0.1, None, True]})


def test_numbers_do_not_drift() -> None:
    text = b"[12345678901234567890,0.1,1e-07,1e+22,-0.0,2.5]"

    assert text == encode_json(decode_json(text))


def test_a_lone_surrogate_leaves_as_the_escape_it_came_as() -> None:
    text = b'["\\ud83d and more"]'

    assert text == encode_json(decode_json(text))


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_numbers_that_json_lacks_are_refused(value: Json) -> None:
    with pytest.raises(InvalidJson):
        encode_json(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Json] = []
    value.append(value)

    with pytest.raises(InvalidJson):
        encode_json(value)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "NaN", "[Infinity]", "1e999", b"\xff\xfe\xfd", "[" * 100_000, "9" * 5_000]
)
def test_text_that_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidJson):
        decode_json(text)


def test_the_place_of_a_mistake_is_named() -> None:
    with pytest.raises(InvalidJson, match="line 2, column 6"):
        decode_json('{"a": 1,\n"b": }')


@pytest.mark.parametrize(
    ("text", "kind"), [("[]", "an array"), ("1", "a number"), ("null", "null"), ('"x"', "a string")]
)
def test_an_object_is_asked_for_by_name(text: str, kind: str) -> None:
    with pytest.raises(InvalidJson, match=kind):
        decode_object(text)


def test_a_frozen_value_no_longer_follows_its_original() -> None:
    inner = [1, (2, 3)]
    frozen = freeze({"a": inner})
    inner.append(4)

    assert {"a": [1, [2, 3]]} == frozen


@pytest.mark.parametrize(
    ("value", "path"),
    [({"a": [1, {2}]}, "a/1"), ({"a": {1: 2}}, "^a has the key 1"), ([math.nan], "^0 "), (object(), "the value")],
)
def test_what_has_no_json_form_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(InvalidJson, match=path):
        freeze(value)


def test_nesting_without_end_is_refused() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(InvalidJson, match="deeper"):
        freeze(value)


def test_a_mapping_freezes_to_an_object() -> None:
    assert {"a": [1]} == freeze_object({"a": (1,)})
