"""What makes one provider's API different from another's, as far as a call must know.

It knows the shape. It must never know a provider. A new provider is one folder with one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from perdure.kernel.agent import Ask
from perdure.kernel.messages import JsonObject, Request
from perdure.kernel.models import ModelProfile
from perdure.kernel.value import value
from perdure.kernel.wire import Codec


class Api(Protocol):
    """One way of being asked."""

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        ...

    @property
    def path(self) -> str:
        """Where a model is asked, behind the endpoint's address."""
        ...

    def params(self, ask: Ask, profile: ModelProfile, previous: str | None) -> JsonObject:
        """The fields beside model, tools, system and messages. `previous` is the id of the last response."""
        ...

    def ping(self, params: JsonObject) -> JsonObject:
        """The fields of the cheapest request with the same prompt, which does not stream."""
        ...

    def headers(self, request: Request) -> Mapping[str, str]:
        """Headers that follow from what the request holds, such as Anthropic's betas."""
        ...


@value
class Endpoint:
    """Where bytes go, and by whose leave."""

    url: str
    """Without a slash at its end."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every request; they hold the key, so they are never shown."""


def request_of(api: Api, profile: ModelProfile, model: str, ask: Ask, previous: str | None) -> Request:
    """The whole request."""
    marks = ask.marks if api.codec.dialect == "anthropic" else ()
    return Request(
        model=model,
        messages=tuple(ask.messages),
        system=ask.system,
        tools=ask.tools,
        marks=marks,
        params=api.params(ask, profile, previous),
    )
