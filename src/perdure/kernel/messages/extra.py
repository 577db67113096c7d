"""What a codec found around the fields that we know, so that it goes round untouched.

It knows names and positions of fields. It must never know what a field means: a provider's new field is carried, equal,
on the day it appears. An `Extra` belongs to the dialect it came from and never leaves in another one.
"""

from __future__ import annotations

from functools import lru_cache

from perdure.kernel.messages.canonical import Json, JsonObject
from perdure.kernel.value import value


@value
class Extra:
    """Unknown fields of one wire object, and its key order where that is not the usual one."""

    dialect: str
    """The dialect that the fields belong to; a codec of another one leaves them out."""
    fields: tuple[tuple[str, Json], ...] = ()
    """Fields without a typed place, in the order given."""
    keys: tuple[str, ...] = ()
    """The order of all keys as given; empty where it was the usual one: known fields first, then `fields`."""

    def get(self, name: str) -> Json:
        """The value of an unknown field, or None."""
        return next((value for key, value in self.fields if key == name), None)


def extra_of(dialect: str, given: JsonObject, known: tuple[str, ...]) -> Extra | None:
    """What `given` has beyond the fields `known`, which stand in their usual order.

    A field that is known by name but whose value does not fit its type is left out of `known` by the caller, and so is
    carried like an unknown one.
    """
    keys = tuple(given)
    if keys == known:
        return None
    unknown, order = _shape(keys, known)
    if unknown:
        return Extra(dialect=dialect, fields=tuple((name, given[name]) for name in unknown), keys=order)
    return _reordered(dialect, order) if order else None


def lay_out(known: JsonObject, extra: Extra | None, dialect: str) -> JsonObject:
    """The wire object: `known` (in the usual order) together with what `extra` carries, in the order given.

    A field that has a typed value by now wins over the misfit that was carried in its place.
    """
    if extra is None or extra.dialect != dialect:
        return known
    whole = known | {name: value for name, value in extra.fields if name not in known}
    return in_order(whole, extra.keys) if extra.keys else whole


def in_order(whole: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """The same object with its fields in the order of `keys`; fields that `keys` does not name come last."""
    return {key: whole[key] for key in keys if key in whole} | whole


# Thousands of blocks share a handful of shapes, so both are worked out once per shape; the limit is for strangers.
@lru_cache(maxsize=256)
def _shape(keys: tuple[str, ...], known: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The unknown names among `keys`, and the order of all keys where it is not the usual one."""
    unknown = tuple(key for key in keys if key not in known)
    usual = tuple(key for key in known if key in keys) + unknown
    return unknown, () if keys == usual else keys


@lru_cache(maxsize=256)
def _reordered(dialect: str, keys: tuple[str, ...]) -> Extra:
    return Extra(dialect=dialect, keys=keys)
