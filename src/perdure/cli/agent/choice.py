"""Which model answers, and how it is reached.

It knows where keys stand, what names mean, and what to say where nothing is set up. It decides from values alone; it
must never open a connection, nor show a key. A key goes only to the server that its variable belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidSetting, NoModel
from perdure.kernel.messages import JsonObject
from perdure.kernel.models import ModelProfile, declare, lookup
from perdure.kernel.value import value
from perdure.project.settings import Settled
from perdure.providers import AnthropicApi, ChatApi, Edge, HttpModel, LocalModel, ResponsesApi, anthropic, chat, openai

Dialect: TypeAlias = Literal["anthropic", "responses", "chat"]

KEYS: Mapping[str, str] = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variable of each provider's key."""
ADDRESSES: Mapping[str, str] = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""The variables by which the official SDKs are sent to another server, which then gets the key of the same name."""
OWN: Mapping[str, str] = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""Where each provider is."""
USUAL: Mapping[str, str] = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol"}
"""The model where only a key is there: the middle one of each family, whose price is known (2026-11)."""
SERVERS = ("ollama", "llama.cpp", "lmstudio", "vllm")

NOTHING = """\
no model is set up. Any of these is enough:
  export ANTHROPIC_API_KEY=...         a key of Anthropic's
  export OPENAI_API_KEY=...            a key of OpenAI's
  ollama serve                         a model on this machine; llama.cpp, LM Studio and vLLM are found as well
  perdure config set base_url URL      any server that speaks Chat Completions
To see Perdure at work without any of them: perdure demo"""


@value
class Chosen:
    """A model and the way to it."""

    name: str
    """What the endpoint calls it."""
    profile: ModelProfile
    dialect: Dialect
    provider: str
    """For people: `anthropic`, `openai`, `ollama`, or the address of a server."""
    url: str
    """Stands before the path of the dialect."""
    key: str = field(default="", repr=False)
    because: str
    """Why this one, for people."""

    def connect(self, edge: Edge | None = None, effort: str | None = None) -> HttpModel:
        """The model, to be asked."""
        if self.dialect == "anthropic":
            more: JsonObject = {"output_config": {"effort": effort}} if effort else {}
            model = anthropic(self.profile, api_key=self.key, api=AnthropicApi(more=more), url=self.url, edge=edge)
        elif self.dialect == "responses":
            reasoning: JsonObject | None = {"effort": effort, "summary": "auto"} if effort else None
            model = openai(
                self.profile, api_key=self.key, api=ResponsesApi(reasoning=reasoning), url=self.url, edge=edge
            )
        else:
            # OpenAI's newer models refuse the older name of the limit, also behind a proxy; others know only that.
            own = self.profile.known and self.profile.family == "gpt"
            api = ChatApi(
                limit="max_completion_tokens" if own else "max_tokens",
                more={"reasoning_effort": effort} if effort else {},
            )
            model = chat(self.profile, url=self.url, api_key=self.key, api=api, edge=edge)
        # The endpoint's own name for it goes on the wire; the profile says what is known of it.
        model.name = self.name
        return model


def choose(
    settled: Settled, environment: Mapping[str, str], local: Sequence[LocalModel], wanted: str | None = None
) -> Chosen:
    """The model that answers.

    Args:
        settled: What is set.
        environment: Where keys stand.
        local: The models of servers on this machine; only looked at where nothing else answers.
        wanted: Its name; None: what `model` is set to.

    Raises:
        NoModel: nothing is set up, or not for the model that is wanted.
    """
    wanted = wanted or settled.text("model")
    chosen = (
        _at_address(settled, environment, wanted)
        or _of_provider(environment, wanted)
        or _on_this_machine(local, wanted)
    )
    if chosen is None:
        raise NoModel(NOTHING if wanted is None else _unreachable(wanted, local))
    return _declared(chosen, settled)


def needs_local(settled: Settled, environment: Mapping[str, str], wanted: str | None = None) -> bool:
    """Whether servers on this machine have to be looked for."""
    wanted = wanted or settled.text("model")
    return _at_address(settled, environment, wanted) is None and _of_provider(environment, wanted) is None


def told(chosen: Chosen, settled: Settled, window: int) -> Chosen:
    """With the window that its server tells: a model may be loaded with less than it could have. What the user states
    of this model stays, and less may be wanted.
    """
    if "window" in settled.named("models").get(chosen.name, {}):
        return chosen
    wanted = settled.whole("window")
    tokens = window if wanted is None else min(window, wanted)
    return replace(chosen, profile=replace(chosen.profile, window=replace(chosen.profile.window, tokens=tokens)))


