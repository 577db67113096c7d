"""Programs in examples/ do what their first lines say."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from perdure.kernel.agent import Model
from perdure.providers import ChatApi, HttpModel, anthropic, chat, openai
from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Say, Turn, answer, replies, serve
from perdure.testing.models import ScriptedModel

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "agent.py"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(path: Path) -> list[Turn]:
    both = (
        Call(name="read", arguments={"path": str(path)}),
        Call(name="bash", arguments={"command": "echo $((6 * 7))"}),
    )
    return [Turn(parts=(Say(text="Let me look."), *both)), answer("It is 3.11.")]


def of_chat(url: str) -> HttpModel:
    return chat("gpt-4.1", url=f"{url}/v1", api_key="any", api=ChatApi(limit="max_completion_tokens", cache_key=True))


@pytest.mark.parametrize("kind", ["anthropic", "responses", "chat"])
def test_the_agent_works_with_real_tools_over_http(kind: str, tmp_path: Path) -> None:
    noted = tmp_path / "note.txt"
    noted.write_text("requires-python = 3.11", encoding="utf-8")
    double = (AnthropicDouble if kind == "anthropic" else OpenAIDouble)(replies(told(noted)))

    async def go(url: str) -> str:
        match kind:
            case "anthropic":
                model = anthropic("claude-opus-5-5", api_key="any", url=url)
            case "responses":
                model = openai("gpt-5", api_key="any", url=f"{url}/v1")
            case _:
                model = of_chat(url)
        try:
            return await example().work(model, "Which version?")
        finally:
            await model.close()

    with serve(double) as url:
        said = asyncio.run(go(url))
    second = double.received[1].raw

    assert ("done: It is 3.11.", [200, 200]) == (said, [received.status for received in double.received])
    assert b"requires-python = 3.11" in second
    assert b"42\\n\\nexit code 0" in second


def test_the_agent_works_with_a_scripted_model(tmp_path: Path) -> None:
    model: Model = ScriptedModel('call bash {"command": "echo hi"}\n---\nsay Done.')

    assert "done: Done." == asyncio.run(example().work(model, "Greet."))
