"""A session of mixed tool output, made up from a seed: JSON, logs, code, search hits, each with one needle in it.

It knows words and dice. It must never know a policy.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from perdure.kernel.messages import Block, JsonObject, Message, Text, Tool, ToolResult, ToolUse, Transcript, encode_json
from perdure.lab.recording import Asked, Recording

CALLS = 59
TURNS = 6
"""Messages that the user types, spread evenly."""
STEP = 20.0
"""Seconds between two requests: no pause outlives a cache, so all is done to a warm one."""
START = 1_790_000_000.0
MODEL = "claude-sonnet-4-5"

SYSTEM = Text(text="You are a coding agent. You work on an order service and report what you find. " * 30)
TOOLS = tuple(
    Tool(name=name, description=f"{name} looks at the project. " * 6, schema={"type": "object"})
    for name in ("read", "bash", "grep", "query")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """The session and what is looked for in it."""

    recording: Recording
    needles: tuple[str, ...]
    """One in each result."""
    facts: tuple[str, ...]
    """What the user typed and nobody repeats."""


def mixed(seed: int) -> Mixed:
    """A session of `CALLS` tool calls, each with a result of 1 to 16 kB."""
    dice = random.Random(seed)
    messages: list[Message] = []
    needles: list[str] = []
    facts: list[str] = []
    asked: list[Asked] = []
    for number in range(CALLS):
        time = START + number * STEP
        if number % (CALLS // TURNS + 1) == 0:
            facts.append(f"RULE-{dice.randrange(16**6):06x}")
            text = f"Look into part {number} of the service next. Keep to {facts[-1]}, whatever else you change."
            messages.append(
                Message(id=f"u{number}", role="user", content=(Text(text=text),), time=time, provenance="user")
            )
        asked.append(Asked(at=len(messages), time=time, model=MODEL))
        needles.append(f"ref-{dice.randrange(16**10):010x}")
        tool, output = OUTPUTS[number % len(OUTPUTS)](dice, needles[-1])
        call = ToolUse(id=f"call_{number}", name=tool, input={"target": f"part_{number}"})
        said: tuple[Block, ...] = (Text(text=f"I look at part {number} with {tool}."), call)
        answer = Message(id=f"a{number}", role="assistant", content=said, time=time + 4, provenance="assistant")
        messages.append(replace(answer, stop_reason="tool_use"))
        result = ToolResult(tool_use_id=call.id, content=(Text(text=output),))
        messages.append(Message(id=f"r{number}", role="user", content=(result,), time=time + 6, provenance="tool"))
    asked.append(Asked(at=len(messages), time=START + CALLS * STEP, model=MODEL))
    recording = Recording(
        file=f"mixed-{seed}",
        format="made",
        transcript=Transcript(messages),
        asked=tuple(asked),
        model=MODEL,
        system=(SYSTEM,),
        tools=TOOLS,
    )
    return Mixed(recording=recording, needles=tuple(needles), facts=tuple(facts))


def _lines(dice: random.Random, needle: str, line: Callable[[int], str], hidden: str) -> str:
    """Some lines, one of which holds the needle."""
    wanted, size, lines = dice.randrange(1_000, 16_000), 0, list[str]()
    while size < wanted:
        lines.append(line(len(lines)))
        size += len(lines[-1]) + 1
    lines.insert(dice.randrange(len(lines) + 1), hidden.format(needle=needle))
    return "\n".join(lines)


def _log(dice: random.Random, needle: str) -> tuple[str, str]:
    def line(number: int) -> str:
        level = dice.choice(("INFO", "INFO", "INFO", "DEBUG", "WARN"))
        return f"2026-05-01T10:{number % 60:02d}:07Z {level} worker-{number % 7} request {number} took {number % 97} ms"

    return "bash", _lines(dice, needle, line, "2026-05-01T10:41:12Z ERROR worker-3 request failed, trace {needle}")


def _code(dice: random.Random, needle: str) -> tuple[str, str]:
    def line(number: int) -> str:
        name = dice.choice(("order", "invoice", "refund", "stock"))
        return f"def handle_{name}_{number}(value: int) -> int:\n    return value * {number} + limit_of({name!r})\n"

    return "read", _lines(dice, needle, line, "TOKEN = '{needle}'\n")


def _hits(dice: random.Random, needle: str) -> tuple[str, str]:
    def line(number: int) -> str:
        return f"src/app/part_{number // 9}.py:{number * 3 % 400 + 1}:    total = compute(order, {dice.randrange(999)})"

    return "grep", _lines(dice, needle, line, "src/app/part_3.py:77:    trace = '{needle}'")


def _rows(dice: random.Random, needle: str) -> tuple[str, str]:
    count = dice.randrange(12, 190)
    rows: list[JsonObject] = [
        {"id": f"ord_{at:06d}", "state": dice.choice(("paid", "open")), "total": dice.randrange(9_000), "tags": ["eu"]}
        for at in range(count)
    ]
    rows[dice.randrange(count)]["note"] = needle
    return "query", encode_json([*rows]).decode()


OUTPUTS = (_rows, _log, _code, _hits)