def _at_address(settled: Settled, environment: Mapping[str, str], wanted: str | None) -> Chosen | None:
    """The server that `base_url` names."""
    url = settled.text("base_url")
    if not url or (wanted or "").partition("/")[0] in (*KEYS, *SERVERS):
        return None
    if not url.startswith(("http://", "https://")):
        raise InvalidSetting(
            f"base_url is {url!r} ({settled.source('base_url')}); it has to begin with http:// or https://"
        )
    if wanted is None:
        raise NoModel(
            f"base_url is {url!r}, but no model is named; use --model NAME, or `perdure config set model NAME`"
        )
    variable = settled.text("key_variable")
    if variable and not environment.get(variable):
        raise NoModel(f"key_variable is {variable!r}, but that variable is not set; export it, or unset key_variable")
    spoken = settled.text("dialect") or "chat"
    dialect: Dialect = "anthropic" if spoken == "anthropic" else "responses" if spoken == "responses" else "chat"
    return Chosen(
        name=wanted,
        profile=lookup(wanted),
        dialect=dialect,
        provider=url,
        url=url,
        key=environment.get(variable, "") if variable else "",
        because=f"base_url is set ({settled.source('base_url')})",
    )


def _of_provider(environment: Mapping[str, str], wanted: str | None) -> Chosen | None:
    """A provider whose key is there."""
    named, slash, rest = (wanted or "").partition("/")
    if wanted is not None and slash and named in SERVERS:
        return None
    for provider, variable in KEYS.items():
        key = environment.get(variable, "").strip()
        address = environment.get(ADDRESSES[provider], "").strip()
        if not key:
            continue
        if wanted is None:
            name = USUAL[provider]
        elif slash and named == provider:
            name = rest
        elif (not slash and lookup(wanted).dialect == provider) or (address and not slash):
            name = wanted
        else:
            continue
        dialect: Dialect = "anthropic" if provider == "anthropic" else "chat" if address else "responses"
        because = f"{variable} is set" + (f", and {ADDRESSES[provider]}" if address else "")
        return Chosen(
            name=name,
            profile=lookup(name),
            dialect=dialect,
            provider=provider,
            url=address or OWN[provider],
            key=key,
            because=because,
        )
    return None


def _on_this_machine(local: Sequence[LocalModel], wanted: str | None) -> Chosen | None:
    """A model of a server here: one that is in memory before one that would have to be loaded."""
    named, slash, rest = (wanted or "").partition("/")
    fitting = [
        model
        for model in local
        if wanted is None or model.name == wanted or (slash and named == model.server and rest in (model.name, ""))
    ]
    if not fitting:
        return None
    best = max(fitting, key=lambda model: (model.loaded is True, model.window or 0))
    return Chosen(
        name=best.name,
        profile=best.profile,
        dialect="chat",
        provider=best.server,
        url=best.url,
        because=f"{best.server} answers at {best.url}",
    )


def _declared(chosen: Chosen, settled: Settled) -> Chosen:
    """With the facts that the user states about the model."""
    facts = settled.named("models").get(chosen.name)
    profile = chosen.profile
    if facts is not None:
        # What is not stated stays as it is known: who names a window loses no price.
        ground = {"like": chosen.name} if profile.known and not {"like", "dialect"} & facts.keys() else {}
        profile = declare({"id": chosen.name, **ground, **facts})
    window = settled.whole("window")
    if window is not None and (profile.window.tokens is None or window < profile.window.tokens):
        profile = replace(profile, window=replace(profile.window, tokens=window))
    return replace(chosen, profile=profile)


def _unreachable(wanted: str, local: Sequence[LocalModel]) -> str:
    profile, named = lookup(wanted), wanted.partition("/")[0]
    provider = named if named in KEYS else profile.dialect if profile.known and profile.dialect in KEYS else ""
    lines = [f"the model {wanted!r} cannot be reached:"]
    if provider:
        lines.append(f"  {KEYS[provider]} is not set; export it, and try again")
    else:
        lines.append("  no provider's key is there for it, and no server on this machine has it")
        lines.append(f"  a name may say whose it is: {', '.join(f'{one}/NAME' for one in (*KEYS, *SERVERS))}")
    lines += [f"  {model.server}/{model.name} is on this machine" for model in local[:8]]
    lines.append("`perdure doctor` shows what can be reached; without any model there is `perdure demo`")
    return "\n".join(lines)
