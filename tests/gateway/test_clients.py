"""Agent loops of others, unmodified, through a gateway whose model has a fifth of the window that they need."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic, beta_tool
from langchain import agents
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from perdure.testing.doubles import AnthropicDouble, Call, OpenAIDouble, Turn, answer
from perdure.testing.doubles.anthropic import MODELS
from perdure.testing.doubles.openai import OPENAI_MODELS

MODEL = "claude-sonnet-4-6"
GPT = "gpt-4o"
SMALL, MIDDLE, LARGE = 8_192, 32_768, 200_000
TIMES = 5
"""How many windows a conversation is long."""
ROUNDS = 20
TASK = "Read all the files. Never touch gen/."


def text_of(path: str, window: int) -> str:
    """A file of which twenty are five windows."""
    size = TIMES * window // ROUNDS
    return "\n".join(f"{path}:{line}: value = compute({line})" for line in range(size // 11))


def working() -> Callable[[dict[str, Any]], Turn]:
    """A model that reads twenty files, and then is done."""
    done = 0

    def script(body: dict[str, Any]) -> Turn:
        nonlocal done
        items: Any = body.get("messages") or body.get("input")
        if not body.get("tools") or "Harness request" in str(items[-1]):
            return answer("<summary>## Goal\n- Read the files.</summary>")
        done += 1
        return (
            answer("All read.") if done > ROUNDS else Turn(parts=(Call(name="read", arguments={"path": f"f{done}"}),))
        )

    return script


def claude(window: int) -> AnthropicDouble:
    return AnthropicDouble(working(), models={MODEL: replace(MODELS[MODEL], window=window)})


def gpt(window: int) -> OpenAIDouble:
    most = min(OPENAI_MODELS[GPT].max_output, window // 2)
    return OpenAIDouble(working(), models={GPT: replace(OPENAI_MODELS[GPT], window=window, max_output=most)})


def check(double: Any) -> None:
    """No request was refused, and what the user said is in the last."""
    assert [] == [one.answer for one in double.received if one.status != 200]
    assert len(double.received) > ROUNDS
    assert "Never touch gen/" in double.received[-1].raw.decode()


@pytest.mark.parametrize(("stream", "window"), [(False, SMALL), (True, MIDDLE), (True, LARGE)])
def test_the_tool_runner_of_the_sdk_finishes_though_it_begins_with_a_thread(
    front: Callable[..., Any], stream: bool, window: int
) -> None:
    double = claude(window)
    made = front(double, auto=True, window=window, recall=True)
    client: Any = anthropic.Anthropic(base_url=made.url, api_key="any", max_retries=0)

    @beta_tool
    def read(path: str) -> str:
        """Read a file.

        Args:
            path: Which.
        """
        return text_of(path, window)

    messages = [{"role": "user", "content": TASK}]
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=500, tools=[read], messages=messages, stream=stream
    )
    last = runner.until_done()

    assert "All read." == last.content[0].text
    check(double)


async def finished(model: Any, window: int) -> str:
    agent: Any = Agent(model)

    @agent.tool_plain
    # The decorator registers it, which no checker sees.
    def read(path: str) -> str:  # pyright: ignore[reportUnusedFunction]
        return text_of(path, window)

    async with agent.run_stream(TASK) as result:
        return str(await result.get_output())


def test_an_agent_of_pydantic_ai_finishes_over_anthropics_protocol(front: Callable[..., Any]) -> None:
    double = claude(MIDDLE)
    made = front(double, auto=True, window=MIDDLE)

    async def run() -> str:
        async with AsyncAnthropic(base_url=made.url, api_key="any") as client:
            return await finished(AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client)), MIDDLE)

    assert "All read." == asyncio.run(run())
    check(double)


@pytest.mark.parametrize(("kind", "window"), [(OpenAIChatModel, LARGE), (OpenAIResponsesModel, SMALL)])
def test_an_agent_of_pydantic_ai_finishes_over_openais_protocols(
    front: Callable[..., Any], kind: Any, window: int
) -> None:
    double = gpt(window)
    made = front(double, auto=True, window=window, dialect="chat")

    async def run() -> str:
        async with AsyncOpenAI(base_url=f"{made.url}/v1", api_key="any") as client:
            return await finished(kind(GPT, provider=OpenAIProvider(openai_client=client)), window)

    assert "All read." == asyncio.run(run())
    check(double)


def langchain_says(model: Any, window: int) -> str:
    def read(path: str) -> str:
        """Read a file."""
        return text_of(path, window)

    library: Any = agents
    agent = library.create_agent(model, [read])
    *_, last = agent.stream({"messages": [("user", TASK)]}, {"recursion_limit": 99}, stream_mode="values")
    return str(last["messages"][-1].text)


def test_an_agent_of_langchain_finishes_over_anthropics_protocol(front: Callable[..., Any]) -> None:
    double = claude(LARGE)
    made = front(double, auto=True, window=LARGE)
    options: Any = {"base_url": made.url, "api_key": "any", "max_tokens": 500, "streaming": True}

    assert "All read." == langchain_says(ChatAnthropic(model_name=MODEL, **options), LARGE)
    check(double)


@pytest.mark.parametrize(("responses", "window"), [(False, SMALL), (True, MIDDLE)])
def test_an_agent_of_langchain_finishes_over_openais_protocols(
    front: Callable[..., Any], responses: bool, window: int
) -> None:
    double = gpt(window)
    made = front(double, auto=True, window=window, dialect="responses" if responses else "chat")
    options: Any = {"base_url": f"{made.url}/v1", "api_key": "any", "streaming": True, "use_responses_api": responses}

    assert "All read." == langchain_says(ChatOpenAI(model=GPT, **options), window)
    check(double)
