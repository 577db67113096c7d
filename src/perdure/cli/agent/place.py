"""Where a command was called, and what is set there.

It knows which files and variables are read, in which order. It must never know what a setting is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from perdure.guard.reading import Caution
from perdure.kernel.errors import UserError
from perdure.kernel.value import value
from perdure.project import Places, home_of, places_of
from perdure.project.settings import Layer, Settled, from_environment, from_flags, is_trusted, read_layer, settle

FILE = "settings.toml"


@value
class Place:
    """A working directory with its settings."""

    places: Places
    settled: Settled
    environment: Mapping[str, str]
    trusted: bool
    """Whether the user trusts the repository."""

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """What was left out of the settings, and why."""
        return self.settled.cautions


def place_at(cwd: Path, environment: Mapping[str, str], flags: Layer | None = None, *, trusted: bool = False) -> Place:
    """The place of a working directory. `trusted` is the user's word for this one call.

    Raises:
        UserError: no such folder.
        InvalidSetting: what is set is wrong.
    """
    if not cwd.is_dir():
        raise UserError(f"there is no folder {str(cwd)!r}; name one that exists with --cwd")
    places = places_of(cwd, home_of(environment))
    trusted = trusted or is_trusted(places.home, places.root)
    project = read_layer(project_file(places), within=places.root)
    user = read_layer(user_file(places))
    layers = (flags or Layer(source="the command line"), from_environment(environment), project, user)
    # In the home directory both are one file, which is the user's own.
    own = project_file(places) == user_file(places)
    settled = settle(layers, Layer(source="") if own else project, trusted=trusted)
    return Place(places=places, settled=settled, environment=environment, trusted=trusted)


def project_file(places: Places) -> Path:
    """The settings that a repository brings."""
    return places.own / FILE


def user_file(places: Places) -> Path:
    """The user's own settings."""
    return places.home / FILE


def flags_of(mode: str | None, pairs: Sequence[str]) -> Layer:
    """The settings of a command line: `--mode`, and each `KEY=VALUE` of `--set`.

    Raises:
        UserError: a pair without a value.
    """
    given: dict[str, str | None] = {"permissions.mode": mode}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise UserError(f"--set takes KEY=VALUE, and {pair!r} has no value; `perdure config` lists the keys")
        given[name.strip()] = value.strip()
    return from_flags(given)
