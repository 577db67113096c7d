"""A regular expression that is compiled when it is first used.

`pattern` means what `re.compile` means. Tables of expressions stand in many modules, compiling one takes a fifth of a
millisecond to several, and most commands use few of them. One that is wrong is found by the test that compiles all.

It knows expressions. It must never know what one is looked for in.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast

__all__ = ["pattern"]


def pattern(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, compiled at its first use. For what stands in a module; `re.compile` for the rest."""
    # It has whatever a pattern has. What asks for the class itself sees the difference, as the functions of `re` do.
    return cast("re.Pattern[AnyStr]", _Uncompiled(expression, flags))


class _Uncompiled:
    def __init__(self, expression: str | bytes, flags: int) -> None:
        self._given = expression, flags

    def __getattr__(self, name: str) -> object:
        """Called for what is not there yet. From then on everything is, at the price of any other attribute."""
        if name.startswith("_"):
            raise AttributeError(name)
        expression, flags = self._given
        compiled: re.Pattern[str] | re.Pattern[bytes] = re.compile(expression, flags)
        self.__dict__ |= {each: getattr(compiled, each) for each in _PUBLIC}
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"pattern{self._given!r}"


_PUBLIC = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))
