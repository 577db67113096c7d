"""`perdure config` and `perdure trust`: what can be set, what is set, and where.

It knows the table of keys and the two files. It must never know what a setting does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from perdure.cli.agent.place import Place, place_at, project_file, user_file
from perdure.guard.plain import one_line
from perdure.kernel.errors import DiskRefused, InvalidSetting
from perdure.kernel.messages import Json, encode_json
from perdure.project import home_of, places_of
from perdure.project.settings import Key, from_text, key_named, trust
from perdure.project.settings.keys import nearest
from perdure.project.settings.kinds import Value, WrongValue

EPILOG = """\
Settings come from, the nearest first: options, variables such as PERDURE_CONTEXT_PRESET, .perdure/settings.toml of the
project, and settings.toml in ~/.perdure. A key marked with * counts from a project's file only once you trust the
project (`perdure trust`), since it can run a program or send what you say somewhere else.

examples:
  perdure config                                   every key, its value and where it was set
  perdure config get context.preset
  perdure config set model claude-opus-5-5
  perdure config set --project permissions.allow 'bash(make test);bash(git status:*)'
  perdure config unset model
"""

ACTIONS: Mapping[str, str] = {
    "list": "every setting, its value and where it was set",
    "get": "one value alone",
    "set": "write a value into your file, or the project's",
    "unset": "remove it from the file",
    "path": "where the file is",
}


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `config`."""
    parser = commands.add_parser(
        "config",
        help="show and change settings",
        description="Shows every setting with its value and source, or changes one.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _options(parser)
    parser.set_defaults(run=run, action="list")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    for action, says in ACTIONS.items():
        inner = actions.add_parser(action, help=says, description=f"{says.capitalize()}.")
        if action in ("get", "set", "unset"):
            inner.add_argument("key", metavar="KEY", help="the name of a setting")
        if action == "set":
            inner.add_argument("value", metavar="VALUE", help="its value")
        _options(inner, argparse.SUPPRESS)
        inner.set_defaults(run=run, action=action)


# argparse gives the type of a group of subcommands no public name.
def add_trust(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add `trust`."""
    parser = commands.add_parser(
        "trust",
        help="let a project's settings run programs",
        description="Remembers that you trust a project: its hooks, servers, rules and SYSTEM.md count from then on.",
        epilog="example:\n  perdure trust ~/work/service",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, nargs="?", default=Path())
    parser.set_defaults(run=run_trust)


def _options(parser: argparse.ArgumentParser, suppressed: str | None = None) -> None:
    """Options that stand before or behind the action. The inner ones may not set what an outer one set."""
    no = False if suppressed is None else suppressed
    parser.add_argument("--project", action="store_true", help="the file of the project, not your own", default=no)
    parser.add_argument("--json", action="store_true", help="print JSON", default=no)
    parser.add_argument("--cwd", metavar="DIR", type=Path, default=suppressed or Path(), help="a folder of the project")


def run(options: argparse.Namespace) -> int:
    """Show or change settings."""
    place = places_of(options.cwd, home_of(os.environ))
    file = project_file(place) if options.project else user_file(place)
    if options.action == "path":
        print(file)
    elif options.action in ("set", "unset"):
        _change(file, _key(options.key), None if options.action == "unset" else options.value)
        print(f"{'removed from' if options.action == 'unset' else 'written to'} {file}")
    else:
        _show(place_at(options.cwd, os.environ), _key(options.key) if options.action == "get" else None, options.json)
    return 0


def run_trust(options: argparse.Namespace) -> int:
    """Trust a folder."""
    places = places_of(options.folder, home_of(os.environ))
    trust(places.home, places.root)
    print(f"{places.root} is trusted: what it sets counts")
    return 0


def written(text: str, name: str, value: Value) -> str:
    """The text of a settings file with a key set, or removed where the value is None; comments stay.

    Raises:
        InvalidSetting: the text is no TOML.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise InvalidSetting(f"the settings file is no TOML: {one_line(str(error))}") from error
    table, _, last = name.rpartition(".")
    inside = cast("MutableMapping[str, object]", document)
    if table:
        if table not in document:
            if value is None:
                return text
            inside[table] = tomlkit.table()
        found = document[table]
        if not isinstance(found, Table):
            raise InvalidSetting(f"{table!r} in the settings file is no table")
        inside = cast("MutableMapping[str, object]", found)
    if value is None:
        inside.pop(last, None)
    else:
        inside[last] = list(value) if isinstance(value, tuple) else value
    return tomlkit.dumps(document)


def _change(file: Path, key: Key, given: str | None) -> None:
    """Write a key into a file, or remove it. The new text has to be right before it counts."""
    try:
        value = None if given is None else key.kind.parse(given)
    except WrongValue as wrong:
        raise InvalidSetting(f"{key.name} is not {wrong}") from None
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        after = written(before, key.name, value)
        from_text(after, str(file))
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(file, after.encode())
    except OSError as error:
        raise DiskRefused(f"{str(file)!r} cannot be written ({error.strerror}); nothing was changed") from error


def _replace(file: Path, data: bytes) -> None:
    """The old text or the new one, never a part of either. A link is written through, since people keep settings so."""
    real = file.resolve()
    descriptor, scratch = tempfile.mkstemp(prefix=f".{real.name}-", dir=real.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(scratch).replace(real)
    except OSError:
        Path(scratch).unlink(missing_ok=True)
        raise


def _key(name: str) -> Key:
    key = key_named(name)
    if key is None:
        meant = nearest(name)
        raise InvalidSetting(f"there is no setting {name!r}" + (f"; did you mean {meant!r}?" if meant else ""))
    return key


def _show(place: Place, only: Key | None, as_json: bool) -> None:
    shown = [setting for setting in place.settled.settings if only is None or setting.key is only]
    if as_json:
        rows: list[Json] = [
            {
                "key": one.key.name,
                "value": _json(one.value),
                "source": one.source,
                "says": one.key.says,
                "kind": one.key.kind.words,
                "variable": one.key.variable,
                "needs_trust": one.key.guarded,
            }
            for one in shown
        ]
        print(encode_json(rows).decode())
        return
    if only is not None:
        print(_told(shown[0].value))
        return
    table = ""
    for one in shown:
        head = one.key.name.partition(".")[0] if "." in one.key.name else ""
        if head != table:
            print()
            table = head
        star = "*" if one.key.guarded else " "
        print(f"{star} {one.key.name:<28}{_told(one.value):<14}  {one.key.says}")
        print(f"{'':<30}{one.key.kind.words}" + ("" if one.source == "default" else f"; from {one.source}"))
    for caution in place.cautions:
        print(f"\n{caution}")
    print("\n* counts from a project's file only where you trust the project (`perdure trust`)")


def _told(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return one_line(str(value))
    if isinstance(value, Mapping):
        return ", ".join(one_line(name) for name in value) or "-"
    return "; ".join(one_line(one) if isinstance(one, str) else "{...}" for one in value) or "-"


def _json(value: Value) -> Json:
    """Without what stands inside of tables, which may hold keys of servers."""
    if isinstance(value, Mapping):
        return dict.fromkeys(value, "...")
    if isinstance(value, tuple):
        return [one if isinstance(one, str) else "..." for one in value]
    return value
