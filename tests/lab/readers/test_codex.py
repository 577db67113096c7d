"""Codex rollouts: responses between events, counts that follow them, compactions, and the harness's own words."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Text, Usage, encode_json, text_of
from perdure.lab.readers import read
from perdure.lab.recording import Recording

META: JsonObject = {
    "type": "session_meta",
    "timestamp": "2026-03-01T10:00:00Z",
    "payload": {"id": "s", "base_instructions": {"text": "You are an agent."}},
}
TURN: JsonObject = {"type": "turn_context", "timestamp": "2026-03-01T10:00:00Z", "payload": {"model": "gpt-x"}}


def item(second: int, **payload: Json) -> JsonObject:
    return {"type": "response_item", "timestamp": f"2026-03-01T10:00:{second:02}Z", "payload": payload}


def said(second: int, role: str, *texts: str) -> JsonObject:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, type="message", role=role, content=[{"type": kind, "text": text} for text in texts])


def call(second: int, name: str) -> JsonObject:
    return item(second, type="function_call", name="shell", arguments='{"cmd":"ls"}', call_id=name)


def output(second: int, name: str) -> JsonObject:
    return item(second, type="function_call_output", call_id=name, output="a.py")


def counted(total: int, fresh: int, cached: int = 0) -> JsonObject:
    last: Json = {"input_tokens": fresh + cached, "cached_input_tokens": cached, "output_tokens": 5}
    info: Json = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def session(tmp_path: Path, *lines: JsonObject) -> Recording:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"\n".join(encode_json(one) for one in (META, TURN, *lines)) + b"\n")
    (found,) = read(path)
    return found


def test_what_stands_between_two_counts_is_one_response_with_its_results_behind_it(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        said(1, "user", "List the files"),
        item(2, type="reasoning", summary=[], encrypted_content="c2ln"),
        said(3, "assistant", "I list."),
        call(4, "c1"),
        call(4, "c2"),
        output(5, "c1"),
        output(6, "c2"),
        counted(105, 100),
        said(7, "assistant", "Done."),
        counted(235, 2, 128),
    )

    assert ("codex", "responses", "gpt-x") == (found.format, found.dialect, found.model)
    assert (Text(text="You are an agent."),) == found.system
    assert ["user", "assistant", "tool", "tool", "assistant"] == [one.provenance for one in found.transcript]
    assert ["c1", "c2"] == [one.id for one in found.transcript[1].tool_uses]
    assert [1, 4] == [one.at for one in found.asked]
    assert [
        Usage(input_tokens=100, output_tokens=5),
        Usage(input_tokens=2, cache_read_tokens=128, output_tokens=5),
    ] == [one.usage for one in found.asked]
    assert [1772359201.0, 1772359206.0] == [one.time for one in found.asked]


def test_a_count_that_adds_nothing_to_the_total_is_no_request(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        said(1, "user", "Hello"),
        said(2, "assistant", "Hello."),
        counted(105, 100),
        counted(105, 100),
    )

    assert 1 == len(found.asked)


def test_a_response_that_broke_off_before_its_first_word_and_cost_nothing_is_no_request(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        said(1, "user", "Hello"),
        item(2, type="reasoning", summary=[]),
        said(3, "user", "<turn_aborted>\nstopped"),
        said(4, "user", "Again"),
        said(5, "assistant", "Hello."),
        counted(105, 100),
    )

    assert [3] == [one.at for one in found.asked]
    assert ["user", "harness", "user", "assistant"] == [one.provenance for one in found.transcript]


def test_a_compaction_keeps_all_messages_and_moves_the_baseline(tmp_path: Path) -> None:
    history: Json = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
    found = session(
        tmp_path,
        said(1, "user", "Hello"),
        said(2, "assistant", "Hello."),
        counted(105, 100),
        {"type": "compacted", "payload": {"message": "A summary.", "replacement_history": history}},
        counted(105, 0),
        said(3, "assistant", "Going on."),
        counted(205, 95),
    )

    assert ["Hello", "Hello.", "Going on."] == [text_of(one.content) for one in found.transcript]
    assert [(1, 0), (2, 2)] == [(one.at, one.baseline) for one in found.asked]


def test_a_compaction_of_what_is_not_in_the_file_tells_what_stands_for_it(tmp_path: Path) -> None:
    history: Json = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
    found = session(
        tmp_path,
        {"type": "compacted", "payload": {"message": "A summary.", "replacement_history": history}},
        said(3, "assistant", "Going on."),
        counted(205, 95),
    )

    assert [("user", "Hello"), ("harness", "A summary."), ("assistant", "Going on.")] == [
        (one.provenance, text_of(one.content)) for one in found.transcript
    ]


def test_project_texts_and_environment_are_the_harness_and_stand_apart_from_typed_text(tmp_path: Path) -> None:
    found = session(
        tmp_path,
        said(1, "developer", "<permissions instructions>"),
        said(1, "user", "# AGENTS.md instructions for /x", "<environment_context>\n", "Fix the bug"),
        said(2, "assistant", "Fixed."),
    )

    assert [("developer", "harness"), ("user", "harness"), ("user", "user"), ("assistant", "assistant")] == [
        (one.role, one.provenance) for one in found.transcript
    ]
    assert [3] == [one.at for one in found.asked]


def test_items_without_envelopes_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    lines: list[Json] = [
        {"id": "s", "timestamp": "2026-03-01T10:00:00Z", "instructions": "You are an agent."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    ]
    path.write_bytes(b"\n".join(encode_json(one) for one in lines))
    (found,) = read(path)

    assert ("codex", ["Hello", "Hello."], [1]) == (
        found.format,
        [text_of(one.content) for one in found.transcript],
        [one.at for one in found.asked],
    )
