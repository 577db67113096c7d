"""The fields of a stored JSON object, each as the type that it must have.

It knows types and how to name a field that has another one. It must never know what a field means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages.canonical import Json, JsonObject, kind_of

T = TypeVar("T")

MOST_TOKENS = 10**15
"""No window and no bill comes near it. A server may say any number, and one that no float holds ends the session."""


def tokens_of(value: Json) -> int:
    """A count of tokens that somebody else gave; 0 where it is none that could be true."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_TOKENS else 0


class Fields:
    """Reads one object. Every method raises InvalidJson where the field is of another kind, and names it."""

    __slots__ = ("_given", "_place")

    def __init__(self, given: Json, place: str) -> None:
        """Read `given`, which messages call `place`, such as `the message`.

        Raises:
            InvalidJson: it is no object.
        """
        if not isinstance(given, dict):
            raise InvalidJson(f"{place} must be an object, not {kind_of(given)}")
        self._given = given
        self._place = place

    @property
    def whole(self) -> JsonObject:
        """The object itself."""
        return self._given

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self._given.get(name)
        return value if isinstance(value, str) else self.refuse(name, "a string")

    def text_or(self, name: str, absent: str) -> str:
        """A string, or `absent` where there is none."""
        return self.text(name) if name in self._given else absent

    def optional_text(self, name: str) -> str | None:
        """A string, or None where it is absent or null."""
        value = self._given.get(name)
        return value if value is None or isinstance(value, str) else self.refuse(name, "a string")

    def one_of(self, name: str, *known: T) -> T:
        """One of the texts that are known."""
        value = self._given.get(name)
        return next((one for one in known if one == value), None) or self.refuse(name, f"one of {known}")

    def number(self, name: str) -> int:
        """An integer; 0 where it is absent."""
        value = self._given.get(name, 0)
        return value if isinstance(value, int) and not isinstance(value, bool) else self.refuse(name, "an integer")

    def tokens(self, name: str) -> int:
        """A count of tokens; 0 where it is absent, or none that could be true."""
        return tokens_of(self.number(name))

    def time(self, name: str) -> float | None:
        """A number, or None where it is absent or null. An integer stays one: a value must come back as it was."""
        value = self._given.get(name)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        return self.refuse(name, "a number")

    def truth(self, name: str) -> bool:
        """A boolean; False where it is absent."""
        return self.optional_truth(name) or False

    def optional_truth(self, name: str) -> bool | None:
        """A boolean, or None where it is absent or null."""
        value = self._given.get(name)
        return value if value is None or isinstance(value, bool) else self.refuse(name, "a boolean")

    def value(self, name: str) -> Json:
        """Any value; None where it is absent."""
        return self._given.get(name)

    def object(self, name: str) -> JsonObject:
        """An object that must be there."""
        value = self._given.get(name)
        return value if isinstance(value, dict) else self.refuse(name, "an object")

    def optional_object(self, name: str) -> JsonObject | None:
        """An object, or None where it is absent or null."""
        value = self._given.get(name)
        return value if value is None or isinstance(value, dict) else self.refuse(name, "an object")

    def items(self, name: str) -> list[Json]:
        """An array; an empty one where it is absent."""
        value = self._given.get(name, [])
        return value if isinstance(value, list) else self.refuse(name, "an array")

    def texts(self, name: str) -> tuple[str, ...]:
        """An array of strings; an empty one where it is absent."""
        items = self.items(name)
        found = tuple(item for item in items if isinstance(item, str))
        return found if len(found) == len(items) else self.refuse(name, "an array of strings")

    def each(self, name: str, make: Callable[[Json], T]) -> tuple[T, ...]:
        """What `make` gives for each item of an array; an empty tuple where it is absent."""
        return tuple([make(item) for item in self.items(name)])

    def refuse(self, name: str, needed: str) -> NoReturn:
        """Raise InvalidJson: the field should have been something else."""
        raise InvalidJson(f"{name!r} of {self._place} must be {needed}, not {kind_of(self._given.get(name))}")
