"""Claude Code sessions: one response from many lines, the path through the tree, whose words a text is, compactions."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Text, Thinking, ToolResult, Usage, encode_json, text_of
from perdure.lab.readers import read
from perdure.lab.recording import Recording

USAGE: JsonObject = {
    "input_tokens": 3,
    "cache_read_input_tokens": 400,
    "cache_creation_input_tokens": 50,
    "cache_creation": {"ephemeral_1h_input_tokens": 50, "ephemeral_5m_input_tokens": 0},
    "output_tokens": 7,
}


def line(kind: str, name: str, parent: str | None, message: Json, **more: Json) -> JsonObject:
    return {
        "type": kind,
        "uuid": name,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
        "timestamp": "2026-03-01T10:00:00Z",
        "message": message,
        **more,
    }


def user(name: str, parent: str | None, content: Json, **more: Json) -> JsonObject:
    return line("user", name, parent, {"role": "user", "content": content}, **more)


def assistant(name: str, parent: str | None, response: str, *blocks: Json, **more: Json) -> JsonObject:
    message: Json = {"id": response, "role": "assistant", "model": "claude-x", "content": [*blocks], "usage": USAGE}
    return line("assistant", name, parent, message, **more)


def call(name: str) -> JsonObject:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"path": "a.py"}}


def result(name: str, content: Json = "text of a.py") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def session(tmp_path: Path, *lines: JsonObject) -> list[Recording]:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(encode_json(one) for one in lines) + b"\n")
    return list(read(path))


def test_the_lines_of_one_response_are_one_message_and_one_request_whose_usage_counts_once(tmp_path: Path) -> None:
    thought: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    (found,) = session(
        tmp_path,
        user("u1", None, "Look at a.py"),
        assistant("a1", "u1", "msg_1", thought),
        assistant("a2", "a1", "msg_1", text("I look.")),
        assistant("a3", "a2", "msg_1", call("t1")),
        user("u2", "a3", [result("t1")]),
        assistant("a4", "u2", "msg_2", text("Done.")),
    )

    assert [(1, 400), (3, 400)] == [(one.at, one.usage.cache_read_tokens if one.usage else 0) for one in found.asked]
    assert Usage(
        input_tokens=3, cache_read_tokens=400, cache_write_tokens=50, cache_write_1h_tokens=50, output_tokens=7
    ) == (found.asked[0].usage)
    answer = found.transcript[1]
    assert "msg_1" == answer.id
    assert [Thinking(thinking="Hm.", signature="c2ln"), Text(text="I look.")] == list(answer.content[:2])
    assert ["t1"] == [one.id for one in answer.tool_uses]
    assert ("user", "assistant", "tool", "assistant") == tuple(one.provenance for one in found.transcript)
    assert () == found.troubles


def test_results_of_parallel_calls_hang_on_different_lines_and_all_belong_to_the_path(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", None, "Look"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("r1", "a1", [result("t1")]),
        assistant("a2", "a1", "msg_1", call("t2")),
        user("r2", "a2", [result("t2")]),
        assistant("a3", "r2", "msg_2", text("Done.")),
    )

    assert ["t1", "t2"] == [one.id for one in found.transcript[1].tool_uses]
    assert ["t1", "t2"] == [one.tool_use_id for message in found.transcript for one in message.tool_results]
    assert [1, 4] == [one.at for one in found.asked]
    assert () == found.troubles


def test_a_branch_that_was_left_is_left_out_and_its_requests_are_counted(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", text("One.")),
        user("u2", "a1", "The wrong way"),
        assistant("a2", "u2", "msg_2", text("Wrong.")),
        user("u3", "a1", "The right way"),
        assistant("a3", "u3", "msg_3", text("Right.")),
    )

    assert ["Begin", "One.", "The right way", "Right."] == [text_of(one.content) for one in found.transcript]
    assert ["1 requests on other branches of the session are left out"] == [one.reason for one in found.troubles]


def test_a_compaction_leaves_the_summary_out_and_moves_the_baseline(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", text("One.")),
        line("system", "c1", None, None, subtype="compact_boundary", logicalParentUuid="a1"),
        user("s1", "c1", "Summary of it all.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        user("u2", "s1", "Go on"),
        assistant("a2", "u2", "msg_2", text("Two.")),
    )

    assert ["Begin", "One.", "Go on", "Two."] == [text_of(one.content) for one in found.transcript]
    assert [(1, 0), (3, 2)] == [(one.at, one.baseline) for one in found.asked]


def test_a_compaction_that_kept_messages_names_the_first_of_them(tmp_path: Path) -> None:
    kept: Json = {"preservedSegment": {"headUuid": "u2"}}
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", text("One.")),
        user("u2", "a1", "Second"),
        assistant("a2", "u2", "msg_2", text("Two.")),
        line("system", "c1", "a2", None, subtype="compact_boundary", compactMetadata=kept),
        user("u3", "c1", "Third"),
        assistant("a3", "u3", "msg_3", text("Three.")),
    )

    assert [0, 0, 2] == [one.baseline for one in found.asked]


def test_a_summary_of_what_is_not_in_the_file_stays_as_the_harness_telling(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        line("system", "c1", None, None, subtype="compact_boundary", logicalParentUuid="elsewhere"),
        user("s1", "c1", "Summary of it all.", isCompactSummary=True),
        user("u2", "s1", "Go on"),
        assistant("a2", "u2", "msg_2", text("Two.")),
    )

    assert [("harness", "Summary of it all."), ("user", "Go on"), ("assistant", "Two.")] == [
        (one.provenance, text_of(one.content)) for one in found.transcript
    ]
    assert [0] == [one.baseline for one in found.asked]


def test_a_micro_compaction_is_counted_and_changes_no_message(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", text("One.")),
        line("system", "c1", "a1", None, subtype="microcompact_boundary"),
        user("u2", "c1", "Go on"),
        assistant("a2", "u2", "msg_2", text("Two.")),
    )

    assert [(0, 0), (0, 1)] == [(one.baseline, one.edits) for one in found.asked]


def test_what_was_typed_is_told_from_what_the_harness_wrote_in_the_users_place(tmp_path: Path) -> None:
    command = "<command-name>/model</command-name>\n<command-args></command-args>"
    asked = "<command-message>review</command-message><command-args>the parser</command-args>"
    (found,) = session(
        tmp_path,
        user("u1", None, "<local-command-caveat>Caveat</local-command-caveat>", isMeta=True),
        user("u2", "u1", command),
        user("u3", "u2", "<local-command-stdout>set</local-command-stdout>"),
        user("u4", "u3", asked),
        user("u5", "u4", "a skill's text", isMeta=True),
        user("u6", "u5", "a job is done", origin={"kind": "task-notification"}),
        user("u7", "u6", '<teammate-message from="x">hello</teammate-message>'),
        user("u8", "u7", "Really typed", origin={"kind": "human"}),
    )

    assert ["harness", "harness", "harness", "user", "harness", "harness", "peer", "user"] == [
        one.provenance for one in found.transcript
    ]


def test_a_message_of_typed_text_and_harness_text_becomes_two(tmp_path: Path) -> None:
    reminder = text("<system-reminder>today</system-reminder>")
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("u2", "a1", [result("t1"), text("[Request interrupted by user]"), reminder, text("Stop, use tabs")]),
        user("u3", "u2", [reminder, text("And spaces")]),
        user("u4", "u3", [reminder]),
    )

    assert [
        ("u1", "user", True),
        ("msg_1", "assistant", False),
        ("u2", "tool", False),
        ("u2.2", "harness", False),
        ("u2.3", "user", True),
        ("u3", "user", True),
        ("u4", "harness", False),
    ] == [(one.id, one.provenance, one.is_typed) for one in found.transcript]


def test_what_the_user_typed_while_the_model_worked_is_told(tmp_path: Path) -> None:
    queued: Json = {"type": "queued_command", "prompt": "And quickly"}
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("r1", "a1", [result("t1")]),
        line("attachment", "q1", "r1", None, attachment=queued),
        assistant("a2", "q1", "msg_2", text("Done.")),
    )

    assert ["Begin", "And quickly"] == [text_of(one.content) for one in found.transcript if one.is_typed]


def test_a_subagent_is_a_recording_of_its_own_whose_prompt_is_no_users(tmp_path: Path) -> None:
    main, agent = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("x1", None, "Find the file", isSidechain=True, agentId="7f"),
        assistant("x2", "x1", "msg_8", text("Found."), isSidechain=True, agentId="7f"),
        user("r1", "a1", [result("t1")]),
        assistant("a2", "r1", "msg_2", text("Done.")),
    )

    assert ("session.jsonl", 2) == (main.file, len(main.asked))
    assert ("session.jsonl#agent-7f", 1) == (agent.file, len(agent.asked))
    assert "agent-7f" == agent.asked[0].thread
    assert ["peer", "assistant"] == [one.provenance for one in agent.transcript]


def test_a_failed_request_that_the_harness_made_up_an_answer_for_is_none(tmp_path: Path) -> None:
    made_up: Json = {"id": "x", "role": "assistant", "model": "<synthetic>", "content": [text("API Error")]}
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        line("assistant", "a1", "u1", made_up, isApiErrorMessage=True),
        user("u2", "a1", "Again"),
        assistant("a2", "u2", "msg_2", text("Done.")),
    )

    assert (["Begin", "Again", "Done."], 1) == (
        [text_of(one.content) for one in found.transcript],
        len(found.asked),
    )


def test_a_call_without_a_result_is_answered_and_that_is_reported(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("u2", "a1", "Never mind"),
        assistant("a2", "u2", "msg_2", text("Fine.")),
    )

    assert [1, 4] == [one.at for one in found.asked]
    assert "t1" == found.transcript[2].tool_results[0].tool_use_id
    assert ["call_answered"] == [one.reason.split(":")[0] for one in found.troubles]


def test_a_repeated_line_counts_once_and_a_cycle_of_parents_ends(tmp_path: Path) -> None:
    (found,) = session(
        tmp_path,
        user("u1", "a1", "Begin"),
        assistant("a1", "u1", "msg_1", text("One.")),
        assistant("a1", "u1", "msg_1", text("One.")),
    )

    assert ["Begin", "One."] == [text_of(one.content) for one in found.transcript]
    assert ["1 lines repeat the id of an earlier one and are left out"] == [one.reason for one in found.troubles]


def test_pictures_in_results_are_carried(tmp_path: Path) -> None:
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    (found,) = session(
        tmp_path,
        user("u1", None, "Begin"),
        assistant("a1", "u1", "msg_1", call("t1")),
        user("r1", "a1", [result("t1", [{"type": "image", "source": source}])]),
    )

    (held,) = found.transcript[2].content
    assert isinstance(held, ToolResult)
    assert isinstance(held.content, tuple)
    assert source == getattr(held.content[0], "source", None)
