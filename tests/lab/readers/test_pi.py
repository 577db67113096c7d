"""pi sessions: entries as a list and as a tree, compactions by place and by id, aborted answers."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Usage, encode_json, text_of
from perdure.lab.readers import read
from perdure.lab.recording import Recording

HEAD: JsonObject = {"type": "session", "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/x"}
USAGE: JsonObject = {"input": 3, "output": 7, "cacheRead": 400, "cacheWrite": 50, "cost": {"total": 0.01}}


def entry(message: Json, **more: Json) -> JsonObject:
    return {"type": "message", "timestamp": "2026-03-01T10:00:09Z", "message": message, **more}


def user(text: str, **more: Json) -> JsonObject:
    return entry({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1772359201000}, **more)


def assistant(*blocks: Json, usage: Json = USAGE, **more: Json) -> JsonObject:
    return entry(
        {
            "role": "assistant",
            "api": "anthropic-messages",
            "model": "claude-x",
            "content": [*blocks],
            "usage": usage,
            "timestamp": 1772359202000,
        },
        **more,
    )


def said(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def session(tmp_path: Path, *lines: JsonObject) -> Recording:
    path = tmp_path / "pi.jsonl"
    path.write_bytes(b"\n".join(encode_json(one) for one in (HEAD, *lines)))
    (found,) = read(path)
    return found


def test_answers_carry_calls_signatures_counts_and_the_time_of_the_request(tmp_path: Path) -> None:
    thinking: Json = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2ln"}
    call: Json = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a.py"}}
    result: Json = {"role": "toolResult", "toolCallId": "t1", "content": [said("text")], "isError": True}
    found = session(tmp_path, user("Look"), assistant(thinking, call), entry(result), assistant(said("Done.")))

    assert [(1, 1772359202.0), (3, 1772359202.0)] == [(one.at, one.time) for one in found.asked]
    assert Usage(input_tokens=3, cache_read_tokens=400, cache_write_tokens=50, output_tokens=7) == found.asked[0].usage
    assert "c2ln" == getattr(found.transcript[1].content[0], "signature", None)
    assert {"path": "a.py"} == found.transcript[1].tool_uses[0].input
    assert True is found.transcript[2].tool_results[0].is_error


def test_an_aborted_answer_is_a_request_only_where_it_said_something_or_was_billed(tmp_path: Path) -> None:
    nothing: Json = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    found = session(
        tmp_path,
        user("One"),
        assistant(usage=nothing),
        user("Two"),
        assistant(said("Half a wo"), usage=nothing),
        user("Three"),
        assistant(said("Done.")),
    )

    assert [(2, True), (4, False)] == [(one.at, one.usage is None) for one in found.asked]


def test_a_compaction_names_the_first_entry_that_it_kept_by_its_place_in_the_file(tmp_path: Path) -> None:
    compaction: JsonObject = {"type": "compaction", "summary": "All of it.", "firstKeptEntryIndex": 3}
    found = session(
        tmp_path,
        user("One"),
        assistant(said("1")),
        user("Two"),
        assistant(said("2")),
        compaction,
        user("Three"),
        assistant(said("3")),
    )

    assert ["One", "1", "Two", "2", "Three", "3"] == [text_of(one.content) for one in found.transcript]
    assert [0, 0, 2] == [one.baseline for one in found.asked]


def test_in_a_tree_the_path_to_the_last_leaf_is_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        user("One", id="a", parentId=None),
        assistant(said("1"), id="b", parentId="a"),
        user("Wrong", id="c", parentId="b"),
        assistant(said("no"), id="d", parentId="c"),
        user("Right", id="e", parentId="b"),
        assistant(said("yes"), id="f", parentId="e"),
        {"type": "compaction", "id": "g", "parentId": "f", "summary": "All.", "firstKeptEntryId": "e"},
        user("On", id="h", parentId="g"),
        assistant(said("more"), id="i", parentId="h"),
    )

    assert ["a", "b", "e", "f", "h", "i"] == [one.id for one in found.transcript]
    assert [0, 0, 2] == [one.baseline for one in found.asked]
    assert ["1 requests on other branches of the session are left out"] == [one.reason for one in found.troubles]


def test_a_command_that_the_user_ran_is_told_by_the_harness(tmp_path: Path) -> None:
    ran: Json = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}
    hidden: Json = {"role": "bashExecution", "command": "env", "output": "x", "excludeFromContext": True}
    found = session(tmp_path, user("One"), entry(ran), entry(hidden), assistant(said("1")))

    assert ["user", "harness", "assistant"] == [one.provenance for one in found.transcript]


def test_thinking_without_a_signature_could_not_be_sent_again_and_is_reported(tmp_path: Path) -> None:
    thinking: Json = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": ""}
    found = session(tmp_path, user("One"), assistant(thinking, said("1")))

    assert ["1"] == [text_of(found.transcript[1].content)]
    assert ["1 blocks of thinking had no signature and are left out"] == [one.reason for one in found.troubles]
