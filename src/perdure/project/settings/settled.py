"""Which setting counts: the command line, then the environment, the project, the user, the default.

It knows the order, and what a repository may not decide before it is trusted. It must never know where a layer comes
from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perdure.guard.reading import Caution
from perdure.kernel.agent import Bounds
from perdure.kernel.context import Settings, preset
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.value import record, value
from perdure.project.settings.keys import KEYS, Key
from perdure.project.settings.kinds import Table, Value
from perdure.project.settings.layers import Layer

_JOINED = frozenset({"permissions.deny", "permissions.ask"})
"""Rules that forbid or ask add up over all layers: a nearer one cannot lift a farther one."""


@value
class Setting:
    """One setting as it counts."""

    key: Key
    value: Value
    source: str
    """Where it was set; `default` where nobody did."""


@record(frozen=True)
class Settled:
    """All settings as they count."""

    settings: tuple[Setting, ...]
    """In the order of `KEYS`."""
    cautions: tuple[Caution, ...] = ()
    """What a repository set and may not."""

    def value(self, name: str) -> Value:
        """The value of a key; `KeyError` where there is none of the name."""
        return self._named(name).value

    def text(self, name: str) -> str | None:
        """The value of a key of text."""
        value = self.value(name)
        return value if isinstance(value, str) else None

    def flag(self, name: str) -> bool:
        """The value of a key that says yes or no."""
        return self.value(name) is True

    def number(self, name: str) -> float | None:
        """The value of a key of a number; None where none is set."""
        value = self.value(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def whole(self, name: str) -> int | None:
        """The value of a key of a whole number; None where none is set."""
        value = self.number(name)
        return None if value is None else int(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """The value of a key of several texts."""
        value = self.value(name)
        return tuple(one for one in value if isinstance(one, str)) if isinstance(value, tuple) else ()

    def tables(self, name: str) -> tuple[Table, ...]:
        """The value of a key of several tables."""
        value = self.value(name)
        return tuple(one for one in value if isinstance(one, Mapping)) if isinstance(value, tuple) else ()

    def named(self, name: str) -> Mapping[str, Table]:
        """The value of a key of tables under names."""
        value = self.value(name)
        return value if isinstance(value, Mapping) else {}

    def source(self, name: str) -> str:
        """Where a key was set."""
        return self._named(name).source

    def engine(self) -> Settings:
        """The settings of the context engine.

        Raises:
            InvalidSetting: they do not fit together.
        """
        chosen = preset(self.text("context.preset") or "balanced")
        for name in ("entry_limit", "clear_growth", "fold_growth"):
            given = self.value(f"context.{name}")
            if given is not None:
                chosen = replace(chosen, **{name: None if given == "off" else given})
        for name in ("compact_ratio", "low_water", "keep_results", "keep_tail", "checkpoint_size"):
            given = self.value(f"context.{name}")
            if given is not None:
                chosen = replace(chosen, **{name: given})
        return chosen

    def bounds(self) -> Bounds:
        """How far one run may go."""
        return Bounds(
            turns=self.whole("limits.turns"), tokens=self.whole("limits.tokens"), usd=self.number("limits.usd")
        )

    def _named(self, name: str) -> Setting:
        for setting in self.settings:
            if setting.key.name == name:
                return setting
        raise KeyError(name)


def settle(layers: Sequence[Layer], repository: Layer, *, trusted: bool) -> Settled:
    """The settings that count.

    Args:
        layers: The nearest first: command line, environment, [repository,] user.
        repository: The one of `layers` that comes with the repository.
        trusted: Whether the user trusts the repository.

    Raises:
        InvalidSetting: what counts does not fit together.
    """
    cautions = tuple(
        Caution(
            place=repository.source,
            what=f"sets {name!r}, which counts only in a folder that you trust (`perdure trust`); it was left out",
        )
        for name in repository.values
        if not trusted and _is_guarded(name)
    )
    settled = Settled(tuple(_settled(key, layers, repository, trusted=trusted) for key in KEYS), cautions)
    try:
        settled.engine()
    except InvalidSetting as error:
        raise InvalidSetting(f"the settings under [context] do not fit together: {error}") from error
    return settled


def _settled(key: Key, layers: Sequence[Layer], repository: Layer, *, trusted: bool) -> Setting:
    heard = [
        layer
        for layer in layers
        if key.name in layer.values and (trusted or not key.guarded or layer is not repository)
    ]
    if not heard:
        return Setting(key=key, value=key.default, source="default")
    if key.name in _JOINED:
        rules = (rule for layer in heard for rule in _rules(layer.values[key.name]))
        return Setting(key=key, value=tuple(dict.fromkeys(rules)), source=", ".join(layer.source for layer in heard))
    return Setting(key=key, value=heard[0].values[key.name], source=heard[0].source)


def _rules(value: Value) -> tuple[str, ...]:
    return tuple(rule for rule in value if isinstance(rule, str)) if isinstance(value, tuple) else ()


def _is_guarded(name: str) -> bool:
    return any(key.guarded for key in KEYS if key.name == name)
