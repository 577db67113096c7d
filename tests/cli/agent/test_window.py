"""The window of a model is the one that its server tells, in a session and in what `perdure doctor` says."""

import asyncio
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from perdure.cli.agent.doctor import examine
from perdure.cli.agent.opening import chosen_for
from perdure.cli.agent.place import place_at
from perdure.testing.doubles import serve


def models(_: Request) -> JSONResponse:
    return JSONResponse({"data": [{"id": name, "max_model_len": 32_000} for name in ("qwen3-coder", "unheard-of")]})


SERVER = Starlette(routes=[Route("/v1/models", models)])


def settings(home: Path, url: str, name: str, more: str = "") -> dict[str, str]:
    home.joinpath("settings.toml").write_text(f'base_url = "{url}/v1"\nmodel = "{name}"\n{more}')
    return {"PERDURE_HOME": str(home), "HOME": str(home)}


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("qwen3-coder", "", 32_000),
        ("unheard-of", "", 32_000),
        ("qwen3-coder", "window = 16_000", 16_000),
        ("qwen3-coder", "window = 64_000", 32_000),
        ("qwen3-coder", "[models.qwen3-coder]\nwindow = 48_000", 48_000),
    ],
)
def test_a_model_that_is_known_has_the_window_that_its_server_loaded_it_with(
    tmp_path: Path, name: str, more: str, expected: int
) -> None:
    with serve(SERVER) as url:
        environment = settings(tmp_path, url, name, more)
        chosen = asyncio.run(chosen_for(place_at(tmp_path, environment), None))

    assert chosen.profile.window.tokens == expected


def test_the_doctor_tells_the_window_that_a_session_would_have(tmp_path: Path) -> None:
    with serve(SERVER) as url:
        found = asyncio.run(examine(tmp_path, settings(tmp_path, url, "unheard-of"), None, call=False))

    assert [one.says for one in found if one.what == "window"] == ["32,000 tokens"]
