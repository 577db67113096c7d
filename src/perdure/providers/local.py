"""Model servers on this machine: found, and offered with the window that they really have.

It knows the discovery endpoints of Ollama, llama.cpp, LM Studio and vLLM (their API references, 2026-10), and that a
loaded model has the window it was loaded with, not the one it could have. It must never look beyond loopback, start
anything or load a model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import httpx

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.providers.edge import Edge
from perdure.providers.http_model import HttpModel
from perdure.providers.openai import ChatApi, chat

Server: TypeAlias = Literal["ollama", "llama.cpp", "lmstudio", "vllm"]

PLACES: Mapping[Server, str] = {
    "ollama": "http://127.0.0.1:11434",
    "llama.cpp": "http://127.0.0.1:8080",
    "lmstudio": "http://127.0.0.1:1234",
    "vllm": "http://127.0.0.1:8000",
}
"""Where each listens unless told otherwise."""

OLLAMA_WINDOW = 4_096
"""Tokens that Ollama gives a model which says nothing else (FAQ, context window, 2026). What exceeds them is cut off at
the front, silently."""

PATIENCE = 1.0
"""Seconds: a server on the same machine answers at once or is not there."""

WINDOW_FIELDS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""Where servers tell the window in an entry of `/v1/models`: vLLM; LM Studio; OpenRouter, Ollama; Groq; LM Studio."""


@value
class LocalModel:
    """A model that can be asked here and now."""

    server: Server
    url: str
    """Stands before `/chat/completions`."""
    name: str
    """What the server calls it."""
    window: int | None
    """Tokens that a request may really have; None where the server does not tell."""
    trained: int | None = None
    """Tokens that the model could have, if it were loaded so."""
    loaded: bool | None = None
    """Whether it is in memory; None where the server does not tell."""

    @property
    def profile(self) -> ModelProfile:
        """What is known of the model, with the window of this server."""
        profile = lookup(self.name)
        return replace(profile, window=replace(profile.window, tokens=self.window), prices=None)

    def connect(self, edge: Edge | None = None) -> HttpModel:
        """The model, to be asked."""
        model = chat(self.profile, url=self.url, edge=edge)
        model.name = self.name
        return model


async def find_local(client: httpx.AsyncClient, places: Mapping[Server, str] | None = None) -> tuple[LocalModel, ...]:
    """Every model of every server that answers, in the order of `places`; nothing where none does.

    Raises:
        ValueError: a place that is not on this machine.
    """
    places = PLACES if places is None else places
    for url in places.values():
        if httpx.URL(url).host not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError(f"{url!r} is not on this machine; use `chat(url=...)` for another one")
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_ask(client, server, url)) for server, url in places.items()]
    return tuple(model for task in asked for model in task.result())


async def window_of(
    client: httpx.AsyncClient, url: str, name: str, headers: Mapping[str, str] | None = None
) -> int | None:
    """The window of a model by what its server tells: the list that any compatible server has, or else what Ollama,
    llama.cpp and LM Studio tell beside it. `url` is what stands before `/models`; None where the server tells nothing.
    """
    url = url.rstrip("/")
    listed = await _get(client, f"{url}/models", headers or {})
    window = next((_window(entry) for entry in _entries(listed, "data") if entry.get("id") == name), None)
    if window is not None or httpx.URL(url).scheme == "https":
        # Who is reached by TLS is a service with a list of its own, and no server of one's own.
        return window
    root = url.removesuffix("/v1")
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(client, root)) for ask in (_lmstudio, _ollama, _llama_cpp)]
    found = [model for task in asked for model in task.result()]
    # llama.cpp has one model, whatever it is called by.
    return next((model.window for model in found if model.name == name or model.server == "llama.cpp"), None)


async def chat_at(
    url: str, model: str | ModelProfile, *, api_key: str = "", api: ChatApi | None = None, edge: Edge | None = None
) -> HttpModel:
    """A model of a server that speaks Chat Completions, with the window that the server itself tells.

    A window in the profile that was handed in is the host's word and stays; what is merely known of a name does not,
    since a server may have loaded the model with less. Where the server tells nothing, that is all there is.
    """
    edge = edge or Edge()
    profile = lookup(model) if isinstance(model, str) else model
    if isinstance(model, str) or profile.window.tokens is None:
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        told = await window_of(edge.client, url, profile.id if not isinstance(model, str) else model, headers)
        window = replace(profile.window, tokens=told if told is not None else profile.window.tokens)
        profile = replace(profile, window=window)
    made = chat(profile, url=url, api_key=api_key, api=api, edge=edge)
    made.name = model if isinstance(model, str) else profile.id
    return made


