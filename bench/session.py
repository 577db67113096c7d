"""The session that is measured: rounds of a call and its result, made of seeded words.

It knows how a long session looks. It must never know what is measured on it.
"""

from __future__ import annotations

import random
from functools import cache

from perdure.kernel.messages import Block, JsonObject, Message, Text, Tool, ToolResult, ToolUse, freeze_object
from perdure.kernel.models import ModelProfile, lookup

MESSAGES = 10_000
"""With about a million tokens: 290 bytes a message."""
MODEL = "claude-sonnet-4-5"
TURN = 50
"""Rounds after which the user says something."""
STEP = 20.0
"""Seconds from one request to the next, which keeps the cache warm."""
START = 1_790_000_000.0

SYSTEM = (Text(text="You work on code. " * 500),)
TOOLS = (Tool(name="read", description="Reads a file. " * 60, schema={"type": "object"}),)

_WORDS = (
    *("def", "return", "value", "the", "request", "src/app/main.py"),
    *("12:", "error", "assert", "\n", "    ", "(self)"),
)


def profile() -> ModelProfile:
    """The model that requests would go to."""
    return lookup(MODEL)


@cache
def messages(count: int = MESSAGES) -> tuple[Message, ...]:
    """A message of the user's and that many more; the last is a result, so that a request is due."""
    chance = random.Random(7)
    made = [_typed(0, "Go through the parts of the application one by one, and mend what is broken.")]
    for number in range(count // 2):
        made += _round(number, chance)
    return tuple(made)


def body(count: int = MESSAGES) -> JsonObject:
    """A session of the same kind as the body of a request of Anthropic's."""
    chance = random.Random(7)
    listed: list[object] = []
    for number in range(count // 2):
        call = f"toolu_{number:06}"
        said = {"type": "text", "text": prose(chance, 12)}
        asked = {"type": "tool_use", "id": call, "name": "read", "input": {"path": f"src/app/{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": prose(chance, 60)}
        listed += [{"role": "assistant", "content": [said, asked]}, {"role": "user", "content": [result]}]
    tool = {"name": "read", "description": prose(chance, 200), "input_schema": {"type": "object"}}
    return freeze_object(
        {
            "model": "claude",
            "tools": [tool],
            "system": [{"type": "text", "text": prose(chance, 2_000)}],
            "messages": listed,
            "max_tokens": 8_000,
        }
    )


def prose(chance: random.Random, words: int) -> str:
    """Text of that many words, six characters each with what parts them."""
    return " ".join(chance.choice(_WORDS) for _ in range(words))


def _round(number: int, chance: random.Random) -> tuple[Message, Message]:
    now = START + STEP * number
    use = ToolUse(id=f"toolu_{number:06}", name="read", input={"path": f"src/app/{number}.py"})
    answer: tuple[Block, ...] = (Text(text=prose(chance, 12)), use)
    # Most results are short and a few are long; those alone are worth clearing.
    result = ToolResult(tool_use_id=use.id, content=prose(chance, 174 if number % 4 == 0 else 30))
    asked = Message(id=f"a{number}", role="assistant", content=answer, provenance="assistant", time=now)
    if number % TURN == TURN - 1:
        # A user who types while the agent works: the words go along with the result.
        words = Text(text=f"Part {number} is next. Never touch src/generated_{number}.py.")
        return asked, Message(id=f"r{number}", role="user", content=(result, words), provenance="user", time=now + 5)
    return asked, Message(id=f"r{number}", role="user", content=(result,), provenance="tool", time=now + 5)


def _typed(number: int, text: str) -> Message:
    return Message(id=f"u{number}", role="user", content=(Text(text=text),), provenance="user", time=START - 5)
