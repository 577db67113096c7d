"""Whatever stands in a file: a recording that keeps every rule, or an error that says what is wrong."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.errors import UserError
from perdure.kernel.messages import Json, encode_json
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import check_messages
from perdure.lab.readers import read
from perdure.lab.recording import Recording

USAGE: Json = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 7}
CHAT_CALL: Json = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CHAT: list[Json] = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "I read.", "tool_calls": [CHAT_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "text"},
    {"role": "assistant", "content": "Done."},
]
BLOCKS: list[Json] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
]
RESULT: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "text"}]}
CLAUDE: list[Json] = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Hello"}},
    {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {"id": "m1", "content": BLOCKS, "usage": USAGE}},
    {"type": "user", "uuid": "r1", "parentUuid": "a1", "timestamp": "2026-03-01T10:00:00Z", "message": RESULT},
    {"type": "system", "uuid": "c1", "parentUuid": None, "logicalParentUuid": "r1", "subtype": "compact_boundary"},
    {"type": "user", "uuid": "x1", "isSidechain": True, "agentId": "7", "message": {"role": "user", "content": "Go"}},
    {"type": "assistant", "uuid": "a2", "parentUuid": "c1", "message": {"id": "m2", "content": [], "usage": USAGE}},
]
CODEX: list[Json] = [
    {"type": "session_meta", "payload": {"base_instructions": {"text": "S"}}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
    },
    {"type": "response_item", "payload": {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c1"}},
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1", "output": "x"}},
    {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 9}}}},
    {"type": "compacted", "payload": {"message": "S", "replacement_history": []}},
]
PI: list[Json] = [
    {"type": "session", "id": "s", "timestamp": 1772359201, "cwd": "/x"},
    {"type": "message", "id": "a", "timestamp": 1772359201, "message": {"role": "user", "content": "Hello"}},
    {
        "type": "message",
        "id": "b",
        "parentId": "a",
        "timestamp": 1,
        "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}]},
    },
    {
        "type": "message",
        "id": "c",
        "parentId": "b",
        "timestamp": 1,
        "message": {"role": "toolResult", "toolCallId": "c1", "content": "x"},
    },
    {"type": "compaction", "id": "d", "parentId": "c", "firstKeptEntryId": "b", "summary": "S"},
]
COPILOT: list[Json] = [
    {"type": "user.message", "id": "a", "data": {"content": "Hello", "transformedContent": "x Hello y"}},
    {
        "type": "assistant.message",
        "id": "b",
        "data": {"content": "", "toolRequests": [{"toolCallId": "c1", "name": "ls", "arguments": {}}]},
    },
    {"type": "tool.execution_complete", "id": "c", "data": {"toolCallId": "c1", "result": {"content": "x"}}},
]
OPENHANDS: list[Json] = [
    {"id": 1, "source": "user", "action": "message", "args": {"content": "Hello"}},
    {
        "id": 2,
        "source": "agent",
        "action": "run",
        "tool_call_metadata": {"tool_call_id": "c1", "model_response": {"id": "r", "choices": [{"message": CHAT[2]}]}},
    },
    {
        "id": 3,
        "source": "agent",
        "observation": "run",
        "content": "x",
        "tool_call_metadata": {"tool_call_id": "c1", "model_response": {"id": "r"}},
    },
]
OPENCODE: Json = {
    "info": {},
    "messages": [
        {"info": {"id": "a", "role": "user"}, "parts": [{"type": "text", "text": "Hello"}]},
        {
            "info": {"id": "b", "role": "assistant"},
            "parts": [
                {
                    "type": "tool",
                    "callID": "c1",
                    "tool": "ls",
                    "state": {"status": "completed", "input": {}, "output": "x"},
                }
            ],
        },
    ],
}
BODY: Json = {"model": "claude-x", "system": "S", "messages": [{"role": "user", "content": "Hello"}]}
LONGER: Json = {
    "model": "claude-x",
    "system": "S",
    "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": BLOCKS}, RESULT],
}


@dataclass(frozen=True)
class Case:
    name: str
    value: Json
    by_lines: bool = False

    def written(self, value: Json) -> bytes:
        if self.by_lines and isinstance(value, list):
            return b"\n".join(encode_json(one) for one in value)
        return encode_json(value)


CASES = (
    Case("claude-code", [*CLAUDE], by_lines=True),
    Case("codex", [*CODEX], by_lines=True),
    Case("pi", [*PI], by_lines=True),
    Case("copilot-cli", [*COPILOT], by_lines=True),
    Case("mini-swe-agent", {"trajectory_format": "mini-swe-agent-1", "messages": [*CHAT]}),
    Case("swe-agent", {"trajectory": [{"action": "ls", "observation": "x"}], "history": [*CHAT]}),
    Case("openhands", [*OPENHANDS]),
    Case("opencode", OPENCODE),
    Case("raw-anthropic", [BODY, {"request": LONGER, "response": {"content": [], "role": "assistant"}}], by_lines=True),
    Case("raw-openai", [{"model": "gpt-x", "messages": [*CHAT]}, {"model": "gpt-x", "input": "Hello"}], by_lines=True),
    Case("messages", [*CHAT]),
)
JUNK: tuple[Json, ...] = (
    None,
    True,
    -1,
    2**63,
    1e300,
    "",
    " ",
    "c1",
    "\ud800",
    "<system-reminder>",
    [],
    [[]],
    {},
    {"type": "x"},
    [None, 3],
    "a1",
    "tool_use",
)


def places(value: Json) -> list[tuple[list[Json] | dict[str, Json], int | str]]:
    """Every place in a value that something else could stand in."""
    found: list[tuple[list[Json] | dict[str, Json], int | str]] = []
    waiting: list[Json] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found.extend((one, key) for key in one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            found.extend((one, index) for index in range(len(one)))
            waiting.extend(one)
    return found


def copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    return [copied(one) for one in value] if isinstance(value, list) else value


def spoilt(value: Json, seed: int, times: int) -> Json:
    """A copy in which some values are replaced, doubled, moved or taken out."""
    dice = random.Random(seed)
    value = copied(value)
    for _ in range(times):
        where = places(value)
        if not where:
            break
        holder, key = dice.choice(where)
        whole = cast("dict[int | str, Json]", holder)
        chance = dice.random()
        if chance < 0.2:
            del whole[key]
        elif chance < 0.4 and isinstance(holder, list):
            holder.insert(dice.randrange(len(holder) + 1), copied(dice.choice(holder)))
        elif chance < 0.7:
            whole[key] = copied(dice.choice(JUNK))
        else:
            other, other_key = dice.choice(where)
            whole[key] = copied(
                cast("dict[int | str, Json]", other).get(other_key) if isinstance(other, dict) else "c1"
            )
    return value


def keeps_its_promises(found: Recording) -> None:
    faults = check_messages(found.transcript[:], lookup("claude-opus-4-5"), found.dialect)

    # A system message between others is legal for newer models alone: which model it is depends on who replays.
    assert [] == [fault for fault in faults if not fault.kind.startswith("system_")]
    places = [one.at for one in found.asked]
    assert sorted(places) == places
    assert all(0 <= one.baseline <= one.at <= len(found.transcript) for one in found.asked)


def read_or_refused(path: Path) -> list[Recording]:
    try:
        return list(read(path))
    except UserError:
        return []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sample_of_each_format_is_read_as_that_format(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "file"
    path.write_bytes(case.written(case.value))
    found = list(read(path))

    assert {case.name} == {one.format for one in found}
    assert any(one.asked for one in found)
    for one in found:
        keeps_its_promises(one)


@given(st.sampled_from(CASES), st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_a_spoilt_file_is_read_by_the_rules_or_refused_with_a_reason(
    tmp_path_factory: pytest.TempPathFactory, case: Case, seed: int, times: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"spoilt-{case.name}"
    path.write_bytes(case.written(spoilt(case.value, seed, times)))
    for one in read_or_refused(path):
        keeps_its_promises(one)


@given(st.sampled_from(CASES), st.integers(0, 4_000), st.binary(max_size=30))
@settings(max_examples=150, deadline=None)
def test_bytes_that_stray_into_a_file_are_no_end(
    tmp_path_factory: pytest.TempPathFactory, case: Case, at: int, stray: bytes
) -> None:
    whole = case.written(case.value)
    path = tmp_path_factory.getbasetemp() / f"stray-{case.name}"
    path.write_bytes(whole[: at % len(whole)] + stray + whole[at % len(whole) :])
    for one in read_or_refused(path):
        keeps_its_promises(one)
