"""How Anthropic is asked.

It knows the fields beside tools, system and messages. It must never know a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perdure.kernel.agent import Ask
from perdure.kernel.messages import JsonObject, Request
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import ANTHROPIC, Codec
from perdure.providers.anthropic.betas import betas_of
from perdure.providers.anthropic.native import Native
from perdure.providers.api import Endpoint
from perdure.providers.edge import Edge
from perdure.providers.http_model import HttpModel
from perdure.providers.retry import Patience

VERSION = "2023-06-01"
"""`anthropic-version`."""

LONGEST_UNKNOWN = 8_192
"""Tokens of an answer where neither window nor model say more; the field is required."""


@value
class AnthropicApi:
    """The Messages API with one set of options, which stay: changing them between calls loses the cache."""

    thinking: JsonObject | None = None
    """As the provider has it, such as `{"type": "adaptive"}`; None: the model's own way."""
    native: Native = field(default_factory=Native)
    more: JsonObject = field(default_factory=JsonObject)
    """Further fields, such as `metadata` or `output_config`."""
    betas: tuple[str, ...] = ()
    """Forwarded beside those that the request needs."""

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        return ANTHROPIC

    @property
    def path(self) -> str:
        """Where a model is asked."""
        return "/v1/messages"

    def params(self, ask: Ask, profile: ModelProfile, previous: str | None) -> JsonObject:
        """The fields of a request."""
        longest = ask.max_tokens or profile.window.max_output or LONGEST_UNKNOWN
        thinking = self._thinking(ask, profile)
        fields: JsonObject = {"max_tokens": longest, "stream": True}
        if thinking is not None:
            fields["thinking"] = thinking
        return {**fields, **self.native.params(previous), **self.more}

    def ping(self, params: JsonObject) -> JsonObject:
        """Nothing is sampled with `max_tokens: 0` (prompt caching guide, pre-warming, 2026-10), which goes together
        neither with a budget for thinking nor with a format."""
        fields = {**params, "stream": False, "max_tokens": 0}
        thinking, output = params.get("thinking"), params.get("output_config")
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            budget = thinking.get("budget_tokens")
            return {**fields, "max_tokens": (budget if isinstance(budget, int) else 1_024) + 1}
        return {**fields, "max_tokens": 1} if isinstance(output, dict) and "format" in output else fields

    def headers(self, request: Request) -> Mapping[str, str]:
        """The betas that the request needs, and those that were asked for."""
        betas = betas_of(request, self.betas)
        return {"anthropic-beta": ",".join(betas)} if betas else {}

    def _thinking(self, ask: Ask, profile: ModelProfile) -> JsonObject | None:
        """With the order to drop what is bound to bytes that moved, where that is needed and offered."""
        if not (ask.drop_block and profile.offers("drop_block")):
            return self.thinking
        binding: JsonObject = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return {**(self.thinking or {"type": "adaptive"}), **binding}


def anthropic(
    model: str | ModelProfile,
    *,
    api_key: str,
    api: AnthropicApi | None = None,
    url: str = "https://api.anthropic.com",
    edge: Edge | None = None,
    patience: Patience | None = None,
) -> HttpModel:
    """A model of Anthropic's, or of a server that speaks the Messages API.

    Raises:
        InvalidSetting: the model does not offer a native feature that `api` asks for.
    """
    profile = lookup(model) if isinstance(model, str) else model
    api = api or AnthropicApi()
    api.native.check(profile)
    endpoint = Endpoint(url=url.rstrip("/"), headers={"x-api-key": api_key, "anthropic-version": VERSION})
    name = model if isinstance(model, str) else ""
    return HttpModel(profile, api, endpoint, name=name, edge=edge, patience=patience)
