"""One layer of settings: a file, the environment or a command line, read and checked.

It knows TOML and the table of keys. It must never know which layer counts. A key that does not exist, or a value of the
wrong kind, is an error that names the place and what was probably meant; nothing is guessed and nothing is skipped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import read_file
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.value import value
from perdure.project.settings.keys import KEYS, key_named, nearest
from perdure.project.settings.kinds import Value, WrongValue

LIMIT = 256_000
"""Bytes of a settings file; one that a person writes has a hundredth of it."""


@value
class Layer:
    """What one place sets."""

    source: str
    """For people: `the command line`, `PERDURE_*`, or the path of a file."""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """By the name of the key."""


def read_layer(path: Path, within: Path | None = None) -> Layer:
    """The layer of a file; empty where there is none. The file may not lead out of `within` by a link.

    Raises:
        InvalidSetting: it cannot be read, is no TOML, or sets what does not exist.
    """
    place = one_line(str(path))
    reading = read_file(path, limit=LIMIT, within=within)
    if reading is None:
        return Layer(source=place)
    if reading.caution is not None:
        raise InvalidSetting(str(reading.caution))
    return from_text(reading.text, place)


def from_text(text: str, source: str) -> Layer:
    """The layer of a text in TOML.

    Raises:
        InvalidSetting: it is no TOML, or sets what does not exist.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidSetting(f"{source} is no TOML: {one_line(str(error))}") from error
    return Layer(source=source, values={name: _checked(name, given, source) for name, given in _leaves(document)})


def from_environment(environment: Mapping[str, str]) -> Layer:
    """The layer of the environment variables that a key has a name for.

    Raises:
        InvalidSetting: a value of the wrong kind.
    """
    values: dict[str, Value] = {}
    for key in KEYS:
        text = environment.get(key.variable)
        if text is None:
            continue
        try:
            values[key.name] = key.kind.parse(text)
        except WrongValue as wrong:
            raise InvalidSetting(f"{key.variable} is not {wrong}") from None
    return Layer(source="the environment", values=values)


def from_flags(pairs: Mapping[str, str | int | float | bool | tuple[str, ...] | None]) -> Layer:
    """The layer of a command line; None says nothing.

    Raises:
        InvalidSetting: no such key, or a value of the wrong kind.
    """
    values: dict[str, Value] = {}
    for name, given in pairs.items():
        if given is None:
            continue
        key = key_named(name)
        if key is None:
            raise _unknown(name, "the command line")
        try:
            values[name] = key.kind.parse(given) if isinstance(given, str) else key.kind.check(given)
        except WrongValue as wrong:
            raise InvalidSetting(f"{name} on the command line is not {wrong}") from None
    return Layer(source="the command line", values=values)


def _leaves(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """The keys of a document by their dotted names. A table that is a key's value stays whole."""
    for name, given in table.items():
        dotted = f"{before}{name}"
        if key_named(dotted) is None and isinstance(given, Mapping) and given:
            yield from _leaves(cast("Mapping[str, object]", given), f"{dotted}.")
        elif key_named(dotted) is not None or not isinstance(given, Mapping):
            yield dotted, given


def _checked(name: str, given: object, source: str) -> Value:
    key = key_named(name)
    if key is None:
        raise _unknown(name, source)
    try:
        return key.kind.check(given)
    except WrongValue as wrong:
        raise InvalidSetting(f"{name} in {source} is not {wrong}") from None


def _unknown(name: str, source: str) -> InvalidSetting:
    meant = nearest(name)
    hint = f"did you mean {meant!r}?" if meant else "`perdure config` lists every key"
    return InvalidSetting(f"{source} sets {clip(one_line(name), 80)!r}, which does not exist; {hint}")
