"""Trajectories in one document: mini-swe-agent, SWE-agent, OpenHands, OpenCode."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Text, ToolResult, Usage, encode_json, text_of
from perdure.lab.readers import read
from perdure.lab.recording import Recording


def recording(tmp_path: Path, whole: Json) -> Recording:
    path = tmp_path / "whole.json"
    path.write_bytes(encode_json(whole))
    (found,) = read(path)
    return found


def mini(*messages: Json) -> JsonObject:
    return {"info": {"mini_version": "1"}, "messages": [*messages], "trajectory_format": "mini-swe-agent-1"}


def test_mini_swe_agent_tells_the_task_from_outputs_and_complaints(tmp_path: Path) -> None:
    usage: Json = {"prompt_tokens": 50, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}}
    response: Json = {"response": {"created": 1772359202, "model": "m", "usage": usage}}
    found = recording(
        tmp_path,
        mini(
            {"role": "system", "content": "You are an agent."},
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": "ls", "extra": response},
            {"role": "user", "content": "<returncode>0</returncode>"},
            {"role": "assistant", "content": "hm"},
            {"role": "user", "content": "Give one action."},
        ),
    )

    assert ("mini-swe-agent", "chat", "m") == (found.format, found.dialect, found.model)
    assert [
        ("system", "harness"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("user", "tool"),
        ("assistant", "assistant"),
        ("user", "harness"),
    ] == [(one.role, one.provenance) for one in found.transcript]
    assert [(2, 1772359202.0), (4, 1772359202.0)] == [(one.at, one.time) for one in found.asked]
    assert [Usage(input_tokens=30, cache_read_tokens=20, output_tokens=4), None] == [one.usage for one in found.asked]


def test_mini_swe_agent_with_calls_has_results(tmp_path: Path) -> None:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    found = recording(
        tmp_path,
        mini(
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": None, "tool_calls": [call], "extra": {"timestamp": 1772359202.5}},
            {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"raw_output": "a.py"}},
            {"role": "exit", "content": "Submitted"},
        ),
    )

    assert ["user", "assistant", "tool"] == [one.provenance for one in found.transcript]
    assert "c1" == found.transcript[2].tool_results[0].tool_use_id


def test_swe_agent_is_read_from_its_history_with_one_request_per_answer(tmp_path: Path) -> None:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    step: Json = {"action": "ls", "observation": "a.py", "response": "I list.", "thought": "I list."}
    history: Json = [
        {"role": "system", "content": "You are an agent.", "agent": "main"},
        {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True},
        {"role": "user", "content": "Fix it", "agent": "main"},
        {"role": "assistant", "content": "I list.", "agent": "main", "tool_calls": [call]},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "Summary", "agent": "summarizer"},
        {"role": "assistant", "content": "Done.", "agent": "main", "tool_calls": None},
        {"role": "user", "content": "a.py", "agent": "main"},
    ]
    found = recording(tmp_path, {"trajectory": [step], "history": history, "info": {}})

    assert ["harness", "harness", "user", "assistant", "tool", "assistant", "tool"] == [
        one.provenance for one in found.transcript
    ]
    assert [3, 5] == [one.at for one in found.asked]
    assert [None, None] == [one.usage for one in found.asked]
    assert ["1 requests of other agents are left out"] == [one.reason for one in found.troubles]


def test_swe_agent_without_a_history_is_read_from_its_steps(tmp_path: Path) -> None:
    query: Json = [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "I list."}]
    step: Json = {"action": "ls", "observation": "a.py", "response": "I list.", "query": query}
    found = recording(tmp_path, {"trajectory": [step], "info": {}})

    assert ["Fix it", "I list.", "a.py"] == [text_of(one.content) for one in found.transcript]
    assert [1] == [one.at for one in found.asked]


def openhands_event(number: int, **more: Json) -> JsonObject:
    return {"id": number, "timestamp": f"2026-03-01T10:00:{number:02}", "source": "agent", **more}


def openhands_call(name: str, response: str) -> JsonObject:
    function: Json = {"name": "execute_bash", "arguments": '{"command":"ls"}'}
    calls: Json = [{"id": one, "type": "function", "function": function} for one in ("c1", "c2")]
    message: Json = {"role": "assistant", "content": "I list.", "tool_calls": calls}
    usage: Json = {"prompt_tokens": 50, "completion_tokens": 4}
    answer: Json = {"id": response, "model": "m", "choices": [{"message": message}], "usage": usage}
    return {"tool_call_id": name, "function_name": "execute_bash", "model_response": answer}


def test_openhands_actions_of_one_response_are_one_request_with_overhead_and_what_was_looked_up(
    tmp_path: Path,
) -> None:
    tool: Json = {"type": "function", "function": {"name": "execute_bash", "description": "Run", "parameters": {}}}
    known: Json = {"microagent_knowledge": [{"content": "Use the token."}]}
    events: list[Json] = [
        openhands_event(0, action="system", args={"content": "You are an agent.", "tools": [tool]}),
        openhands_event(1, source="user", action="message", args={"content": "Fix it"}),
        openhands_event(2, source="environment", observation="recall", content="Added", extras=known),
        openhands_event(3, action="run", tool_call_metadata=openhands_call("c1", "r1"), args={}),
        openhands_event(4, observation="run", tool_call_metadata=openhands_call("c1", "r1"), content="a.py"),
        openhands_event(5, action="run", tool_call_metadata=openhands_call("c2", "r1"), args={}),
        openhands_event(6, observation="run", tool_call_metadata=openhands_call("c2", "r1"), content="b.py"),
        openhands_event(7, observation="error", content="Parameter missing"),
        openhands_event(8, action="message", args={"content": "Done."}),
    ]
    counts: Json = [{"response_id": "r1", "prompt_tokens": 50, "cache_read_tokens": 40, "completion_tokens": 4}]
    found = recording(tmp_path, {"history": events, "instance_id": "x", "metrics": {"token_usages": counts}})

    assert ("whole.json", (Text(text="You are an agent."),)) == (found.file, found.system)
    assert ["execute_bash"] == [one.name for one in found.tools]
    assert ["user", "harness", "assistant", "tool", "tool", "harness", "assistant"] == [
        one.provenance for one in found.transcript
    ]
    assert ["c1", "c2"] == [one.id for one in found.transcript[2].tool_uses]
    assert [Usage(input_tokens=10, cache_read_tokens=40, output_tokens=4), None] == [one.usage for one in found.asked]


def test_openhands_condensation_moves_the_baseline(tmp_path: Path) -> None:
    events: list[Json] = [
        openhands_event(0, source="user", action="message", args={"content": "Fix it"}),
        openhands_event(1, action="message", args={"content": "How?"}),
        openhands_event(2, source="user", action="message", args={"content": "Well"}),
        openhands_event(3, action="condensation", args={"forgotten_events_start_id": 0, "forgotten_events_end_id": 1}),
        openhands_event(4, action="message", args={"content": "Done."}),
    ]
    found = recording(tmp_path, events)

    assert [(1, 0), (3, 2)] == [(one.at, one.baseline) for one in found.asked]


def test_each_line_of_an_openhands_evaluation_is_a_recording(tmp_path: Path) -> None:
    said: Json = openhands_event(0, source="user", action="message", args={"content": "Fix it"})
    path = tmp_path / "output.jsonl"
    path.write_bytes(b"\n".join(encode_json({"instance_id": name, "history": [said]}) for name in ("x", "y")))

    assert ["output.jsonl", "output.jsonl#y"] == [one.file for one in read(path)]


def opencode_tool(name: str, **state: Json) -> JsonObject:
    return {"type": "tool", "callID": name, "tool": "read", "state": {"input": {"path": "a.py"}, **state}}


def test_an_opencode_message_is_split_into_its_steps_with_their_counts(tmp_path: Path) -> None:
    tokens: Json = {"input": 3, "output": 5, "reasoning": 2, "cache": {"read": 400, "write": 50}}
    steps: list[Json] = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm.", "metadata": {"anthropic": {"signature": "c2ln"}}},
        opencode_tool("t1", status="completed", output="text", time={"end": 1772359203000}),
        opencode_tool("t2", status="error", error="no such file"),
        {"type": "step-finish", "tokens": tokens},
        {"type": "step-start"},
        {"type": "text", "text": "Done."},
        {"type": "step-finish", "tokens": tokens},
    ]
    typed: list[Json] = [
        {"type": "text", "text": "Fix it"},
        {"type": "text", "text": "File text", "synthetic": True},
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="},
    ]
    when: Json = {"created": 1772359201000}
    found = recording(
        tmp_path,
        {
            "info": {"id": "ses_1"},
            "messages": [
                {"info": {"id": "u1", "role": "user", "time": when}, "parts": typed},
                {"info": {"id": "a1", "role": "assistant", "modelID": "claude-x", "time": when}, "parts": steps},
                {"info": {"id": "a2", "role": "assistant", "summary": True}, "parts": [{"type": "text", "text": "S"}]},
                {"info": {"id": "u2", "role": "user", "time": when}, "parts": [{"type": "text", "text": "On"}]},
                {"info": {"id": "a3", "role": "assistant"}, "parts": [{"type": "text", "text": "Yes."}]},
            ],
        },
    )

    assert ("opencode", "anthropic", "claude-x") == (found.format, found.dialect, found.model)
    assert ["user", "harness", "user", "assistant", "tool", "assistant", "user", "assistant"] == [
        one.provenance for one in found.transcript
    ]
    assert [(3, 0), (5, 0), (7, 6)] == [(one.at, one.baseline) for one in found.asked]
    assert Usage(input_tokens=3, cache_read_tokens=400, cache_write_tokens=50, output_tokens=7) == found.asked[0].usage
    assert (
        ToolResult(tool_use_id="t1", content="text"),
        ToolResult(tool_use_id="t2", content="no such file", is_error=True),
    ) == found.transcript[4].content
