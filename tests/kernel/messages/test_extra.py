"""What a codec does not know goes round in its place."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Extra, Json, JsonObject, extra_of, in_order, lay_out

KNOWN = ("type", "text", "id")
OBJECTS: st.SearchStrategy[JsonObject] = st.lists(st.sampled_from([*KNOWN, "new", "newer"]), unique=True).map(
    lambda names: {name: index for index, name in enumerate(names)}
)


@given(OBJECTS)
def test_what_is_taken_apart_is_put_together_in_the_same_order(given_object: JsonObject) -> None:
    known = tuple(name for name in KNOWN if name in given_object)
    extra = extra_of("anthropic", given_object, known)
    again = lay_out({name: given_object[name] for name in known}, extra, "anthropic")

    assert list(given_object.items()) == list(again.items())


@given(OBJECTS)
def test_known_names_that_are_absent_change_nothing(given_object: JsonObject) -> None:
    known = tuple(name for name in KNOWN if name in given_object)

    assert extra_of("anthropic", given_object, known) == extra_of("anthropic", given_object, KNOWN)


def test_fields_in_the_usual_order_need_no_extra() -> None:
    assert extra_of("anthropic", {"type": "text", "text": "hi"}, ("type", "text")) is None


def test_unknown_fields_behind_the_known_ones_need_no_order() -> None:
    given_object: JsonObject = {"type": "text", "new": 1}

    assert Extra(dialect="anthropic", fields=(("new", 1),)) == extra_of("anthropic", given_object, ("type", "text"))


def test_an_extra_of_another_dialect_is_left_out() -> None:
    extra = Extra(dialect="chat", fields=(("new", 1),), keys=("new", "type"))

    assert {"type": "text"} == lay_out({"type": "text"}, extra, "anthropic")


def test_a_typed_value_wins_over_the_misfit_that_it_replaced() -> None:
    misfit: tuple[tuple[str, Json], ...] = (("text", None), ("new", 1))
    extra = Extra(dialect="anthropic", fields=misfit, keys=("new", "text", "type"))
    whole = lay_out({"type": "text", "text": "hi"}, extra, "anthropic")

    assert [("new", 1), ("text", "hi"), ("type", "text")] == list(whole.items())


def test_fields_without_a_place_come_last() -> None:
    assert ["b", "a", "c"] == list(in_order({"a": 1, "b": 2, "c": 3}, ("b", "x", "a")))


def test_an_unknown_field_is_found_by_its_name() -> None:
    extra = Extra(dialect="anthropic", fields=(("new", 1),))

    assert (1, None) == (extra.get("new"), extra.get("newer"))
