"""Servers on this machine, imitated by their discovery endpoints."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from perdure.kernel.models import ModelProfile, lookup
from perdure.providers.local import LocalModel, Server, chat_at, find_local, window_of
from perdure.testing.doubles import serve


def app(answers: Mapping[str, object]) -> Starlette:
    """A server that gives these answers by path; for `/api/show` by the model that is asked for."""

    async def endpoint(request: Request) -> JSONResponse:
        found = answers[request.url.path]
        if request.method == "POST":
            return JSONResponse(cast("dict[str, object]", found)[(await request.json())["model"]])
        return JSONResponse(found)

    return Starlette(routes=[Route(path, endpoint, methods=["GET", "POST"]) for path in answers])


def find(server: Server, answers: Mapping[str, object]) -> tuple[str, tuple[LocalModel, ...]]:
    async def go(url: str) -> tuple[LocalModel, ...]:
        async with httpx.AsyncClient() as client:
            return await find_local(client, {server: url})

    with serve(app(answers)) as url:
        return url, asyncio.run(go(url))


def show(*, trained: int, parameters: str = "", capabilities: tuple[str, ...] = ("completion",)) -> dict[str, object]:
    facts = {"general.architecture": "q", "q.context_length": trained}
    return {"model_info": facts, "parameters": parameters, "capabilities": list(capabilities)}


def test_ollama_has_the_window_that_it_loads_a_model_with_and_not_the_one_of_the_model() -> None:
    _, found = find(
        "ollama",
        {
            "/api/tags": {"models": [{"name": name} for name in ("live", "set", "plain", "embed")]},
            "/api/ps": {"models": [{"name": "live", "context_length": 65_536}]},
            "/api/show": {
                "live": show(trained=131_072),
                "set": show(trained=131_072, parameters='stop "x"\nnum_ctx    16384\ntop_p 0.9'),
                "plain": show(trained=131_072),
                "embed": show(trained=2_048, capabilities=("embedding",)),
            },
        },
    )

    assert [("live", 65_536, True), ("set", 16_384, False), ("plain", 4_096, False)] == [
        (model.name, model.window, model.loaded) for model in found
    ]


def test_llama_cpp_has_the_window_of_one_slot() -> None:
    _, found = find(
        "llama.cpp",
        {
            "/props": {"default_generation_settings": {"n_ctx": 8_192}, "total_slots": 4},
            "/v1/models": {"data": [{"id": "q.gguf", "meta": {"n_ctx_train": 40_960}}]},
        },
    )

    assert [("q.gguf", 8_192, 40_960)] == [(model.name, model.window, model.trained) for model in found]


def test_lm_studio_has_a_window_for_what_is_loaded() -> None:
    entries = [
        {"id": "a", "type": "llm", "state": "loaded", "max_context_length": 32_768, "loaded_context_length": 8_000},
        {"id": "b", "type": "vlm", "state": "not-loaded", "max_context_length": 131_072},
        {"id": "c", "type": "embeddings", "state": "loaded"},
    ]
    _, found = find("lmstudio", {"/api/v0/models": {"data": entries}})

    assert [("a", 8_000, True), ("b", None, False)] == [(model.name, model.window, model.loaded) for model in found]


def test_vllm_tells_its_window_in_the_list() -> None:
    url, found = find("vllm", {"/v1/models": {"data": [{"id": "q", "owned_by": "vllm", "max_model_len": 24_000}]}})
    model = found[0]

    assert (f"{url}/v1", 24_000, None) == (model.url, model.profile.window.tokens, model.profile.prices)


@pytest.mark.parametrize("server", ["ollama", "llama.cpp", "lmstudio", "vllm"])
def test_another_server_at_the_place_is_none_of_them(server: Server) -> None:
    assert () == find(server, {"/": "hello", "/v1/models": {"data": [{"id": "x", "owned_by": "somebody"}]}})[1]


def test_nobody_there_is_nothing_found() -> None:
    async def go() -> tuple[LocalModel, ...]:
        async with httpx.AsyncClient() as client:
            return await find_local(client, {"ollama": "http://127.0.0.1:9", "vllm": "http://127.0.0.1:9"})

    assert () == asyncio.run(go())


def test_only_this_machine_is_asked() -> None:
    async def go() -> None:
        async with httpx.AsyncClient() as client:
            await find_local(client, {"ollama": "http://192.0.2.1:11434"})

    with pytest.raises(ValueError, match="not on this machine"):
        asyncio.run(go())


@pytest.mark.parametrize("field", ["max_model_len", "context_length", "context_window", "max_context_length"])
def test_any_compatible_server_may_tell_its_window(field: str) -> None:
    async def go(url: str) -> int | None:
        async with httpx.AsyncClient() as client:
            return await window_of(client, f"{url}/v1/", "b")

    with serve(app({"/v1/models": {"data": [{"id": "a", field: 1}, {"id": "b", field: 77_000}]}})) as url:
        assert 77_000 == asyncio.run(go(url))


def reached(answers: Mapping[str, object], model: str | ModelProfile) -> int | None:
    async def go(url: str) -> int | None:
        made = await chat_at(f"{url}/v1", model)
        await made.close()
        return made.profile.window.tokens

    with serve(app(answers)) as url:
        return asyncio.run(go(url))


TELLS: dict[str, Mapping[str, object]] = {
    "vllm": {"/v1/models": {"data": [{"id": "gpt-4o", "owned_by": "vllm", "max_model_len": 8_192}]}},
    "llama.cpp": {
        "/v1/models": {"data": [{"id": "other.gguf", "meta": {"n_ctx_train": 40_960}}]},
        "/props": {"default_generation_settings": {"n_ctx": 8_192}},
    },
    "lmstudio": {
        "/v1/models": {"data": [{"id": "gpt-4o"}]},
        "/api/v0/models": {
            "data": [{"id": "gpt-4o", "type": "llm", "state": "loaded", "loaded_context_length": 8_192}]
        },
    },
    "ollama": {
        "/v1/models": {"data": [{"id": "gpt-4o"}]},
        "/api/tags": {"models": [{"name": "gpt-4o"}]},
        "/api/ps": {"models": [{"name": "gpt-4o", "context_length": 8_192}]},
        "/api/show": {"gpt-4o": show(trained=131_072)},
    },
}


@pytest.mark.parametrize("server", TELLS)
def test_a_chat_model_has_the_window_that_its_server_tells(server: str) -> None:
    assert 8_192 == reached(TELLS[server], "gpt-4o")


def test_a_window_that_the_host_gave_stays() -> None:
    profile = lookup("gpt-4o")
    given = replace(profile, window=replace(profile.window, tokens=5_000))

    assert 5_000 == reached(TELLS["vllm"], given)


def test_a_profile_without_a_window_gets_that_of_the_server() -> None:
    profile = lookup("gpt-4o")
    unknown = replace(profile, window=replace(profile.window, tokens=None))

    assert 8_192 == reached(TELLS["vllm"], unknown)


def test_where_the_server_tells_nothing_what_is_known_of_the_name_stays() -> None:
    assert lookup("gpt-4o").window.tokens == reached({"/v1/models": {"data": [{"id": "gpt-4o"}]}}, "gpt-4o")
