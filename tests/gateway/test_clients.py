"""Agent loops of others, unmodified, through a gateway whose model has a small window."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic, beta_tool
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Turn, answer
from perdure.testing.doubles.anthropic import MODELS
from perdure.testing.doubles.openai import OPENAI_MODELS

MODEL = "claude-sonnet-4-6"
WINDOW = 9_000
ROUNDS = 30
TASK = "Read all the files. Never touch gen/."
TEXT = "\n".join(f"{line}: value = compute({line})" for line in range(120))


def working() -> Callable[[dict[str, Any]], Turn]:
    """A model that reads thirty files, and then is done."""
    done = 0

    def script(body: dict[str, Any]) -> Turn:
        nonlocal done
        if not body.get("tools") or "Harness request" in str(body["messages"][-1]):
            return answer("<summary>## Goal\n- Read the files.</summary>")
        done += 1
        return (
            answer("All read.") if done > ROUNDS else Turn(parts=(Call(name="read", arguments={"path": f"f{done}"}),))
        )

    return script


def claude() -> AnthropicDouble:
    return AnthropicDouble(working(), models={MODEL: replace(MODELS[MODEL], window=WINDOW)})


def refused(double: Any) -> list[Any]:
    return [one.answer for one in double.received if one.status != 200]


@pytest.mark.parametrize("stream", [False, True])
def test_the_tool_runner_of_the_sdk_finishes_though_it_begins_with_a_thread(
    front: Callable[..., Any], stream: bool
) -> None:
    double = claude()
    made = front(double, auto=True, window=WINDOW, recall=True)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    @beta_tool
    def read(path: str) -> str:
        """Read a file.

        Args:
            path: Which.
        """
        return f"{path}\n{TEXT}"

    messages = [{"role": "user", "content": TASK}]
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=500, tools=[read], messages=messages, stream=stream
    )
    last = runner.until_done()

    assert "All read." == last.content[0].text
    assert [] == refused(double)
    assert "Never touch gen/" in double.received[-1].raw.decode()


async def finished(model: Any) -> str:
    agent: Any = Agent(model)

    @agent.tool_plain
    # The decorator registers it, which no checker sees.
    def read(path: str) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"{path}\n{TEXT}"

    result = await agent.run(TASK)
    return str(result.output)


def test_an_agent_of_pydantic_ai_finishes_over_anthropics_protocol(front: Callable[..., Any]) -> None:
    double = claude()
    made = front(double, auto=True, window=WINDOW)

    async def run() -> str:
        async with AsyncAnthropic(base_url=made.url, api_key="any") as client:
            return await finished(AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client)))

    assert "All read." == asyncio.run(run())
    assert [] == refused(double)


def test_an_agent_of_pydantic_ai_finishes_over_openais_protocol(front: Callable[..., Any]) -> None:
    double = OpenAIDouble(working(), models={"gpt-4o": replace(OPENAI_MODELS["gpt-4o"], window=WINDOW)})
    made = front(double, auto=True, window=WINDOW, dialect="chat")

    async def run() -> str:
        async with AsyncOpenAI(base_url=f"{made.url}/v1", api_key="any") as client:
            return await finished(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)))

    assert "All read." == asyncio.run(run())
    assert [] == refused(double)
