"""A coding agent in a few lines: two tools, one task, every event on the screen.

    ANTHROPIC_API_KEY=... python examples/agent.py "Which Python version does this project need?"

For OpenAI use `openai(...)`, for a server on this machine `chat(...)`; nothing else changes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from perdure.kernel.agent import Agent, AgentTool, Model, Setup
from perdure.kernel.messages import JsonObject, Tool
from perdure.providers import anthropic


def read(arguments: JsonObject) -> str:
    return Path(str(arguments["path"])).read_text(encoding="utf-8", errors="replace")


def bash(arguments: JsonObject) -> str:
    done = subprocess.run(["bash", "-c", str(arguments["command"])], capture_output=True, text=True, timeout=120)
    return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"


def text(*names: str) -> JsonObject:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}


TOOLS = (
    AgentTool(definition=Tool(name="read", description="Reads a file.", schema=text("path")), run=read, beside=True),
    AgentTool(definition=Tool(name="bash", description="Runs a command.", schema=text("command")), run=bash),
)


async def work(model: Model, task: str) -> str:
    """The agent: everything that happens goes to the screen, and the answer comes back."""
    agent = Agent(model, Setup(system="You are a careful coding agent.", tools=TOOLS))
    end = await agent.run(task, lambda event: print(event.name))
    return f"{end.state}: {end.answer}"


if __name__ == "__main__":
    key = os.environ["ANTHROPIC_API_KEY"]
    print(asyncio.run(work(anthropic("claude-opus-5-5", api_key=key), sys.argv[1])))
