"""Raw requests and bare lists of messages: what is new in each, conversations, dialects, rewritten histories."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.kernel.messages import Json, JsonObject, Text, Usage, encode_json, text_of
from perdure.lab.readers import detect, read
from perdure.lab.recording import Recording


def user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def assistant(text: str) -> JsonObject:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def body(*messages: Json, system: str = "You are an agent.", **more: Json) -> JsonObject:
    return {"model": "claude-x", "max_tokens": 9, "system": system, "messages": [*messages], **more}


def lines(tmp_path: Path, *values: Json) -> list[Recording]:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"\n".join(encode_json(one) for one in values))
    return list(read(path))


def texts(found: Recording) -> list[str]:
    return [text_of(one.content) for one in found.transcript]


def test_what_a_request_repeats_is_told_once(tmp_path: Path) -> None:
    (found,) = lines(
        tmp_path,
        body(user("One")),
        body(user("One"), assistant("1"), user("Two")),
        body(user("One"), assistant("1"), user("Two"), assistant("2"), user("Three")),
    )

    assert ("raw-anthropic", "anthropic", "claude-x") == (found.format, found.dialect, found.model)
    assert (Text(text="You are an agent."),) == found.system
    assert ["One", "1", "Two", "2", "Three"] == texts(found)
    assert [1, 3, 5] == [one.at for one in found.asked]


def test_a_mark_that_moves_and_text_in_a_list_make_no_other_message(tmp_path: Path) -> None:
    marked: Json = {
        "role": "user",
        "content": [{"type": "text", "text": "One", "cache_control": {"type": "ephemeral"}}],
    }
    (found,) = lines(tmp_path, body(marked), body(user("One"), assistant("1"), user("Two")))

    assert ["One", "1", "Two"] == texts(found)


def test_a_recorded_response_gives_usage_and_the_last_answer(tmp_path: Path) -> None:
    def answer(text: str, read_tokens: int) -> Json:
        usage: Json = {"input_tokens": 3, "cache_read_input_tokens": read_tokens, "output_tokens": 5}
        return {"id": "x", "role": "assistant", "content": [{"type": "text", "text": text}], "usage": usage}

    (found,) = lines(
        tmp_path,
        {"request": body(user("One")), "response": answer("1", 0), "time": 1772359201},
        {"request": body(user("One"), assistant("1"), user("Two")), "response": answer("2", 7), "time": 1772359260},
        {"request": body(user("One"), assistant("1"), user("Two")), "response": answer("2", 7), "time": 1772359261},
    )

    assert ["One", "1", "Two", "2"] == texts(found)
    assert [(1, 1772359201.0), (3, 1772359260.0)] == [(one.at, one.time) for one in found.asked]
    assert Usage(input_tokens=3, cache_read_tokens=7, output_tokens=5) == found.asked[1].usage
    assert [(3, "repeats the request before it; left out")] == [(one.line, one.reason) for one in found.troubles]


def test_requests_that_share_nothing_are_conversations_of_their_own(tmp_path: Path) -> None:
    main, other = lines(
        tmp_path,
        body(user("One")),
        body(user("A title for: One"), system="You write titles."),
        body(user("One"), assistant("1"), user("Two")),
    )

    assert (["One", "1", "Two"], ["A title for: One"]) == (texts(main), texts(other))
    assert "requests.jsonl#conversation-2" == other.file


def test_a_compaction_by_the_client_moves_the_baseline_and_its_summary_is_left_out(tmp_path: Path) -> None:
    (found,) = lines(
        tmp_path,
        body(user("One"), assistant("1"), user("Two"), assistant("2"), user("Three")),
        body(user("Summary"), user("Three"), assistant("3"), user("Four")),
    )

    assert ["One", "1", "Two", "2", "Three", "3", "Four"] == texts(found)
    assert [(5, 0, 0), (7, 4, 1)] == [(one.at, one.baseline, one.edits) for one in found.asked]
    assert ["1 messages that the recorded harness wrote or rewrote are left out"] == [
        one.reason for one in found.troubles
    ]


def test_a_result_that_the_client_cleared_later_keeps_its_original(tmp_path: Path) -> None:
    def result(text: str) -> Json:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text}]}

    call: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
    (found,) = lines(
        tmp_path,
        body(user("One"), call, result("long text"), assistant("1"), user("Two")),
        body(user("One"), call, result("[cleared]"), assistant("1"), user("Two"), assistant("2"), user("Three")),
    )

    assert ["One", "", "long text", "1", "Two", "2", "Three"] == texts(found)
    assert [(5, 0, 0), (7, 0, 1)] == [(one.at, one.baseline, one.edits) for one in found.asked]


def test_requests_of_both_openai_dialects_are_read(tmp_path: Path) -> None:
    function: Json = {"name": "read", "arguments": "{}"}
    call: Json = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    result: Json = {"role": "tool", "tool_call_id": "c1", "content": "text"}
    chat: JsonObject = {
        "model": "gpt-x",
        "messages": [{"role": "system", "content": "S"}, user("One"), call, result],
    }
    items: JsonObject = {
        "model": "gpt-x",
        "instructions": "S",
        "input": [{"role": "user", "content": "Other"}],
    }
    first, second = lines(tmp_path, chat, items)

    assert ("raw-openai", "chat", 4) == (first.format, first.dialect, len(first.transcript))
    assert ("responses", (Text(text="S"),), ["Other"]) == (second.dialect, second.system, texts(second))


def test_a_json_list_of_bodies_and_one_body_over_many_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(encode_json([body(user("One")), body(user("One"), assistant("1"), user("Two"))]))
    pretty = tmp_path / "pretty.json"
    pretty.write_text(
        '{\n  "model": "claude-x",\n  "max_tokens": 9,\n  "messages": [{"role": "user", "content": "x"}]\n}\n'
    )

    assert [["One", "1", "Two"]] == [texts(one) for one in read(path)]
    assert [["x"]] == [texts(one) for one in read(pretty)]


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("anthropic", {"role": "assistant", "content": [{"type": "text", "text": "1"}]}),
        ("chat", {"role": "assistant", "content": "1", "tool_calls": []}),
        ("responses", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]}),
    ],
)
def test_a_list_of_messages_of_any_dialect_is_read(tmp_path: Path, dialect: str, answer: JsonObject) -> None:
    path = tmp_path / "messages.json"
    path.write_bytes(encode_json([user("One"), answer, user("Two"), answer]))
    (found,) = read(path)

    assert ("messages", dialect) == (found.format, found.dialect)
    assert (["One", "1", "Two", "1"], [1, 3]) == (texts(found), [one.at for one in found.asked])


def test_messages_under_a_name_or_one_per_line_are_read(tmp_path: Path) -> None:
    named = tmp_path / "named.json"
    named.write_bytes(encode_json({"title": "x", "messages": [user("One"), assistant("1")]}))
    (by_line,) = lines(tmp_path, user("One"), assistant("1"))
    (found,) = read(named)

    assert ["One", "1"] == texts(found) == texts(by_line)
    assert "messages" == getattr(detect(named), "name", None)