async def _ask(client: httpx.AsyncClient, server: Server, url: str) -> Sequence[LocalModel]:
    match server:
        case "ollama":
            return await _ollama(client, url)
        case "llama.cpp":
            return await _llama_cpp(client, url)
        case "lmstudio":
            return await _lmstudio(client, url)
        case "vllm":
            return await _vllm(client, url)


async def _ollama(client: httpx.AsyncClient, url: str) -> list[LocalModel]:
    """A loaded model tells its window; any other gets the one of its file, or the server's default."""
    tags, running = await _get(client, f"{url}/api/tags"), await _get(client, f"{url}/api/ps")
    loaded = {str(entry.get("name")): _number(entry.get("context_length")) for entry in _entries(running, "models")}
    found: list[LocalModel] = []
    for entry in _entries(tags, "models"):
        name = str(entry.get("name"))
        shown = await _post(client, f"{url}/api/show", {"model": name})
        trained = _trained(shown)
        capable = shown.get("capabilities")
        if isinstance(capable, list) and "completion" not in capable:
            continue
        default = min(trained or OLLAMA_WINDOW, OLLAMA_WINDOW)
        window = loaded.get(name) or _parameter(shown, "num_ctx") or default
        found.append(
            LocalModel(
                server="ollama", url=f"{url}/v1", name=name, window=window, trained=trained, loaded=name in loaded
            )
        )
    return found


async def _llama_cpp(client: httpx.AsyncClient, url: str) -> list[LocalModel]:
    """One server, one model; its window is divided among its slots, and `n_ctx` here is that of one."""
    props = await _get(client, f"{url}/props")
    settings = props.get("default_generation_settings")
    if not isinstance(settings, dict):
        return []
    listed = _entries(await _get(client, f"{url}/v1/models"), "data")
    entry: JsonObject = listed[0] if listed else {}
    meta = entry.get("meta")
    trained = _number(meta.get("n_ctx_train")) if isinstance(meta, dict) else None
    name = str(entry.get("id") or props.get("model_alias") or "default")
    window = _number(settings.get("n_ctx"))
    return [LocalModel(server="llama.cpp", url=f"{url}/v1", name=name, window=window, trained=trained, loaded=True)]


async def _lmstudio(client: httpx.AsyncClient, url: str) -> list[LocalModel]:
    """Its own list tells what is loaded, and with which window."""
    listed = await _get(client, f"{url}/api/v0/models")
    return [
        LocalModel(
            server="lmstudio",
            url=f"{url}/v1",
            name=str(entry.get("id")),
            window=_number(entry.get("loaded_context_length")),
            trained=_number(entry.get("max_context_length")),
            loaded=entry.get("state") == "loaded",
        )
        for entry in _entries(listed, "data")
        if entry.get("type") in ("llm", "vlm")
    ]


async def _vllm(client: httpx.AsyncClient, url: str) -> list[LocalModel]:
    listed = await _get(client, f"{url}/v1/models")
    return [
        LocalModel(server="vllm", url=f"{url}/v1", name=str(entry.get("id")), window=_window(entry), loaded=True)
        for entry in _entries(listed, "data")
        if entry.get("owned_by") == "vllm"
    ]


async def _get(client: httpx.AsyncClient, url: str, headers: Mapping[str, str] | None = None) -> JsonObject:
    return await _object(client.build_request("GET", url, headers=dict(headers or {}), timeout=PATIENCE), client)


async def _post(client: httpx.AsyncClient, url: str, body: JsonObject) -> JsonObject:
    headers = {"content-type": "application/json"}
    request = client.build_request("POST", url, content=encode_json(body), headers=headers, timeout=PATIENCE)
    return await _object(request, client)


async def _object(request: httpx.Request, client: httpx.AsyncClient) -> JsonObject:
    """The object that a server answers with; an empty one where it is not there or is another kind of server."""
    try:
        response = await client.send(request)
        value = decode_json(response.content) if response.status_code == 200 else {}
    except (httpx.HTTPError, InvalidJson):
        return {}
    return value if isinstance(value, dict) else {}


def _entries(listed: JsonObject, name: str) -> list[JsonObject]:
    entries = listed.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _window(entry: JsonObject) -> int | None:
    return next((number for name in WINDOW_FIELDS if (number := _number(entry.get(name)))), None)


def _trained(shown: JsonObject) -> int | None:
    """`<architecture>.context_length` among the facts of a model's file."""
    facts = shown.get("model_info")
    named = facts.items() if isinstance(facts, dict) else ()
    return next((_number(value) for name, value in named if name.endswith(".context_length")), None)


def _parameter(shown: JsonObject, name: str) -> int | None:
    """A parameter of an Ollama model file, which tells them as lines of text."""
    text = shown.get("parameters")
    found = re.search(rf"^{name}\s+(\d{{1,9}})\s*$", text, re.MULTILINE) if isinstance(text, str) else None
    return int(found.group(1)) if found else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
