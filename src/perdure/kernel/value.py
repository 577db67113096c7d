"""A value: a class whose objects never change, that two of are equal where their fields are.

`@value` means what `@dataclass(frozen=True, slots=True, kw_only=True)` means, and what reads dataclasses (`fields`,
`replace`, `asdict`, `match`) reads values. The difference is when the methods are written. The standard library
compiles six per class as a module is loaded, which takes longer than all else that loading does, and most commands use
few of the classes. Here a class is made with its fields alone, and `__init__`, `__eq__` and `__hash__` are written when
they are first looked up. `@record` does the same for other classes of fields. Not supported, since none needs it:
`InitVar`, and a dataclass of the standard library as base or heir.

It knows classes. It must never know what one means.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

__all__ = ["record", "value"]

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(cls: type[_Class]) -> type[_Class]:
    """Make a class one of values. What it defines itself (`__repr__`, `__eq__`, `__hash__`) stays."""
    return _made(cls, frozen=True, kw_only=True)


@dataclass_transform(field_specifiers=(field,))
def record(*, frozen: bool = False, kw_only: bool = False) -> Callable[[type[_Class]], type[_Class]]:
    """What `@dataclass(slots=True)` is, written as late as a value: for what changes, or is made by position."""
    return lambda cls: _made(cls, frozen=frozen, kw_only=kw_only)


def _made(cls: type[_Class], *, frozen: bool, kw_only: bool) -> type[_Class]:
    # Where there is none, the standard library reads the signature for one, and that writes `__init__`.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    own = made.__dict__
    for name, method in (_FROZEN if frozen else _CHANGING).items():
        if name not in own:
            setattr(made, name, method)
    # A class that defines `__eq__` alone has None for `__hash__`; in a frozen dataclass the fields tell the hash then.
    for name, write in (_WRITTEN | {"__hash__": _hash} if frozen else _WRITTEN).items():
        if own.get(name) is None:
            setattr(made, name, _Unwritten(made, name, write))
    return made


class _Unwritten:
    """A method until it is looked up. It then gives way to the function, which a signature is read from as well."""

    __slots__ = ("_home", "_name", "_write")

    def __init__(self, home: type, name: str, write: Callable[[type], Callable[..., object]]) -> None:
        self._home = home
        self._name = name
        self._write = write

    def __get__(self, instance: object, owner: type) -> object:
        written = self._write(self._home)
        setattr(self._home, self._name, written)
        return written if instance is None else written.__get__(instance, owner)


class _Made:
    """What a signature shows as the default of a field that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


def _init(cls: type) -> Callable[..., object]:
    """`__init__`, by the name of each field. Slots are set by their descriptors, since the class refuses to be set."""
    heads, named, lines = ["self"], list[str](), list[str]()
    # What the function closes over: setters, defaults and factories.
    around: dict[str, object] = {"_unset": _Made()}
    for each in _fields(cls):
        name, given, optional = each.name, each.name, ""
        around[f"_set_{name}"] = getattr(cls, name).__set__
        if each.default_factory is not MISSING:
            around[f"_make_{name}"] = each.default_factory
            given, optional = f"_make_{name}() if {name} is _unset else {name}", "=_unset"
        elif each.default is not MISSING:
            around[f"_default_{name}"] = each.default
            optional = f"=_default_{name}"
        if each.init:
            (named if each.kw_only else heads).append(f"{name}{optional}")
        else:
            given = f"_make_{name}()" if optional == "=_unset" else f"_default_{name}"
        if each.init or optional:
            lines.append(f"_set_{name}(self, {given})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    heads += ["*", *named] if named else []
    written = _compiled(cls, f"__init__({', '.join(heads)})", lines or ["pass"], around)
    written.__annotations__ = {each.name: each.type for each in _fields(cls) if each.init} | {"return": None}
    return written


def _eq(cls: type) -> Callable[..., object]:
    names = [each.name for each in _fields(cls) if each.compare]
    mine, theirs = (_content(who, names) for who in ("self", "other"))
    lines = [f"return {mine} == {theirs} if other.__class__ is self.__class__ else NotImplemented"]
    return _compiled(cls, "__eq__(self, other)", lines, {})


def _hash(cls: type) -> Callable[..., object]:
    names = [each.name for each in _fields(cls) if (each.compare if each.hash is None else each.hash)]
    return _compiled(cls, "__hash__(self)", [f"return hash({_content('self', names)})"], {})


def _content(who: str, names: list[str]) -> str:
    return f"({''.join(f'{who}.{name},' for name in names)})"


def _compiled(cls: type, head: str, lines: list[str], around: dict[str, object]) -> Callable[..., object]:
    """A function that closes over what is around it, and finds the names of annotations where the class stands."""
    body = "\n  ".join(lines)
    text = f"def write({', '.join(around)}):\n def {head}:\n  {body}\n return {head.partition('(')[0]}"
    scope: dict[str, Callable[..., Callable[..., object]]] = {}
    # The standard library writes dataclasses in this way too. All that is in the text are names of fields.
    exec(text, sys.modules[cls.__module__].__dict__, scope)  # noqa: S102
    written = scope["write"](*around.values())
    written.__qualname__ = f"{cls.__qualname__}.{written.__name__}"
    return written


def _repr(self: object) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in _fields(type(self)) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _set(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, each.name) for each in _fields(type(self))]


def _restore(self: object, state: list[object]) -> None:
    for each, one in zip(_fields(type(self)), state, strict=True):
        object.__setattr__(self, each.name, one)


def _fields(cls: type) -> tuple[Field[object], ...]:
    # A checker knows a class with fields by its decorator, and here it may be any.
    return fields(cast("Any", cls))


_CHANGING: dict[str, Callable[..., object] | None] = {"__repr__": _repr, "__hash__": None}
_FROZEN: dict[str, Callable[..., object] | None] = {
    "__repr__": _repr,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
_WRITTEN = {"__init__": _init, "__eq__": _eq}
