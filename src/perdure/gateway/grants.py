"""What a key may do: which models over which routes, and how much.

It knows patterns and limits. It must never know a key, nor what was used up so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from fnmatch import fnmatchcase
from math import inf

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Json, JsonObject
from perdure.kernel.value import value

EVERY = ("*",)


@value
class Limits:
    """How much an account may use; None: as much as it likes."""

    requests_per_minute: int | None = None
    tokens_per_day: int | None = None
    """Input and output together, as providers count them; days of UTC."""
    usd_per_month: float | None = None
    """By published prices; months of UTC. A model without one costs nothing here."""
    concurrent: int | None = None
    """Calls under way at one time, over all replicas."""
    storage: int | None = None
    """Bytes kept of its conversations."""

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return any(getattr(self, one.name) is not None for one in fields(self))


@value
class Grant:
    """What a key is good for."""

    routes: tuple[str, ...] = EVERY
    """Patterns for the names of routes."""
    models: tuple[str, ...] = EVERY
    """Patterns for the models that a client asks for."""
    auto: bool | None = None
    """Whether the engine works for its requests; None: as the route says."""
    limits: Limits = field(default_factory=Limits)

    def covers(self, route: str, model: str) -> bool:
        """Whether a model may be asked for over a route."""
        return _any(route, self.routes) and _any(model, self.models)

    def check(self) -> Grant:
        """The same, if it makes sense.

        Raises:
            InvalidSetting: a limit that is none.
        """
        for one in fields(self.limits):
            value = getattr(self.limits, one.name)
            # What is no number is not below 0 either, and nothing ever reaches it.
            if value is not None and not 0 < value < inf:
                raise InvalidSetting(f"the limit {one.name!r} is {value}; it has to be a number above 0, or left out")
        if not self.routes or not self.models:
            raise InvalidSetting("a key without a route or a model is good for nothing: name one, or leave it out")
        return self


def grant_to_json(grant: Grant) -> JsonObject:
    """A grant as a store keeps it."""
    limits = grant.limits
    return {
        "routes": [*grant.routes],
        "models": [*grant.models],
        "auto": grant.auto,
        "limits": {one.name: getattr(limits, one.name) for one in fields(limits)},
    }


def grant_from_json(given: Mapping[str, Json]) -> Grant:
    """The grant that `grant_to_json` wrote. What is not understood grants nothing."""
    auto, limits = given.get("auto"), given.get("limits")
    return Grant(
        routes=_texts(given.get("routes")),
        models=_texts(given.get("models")),
        auto=auto if isinstance(auto, bool) else None,
        limits=_limits(limits if isinstance(limits, dict) else {}),
    )


def _limits(given: JsonObject) -> Limits:
    limits = Limits()
    for one in fields(limits):
        value = given.get(one.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            # Each name is that of a field, and each field a number.
            limits = replace(limits, **{one.name: value})  # pyright: ignore[reportArgumentType]
    return limits


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
