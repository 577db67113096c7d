"""What a codec found around the fields that we know, so that it goes round untouched.

It knows names and positions of fields. It must never know what a field means: a provider's new field is carried, equal,
on the day it appears. An `Extra` belongs to the dialect it came from and never leaves in another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from perdure.kernel.messages.canonical import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
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
    fields = tuple((key, value) for key, value in given.items() if key not in known)
    usual = tuple(key for key in known if key in given) + tuple(key for key, _ in fields)
    if keys == usual:
        return Extra(dialect=dialect, fields=fields) if fields else None
    return Extra(dialect=dialect, fields=fields, keys=keys)


def lay_out(known: JsonObject, extra: Extra | None, dialect: str) -> JsonObject:
    """The wire object: `known` (in the usual order) together with what `extra` carries, in the order given."""
    if extra is None or extra.dialect != dialect:
        return known
    whole = {**known, **dict(extra.fields)}
    if not extra.keys:
        return whole
    ordered = {key: whole[key] for key in extra.keys if key in whole}
    return ordered | whole
