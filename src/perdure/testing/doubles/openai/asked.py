"""A request under examination, and a refusal, in OpenAI's form.

It knows what every rule needs to see. It must never hold a rule itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from perdure.kernel.value import value
from perdure.testing.doubles.openai.models import OpenAIModel
from perdure.testing.doubles.shape import Body, Seal, bodies


class OpenAIRefused(Exception):
    """The API says no."""

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400, kind: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.param, self.code, self.status = message, param, code, status
        self.kind = kind or ("server_error" if status >= 500 else "invalid_request_error")

    def body(self) -> Body:
        """The error body."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


@value
class Asked:
    """One request, parsed."""

    body: Body
    model: OpenAIModel
    organization: str
    """To which encrypted content is bound."""
    seal: Seal
    stored: Mapping[str, Body]
    """Items of stored responses, by id."""
    reasoned: Mapping[str, str]
    """Which reasoning item an item was made with, by ids."""

    @property
    def items(self) -> list[Body]:
        """The input; a string is one user message."""
        given = self.body.get("input")
        return [{"role": "user", "content": given}] if isinstance(given, str) else bodies(given)

    @property
    def messages(self) -> list[Body]:
        """The messages of a chat request."""
        return bodies(self.body.get("messages"))


Check: TypeAlias = Callable[[Asked], "Iterator[OpenAIRefused]"]
"""Yields what is wrong, worst first."""


@value
class Rule:
    """One rule of an endpoint."""

    name: str
    """What must hold, as a sentence."""
    check: Check


def kind_of(item: Body) -> str:
    """The type of an input item; a message may leave it out."""
    return str(item.get("type") or ("message" if "role" in item else ""))


def first_refusal(rules: tuple[Rule, ...], asked: Asked) -> OpenAIRefused | None:
    """What the first broken rule says."""
    return next((refusal for rule in rules for refusal in rule.check(asked)), None)


def below(param: str, minimum: int, given: int) -> OpenAIRefused:
    """A number under its minimum."""
    return OpenAIRefused(
        f"Invalid '{param}': integer below minimum value. Expected a value >= {minimum}, but got {given} instead.",
        param=param,
        code="integer_below_min_value",
    )


def unknown(param: str) -> OpenAIRefused:
    """A parameter that does not exist."""
    return OpenAIRefused(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")


def missing(param: str) -> OpenAIRefused:
    """A parameter that must be there."""
    return OpenAIRefused(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def invalid_value(param: str, given: object, supported: list[str]) -> OpenAIRefused:
    """A value that is not one of those that exist."""
    if len(supported) > 1:
        listed = ", ".join(f"'{value}'" for value in supported[:-1])
        listed += f"{',' if len(supported) > 2 else ''} and '{supported[-1]}'"
    else:
        listed = f"'{supported[0]}'"
    return OpenAIRefused(
        f"Invalid value: '{given}'. Supported values are: {listed}.", param=param, code="invalid_value"
    )
