"""How OpenAI, and servers that speak like it, are asked.

It knows the fields beside tools and messages of both APIs. It must never know a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from perdure.kernel.agent import Ask
from perdure.kernel.messages import JsonObject, Request
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import CHAT, RESPONSES, Codec
from perdure.providers.api import Api, Endpoint
from perdure.providers.edge import Edge
from perdure.providers.http_model import HttpModel
from perdure.providers.retry import Patience

OPENAI_URL = "https://api.openai.com/v1"

LEAST_ANSWER = 16
"""Tokens of `max_output_tokens`."""

LEAST_THRESHOLD = 1_000
"""Tokens of `compact_threshold` (a third party's note, 2026)."""


@value
class ResponsesApi:
    """The Responses API without stored state: everything goes along, reasoning encrypted."""

    reasoning: JsonObject | None = None
    """As the provider has it, such as `{"effort": "high", "summary": "auto"}`."""
    compact_at: int | None = None
    """Tokens at which the provider compacts by itself. The engine must not fold then."""
    more: JsonObject = field(default_factory=JsonObject)
    """Further fields."""

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        return RESPONSES

    @property
    def path(self) -> str:
        """Where a model is asked."""
        return "/responses"

    def params(self, ask: Ask, profile: ModelProfile, previous: str | None) -> JsonObject:
        """The fields of a request. Nothing is stored, so no earlier response is referred to."""
        fields: JsonObject = {"stream": True, "store": False}
        if profile.thinking.kept != "none":
            # Models without reasoning refuse the field.
            fields["include"] = ["reasoning.encrypted_content"]
        if ask.max_tokens is not None:
            fields["max_output_tokens"] = max(LEAST_ANSWER, ask.max_tokens)
        if ask.session:
            fields["prompt_cache_key"] = ask.session
        if self.reasoning is not None:
            fields["reasoning"] = self.reasoning
        if self.compact_at is not None:
            fields["context_management"] = [{"type": "compaction", "compact_threshold": self.compact_at}]
        return {**fields, **self.more}

    def ping(self, params: JsonObject) -> JsonObject:
        """Sixteen tokens are the least that an answer may be limited to."""
        return {**params, "stream": False, "max_output_tokens": LEAST_ANSWER}

    def headers(self, request: Request) -> Mapping[str, str]:
        """None of its own."""
        return {}


@value
class ChatApi:
    """Chat Completions, as OpenAI has it or as compatible servers do."""

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit of an answer: OpenAI's newer models take the longer one alone, other servers the other."""
    cache_key: bool = False
    """Whether the server takes `prompt_cache_key`; some refuse a field that they do not know."""
    more: JsonObject = field(default_factory=JsonObject)
    """Further fields."""

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        return CHAT

    @property
    def path(self) -> str:
        """Where a model is asked."""
        return "/chat/completions"

    def params(self, ask: Ask, profile: ModelProfile, previous: str | None) -> JsonObject:
        """The fields of a request."""
        fields: JsonObject = {"stream": True, "stream_options": {"include_usage": True}}
        if ask.max_tokens is not None:
            fields[self.limit] = ask.max_tokens
        if ask.session and self.cache_key:
            fields["prompt_cache_key"] = ask.session
        return {**fields, **self.more}

    def ping(self, params: JsonObject) -> JsonObject:
        """One token."""
        left = {name: value for name, value in params.items() if name != "stream_options"}
        return {**left, "stream": False, self.limit: 1}

    def headers(self, request: Request) -> Mapping[str, str]:
        """None of its own."""
        return {}


def openai(
    model: str | ModelProfile,
    *,
    api_key: str,
    api: ResponsesApi | None = None,
    url: str = OPENAI_URL,
    edge: Edge | None = None,
    patience: Patience | None = None,
) -> HttpModel:
    """A model of OpenAI's, by the Responses API."""
    return _model(model, api or ResponsesApi(), _endpoint(url, api_key), edge, patience)


def chat(
    model: str | ModelProfile,
    *,
    url: str,
    api_key: str = "",
    api: ChatApi | None = None,
    edge: Edge | None = None,
    patience: Patience | None = None,
) -> HttpModel:
    """A model of any server that speaks Chat Completions; `url` is what stands before `/chat/completions`."""
    if api is None:
        own = url.startswith(OPENAI_URL)
        api = ChatApi(limit="max_completion_tokens" if own else "max_tokens", cache_key=own)
    return _model(model, api, _endpoint(url, api_key), edge, patience)


def _endpoint(url: str, api_key: str) -> Endpoint:
    return Endpoint(url=url.rstrip("/"), headers={"authorization": f"Bearer {api_key}"} if api_key else {})


def _model(
    model: str | ModelProfile, api: Api, endpoint: Endpoint, edge: Edge | None, patience: Patience | None
) -> HttpModel:
    profile = lookup(model) if isinstance(model, str) else model
    name = model if isinstance(model, str) else ""
    return HttpModel(profile, api, endpoint, name=name, edge=edge, patience=patience)
