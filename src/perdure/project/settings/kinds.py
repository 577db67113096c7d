"""What the value of a setting may be: one small checker for each kind.

It knows shapes. It must never know a key. A checker gives the value back, made exact, or says what was wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import decode_json
from perdure.kernel.value import record

Value: TypeAlias = "str | int | float | bool | tuple[str, ...] | tuple[Table, ...] | Mapping[str, Table] | None"
"""What a setting can be."""

Table: TypeAlias = Mapping[str, object]
"""A table of a settings file whose inside somebody else checks."""


class WrongValue(ValueError):
    """What was given is not what was wanted; the text says what is."""


class Kind(Protocol):
    """A kind of value."""

    @property
    def words(self) -> str:
        """What it is, for people: `a whole number`."""
        ...

    def check(self, given: object) -> Value:
        """The value.

        Raises:
            WrongValue: it is of another kind, or out of its range.
        """
        ...

    def parse(self, text: str) -> Value:
        """The value that a line of text means, as an environment variable or a command line has it.

        Raises:
            WrongValue: it means none.
        """
        ...


@record(frozen=True)
class Words:
    """Text."""

    words: str = "text"

    def check(self, given: object) -> str:
        """See `Kind`."""
        if not isinstance(given, str):
            raise WrongValue("text in quotes")
        return given

    def parse(self, text: str) -> str:
        """See `Kind`."""
        return text


@record(frozen=True)
class Choice:
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        """See `Kind`."""
        return " | ".join(self.choices)

    def check(self, given: object) -> str:
        """See `Kind`."""
        if not isinstance(given, str) or given not in self.choices:
            raise WrongValue(f"one of {', '.join(self.choices)}")
        return given

    def parse(self, text: str) -> str:
        """See `Kind`."""
        return self.check(text)


@record(frozen=True)
class Number:
    """A number within bounds."""

    whole: bool = True
    least: float = 0
    most: float | None = None
    named: tuple[str, ...] = ()
    """Words that stand for something else than a number: `off`, `auto`."""

    @property
    def words(self) -> str:
        """See `Kind`."""
        kind = "a whole number" if self.whole else "a number"
        span = f" from {self.least:g}" + (f" to {self.most:g}" if self.most is not None else "")
        return kind + span + "".join(f", or {word}" for word in self.named)

    def check(self, given: object) -> int | float | str:
        """See `Kind`."""
        if isinstance(given, str) and given in self.named:
            return given
        right = isinstance(given, int) if self.whole else isinstance(given, int | float)
        # A bool is an int to Python, and nan is in no range.
        if not right or isinstance(given, bool):
            raise WrongValue(self.words)
        number = cast("int | float", given)
        if not number >= self.least or (self.most is not None and number > self.most):
            raise WrongValue(self.words)
        return number

    def parse(self, text: str) -> int | float | str:
        """See `Kind`."""
        if text in self.named:
            return text
        try:
            return self.check(int(text.replace("_", "")) if self.whole else float(text))
        except (ValueError, OverflowError):
            raise WrongValue(self.words) from None


@record(frozen=True)
class Flag:
    """Yes or no."""

    words: str = "true | false"

    def check(self, given: object) -> bool:
        """See `Kind`."""
        if not isinstance(given, bool):
            raise WrongValue("true or false, without quotes")
        return given

    def parse(self, text: str) -> bool:
        """See `Kind`."""
        meanings = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }
        if text.lower() not in meanings:
            raise WrongValue("true or false")
        return meanings[text.lower()]


@record(frozen=True)
class Texts:
    """Several texts."""

    words: str = "a list of texts"

    def check(self, given: object) -> tuple[str, ...]:
        """See `Kind`."""
        if not isinstance(given, list | tuple) or not all(
            isinstance(one, str) for one in cast("Sequence[object]", given)
        ):
            raise WrongValue('a list of texts, such as ["one", "two"]')
        return tuple(cast("Sequence[str]", given))

    def parse(self, text: str) -> tuple[str, ...]:
        """See `Kind`."""
        if text.lstrip().startswith("["):
            return self.check(_json(text, self.words))
        return tuple(part.strip() for part in text.split(";") if part.strip())


@record(frozen=True)
class Tables:
    """Several tables; what they hold is checked by whoever uses them."""

    words: str = "a list of tables"

    def check(self, given: object) -> tuple[Table, ...]:
        """See `Kind`."""
        if not isinstance(given, list | tuple) or not all(
            isinstance(one, Mapping) for one in cast("Sequence[object]", given)
        ):
            raise WrongValue("a list of tables")
        return tuple(cast("Sequence[Table]", given))

    def parse(self, text: str) -> tuple[Table, ...]:
        """See `Kind`."""
        return self.check(_json(text, self.words))


@record(frozen=True)
class Named:
    """Tables under names; what they hold is checked by whoever uses them."""

    words: str = "tables, each under a name"

    def check(self, given: object) -> Mapping[str, Table]:
        """See `Kind`."""
        if not isinstance(given, Mapping) or not all(
            isinstance(one, Mapping) for one in cast("Mapping[str, object]", given).values()
        ):
            raise WrongValue(self.words)
        return dict(cast("Mapping[str, Table]", given))

    def parse(self, text: str) -> Mapping[str, Table]:
        """See `Kind`."""
        return self.check(_json(text, self.words))


def _json(text: str, words: str) -> object:
    try:
        return decode_json(text)
    except InvalidJson:
        raise WrongValue(f"{words}, as JSON") from None
