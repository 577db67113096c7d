"""Dice that fall the same on every machine and under every version of Python.

It knows splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). It must never know what
is drawn for. `random` is not used, since its sequences are no promise between versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MASK = (1 << 64) - 1


class Dice:
    """A seeded sequence of draws. Two dice of one seed fall alike."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def roll(self) -> int:
        """64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, limit: int) -> int:
        """A number from 0 up to, and without, `limit`."""
        return self.roll() % limit

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return low + self.roll() % (high - low + 1)

    def chance(self, share: float) -> bool:
        """True in this share of draws."""
        return (self.roll() >> 11) < share * (1 << 53)

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.roll() % len(choices)]

    def some(self, choices: Sequence[T], count: int) -> list[T]:
        """That many different ones, or all, in an order of chance."""
        left = list(choices)
        return [left.pop(self.roll() % len(left)) for _ in range(min(count, len(left)))]

    def weighted(self, choices: Sequence[tuple[T, int]]) -> T:
        """One of them, by whole weights."""
        point = self.below(sum(weight for _, weight in choices))
        for choice, weight in choices:
            point -= weight
            if point < 0:
                return choice
        raise AssertionError("weights are not negative, so one of them holds the point")

    def hex(self, digits: int) -> str:
        """Hexadecimal digits, as in a hash or an id."""
        text = ""
        while len(text) < digits:
            text += f"{self.roll():016x}"
        return text[:digits]

    def fork(self, label: str) -> Dice:
        """Other dice, whose sequence depends on these and on the label, and on nothing drawn from others later."""
        value = self._state
        for character in label:
            value = ((value ^ ord(character)) * 0x100000001B3) & _MASK
        return Dice(value)
