"""A value is what the frozen dataclass of the standard library is, in all that a caller can see."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.value import record, value


@value
class Point:
    """A place, with notes."""

    x: int
    name: str = "somewhere"
    notes: list[str] = field(default_factory=list[str], repr=False)
    seen: int = field(default=0, compare=False)
    kept: dict[str, str] = field(default_factory=dict[str, str], init=False, compare=False)


@value
class Deep(Point):
    """A place below."""

    depth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """What `Point` is, as the standard library makes it."""

    x: int
    name: str = "somewhere"
    notes: list[str] = field(default_factory=list[str], repr=False)
    seen: int = field(default=0, compare=False)
    kept: dict[str, str] = field(default_factory=dict[str, str], init=False, compare=False)


@value
# The fields tell the hash of it.
class Own:  # noqa: PLW1641
    """One that has its own mind about what is equal."""

    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("empty")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.text.lower() == other.text.lower()

    def __repr__(self) -> str:
        return f"<{self.text}>"


@record()
class Count:
    """What changes, and is made by position."""

    number: int
    seen: list[str] = field(default_factory=list[str])
    left: int = field(init=False)
    last: str = field(default="", kw_only=True)


@value
class Nothing:
    """No fields."""


ARGUMENTS = st.fixed_dictionaries(
    {"x": st.integers(0, 2)},
    optional={"name": st.sampled_from(["a", "b"]), "notes": st.lists(st.just("n")), "seen": st.integers(0, 2)},
)


@given(ARGUMENTS, ARGUMENTS)
def test_values_are_shown_compared_and_replaced_as_dataclasses_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    def seen(make: Callable[..., Point | Plain]) -> tuple[object, ...]:
        mine, theirs = make(**one), make(**other)
        return (
            repr(mine).partition("(")[2],
            mine == theirs,
            asdict(mine),
            repr(replace(mine, x=9)).partition("(")[2],
            [each.name for each in fields(mine)],
            str(inspect.signature(make)),
        )

    assert seen(Plain) == seen(Point)


def test_a_value_has_slots_and_refuses_every_change() -> None:
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        # Said in this way, since a checker knows that it is refused.
        setattr(point, "x", 2)  # noqa: B010
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        delattr(point, "x")

    assert (1, False, Point(x=1)) == (point.x, hasattr(point, "__dict__"), point)


def test_values_are_made_by_keywords_of_fields_alone() -> None:
    make = cast("Callable[..., Point]", Point)

    for call in (lambda: make(1), lambda: make(x=1, y=2), make, lambda: make(x=1, kept={})):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
            call()


def test_defaults_are_shared_and_what_a_factory_makes_is_not() -> None:
    one, other = Point(x=1), Point(x=1)
    one.notes.append("mine")
    one.kept["mine"] = ""

    assert ([], {}, "somewhere") == (other.notes, other.kept, other.name)


def test_what_a_class_defines_itself_stays() -> None:
    with pytest.raises(ValueError, match="empty"):
        Own(text="")

    assert ("<A>", True, hash(Own(text="A"))) == (
        repr(Own(text="A")),
        Own(text="A") == Own(text="a"),
        hash(Own(text="A")),
    )


def test_an_heir_has_the_fields_of_both_and_equals_only_its_kind() -> None:
    deep = Deep(x=1, depth=3)

    assert (Deep(x=1, depth=3), False, "Deep(x=1, name='somewhere', seen=0, kept={}, depth=3)") == (
        deep,
        deep == Point(x=1),
        repr(deep),
    )


def test_a_value_survives_copies_and_pickles() -> None:
    point = Deep(x=1, notes=["a"])

    # Our own bytes.
    assert (point, point, point) == (copy(point), deepcopy(point), pickle.loads(pickle.dumps(point)))  # noqa: S301


def test_equal_values_hash_alike_by_the_fields_that_compare() -> None:
    @value
    class Mark:
        place: int
        shown: str = field(default="", compare=False)
        size: int = field(default=0, hash=False)

    assert (1, hash(Mark(place=1, size=1))) == (len({Mark(place=1), Mark(place=1, shown="x")}), hash(Mark(place=1)))


def test_a_value_without_fields_equals_every_other() -> None:
    assert (Nothing(), "Nothing()", hash(Nothing())) == (Nothing(), repr(Nothing()), hash(Nothing()))


def test_a_record_is_made_by_position_and_may_change() -> None:
    count = Count(1, ["a"], last="a")
    count.number, count.left = 2, 3
    hashed = Count.__hash__

    assert ("Count(number=2, seen=['a'], left=3, last='a')", None) == (repr(count), hashed)


def test_a_frozen_record_is_made_by_position_and_does_not_change() -> None:
    @record(frozen=True)
    class Place:
        x: int
        y: int = 0

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        # Said in this way, since a checker knows that it is refused.
        setattr(Place(1), "x", 2)  # noqa: B010

    assert (Place(1, 0), hash(Place(1)), ("x", "y")) == (Place(1), hash(Place(x=1)), Place.__match_args__)
