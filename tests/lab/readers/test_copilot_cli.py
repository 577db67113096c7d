"""Copilot CLI sessions: events, what was typed inside what was sent, subagents."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Text, Thinking, encode_json, text_of
from perdure.lab.readers import read
from perdure.lab.recording import Recording


def event(kind: str, name: str, **data: Json) -> JsonObject:
    return {"type": kind, "id": name, "timestamp": "2026-03-01T10:00:00Z", "data": data}


def answer(name: str, said: str, *calls: str, **more: Json) -> JsonObject:
    requests: Json = [{"toolCallId": one, "name": "bash", "arguments": {"command": "ls"}} for one in calls]
    return event(
        "assistant.message", name, model="claude-x", content=said, toolRequests=requests, outputTokens=5, **more
    )


def session(tmp_path: Path, *lines: JsonObject) -> list[Recording]:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(encode_json(one) for one in lines))
    return list(read(path))


def test_events_become_messages_and_requests(tmp_path: Path) -> None:
    sent = "<current_datetime>now</current_datetime>\n\nFix it\n\n<reminder>x</reminder>"
    (found,) = session(
        tmp_path,
        event("session.start", "e0", sessionId="s"),
        event("system.message", "e1", content="You are an agent."),
        event("user.message", "e2", content="Fix it", transformedContent=sent),
        answer("e3", "", "c1", reasoningText="Hm.", reasoningOpaque="c2ln"),
        event("tool.execution_complete", "e4", toolCallId="c1", success=True, result={"content": "a.py"}),
        answer("e5", "Done."),
        event("session.compaction_complete", "e6", success=True),
        event("system.notification", "e7", content="<system_notification>job done"),
        answer("e8", "More."),
    )

    assert (Text(text="You are an agent."),) == found.system
    assert ["harness", "user", "harness", "assistant", "tool", "assistant", "harness", "assistant"] == [
        one.provenance for one in found.transcript
    ]
    assert "Fix it" == text_of(found.transcript[1].content)
    assert Thinking(thinking="Hm.", signature="c2ln") == found.transcript[3].content[0]
    assert [(3, 0), (5, 0), (7, 6)] == [(one.at, one.baseline) for one in found.asked]


def test_output_tokens_alone_are_no_usage(tmp_path: Path) -> None:
    (found,) = session(tmp_path, event("user.message", "e2", content="Fix it"), answer("e3", "Done."))

    assert [None] == [one.usage for one in found.asked]


def test_a_subagents_events_are_a_recording_of_their_own(tmp_path: Path) -> None:
    main, agent = session(
        tmp_path,
        event("user.message", "e1", content="Fix it"),
        answer("e2", "", "c1"),
        event("user.message", "e3", content="Find it", parentToolCallId="c1"),
        answer("e4", "Found.", parentToolCallId="c1"),
        event("tool.execution_complete", "e5", toolCallId="c1", success=False, error={"message": "failed"}),
        answer("e6", "Done."),
    )

    assert (["user", "assistant", "tool", "assistant"], True) == (
        [one.provenance for one in main.transcript],
        main.transcript[2].tool_results[0].is_error,
    )
    assert ("events.jsonl#agent-c1", ["peer", "assistant"]) == (
        agent.file,
        [one.provenance for one in agent.transcript],
    )
