"""Context editing, compaction and threads: what the server does to a history, and what it says about it."""

from typing import Any

import pytest

from perdure.testing.doubles import (
    ANTHROPIC_HEADERS,
    Answered,
    AnthropicDouble,
    Call,
    Say,
    Think,
    Turn,
    answer,
    post,
    replies,
)

Body = dict[str, Any]
EDITING, THRESHOLD, ON_DEMAND = "context-management-2025-06-27", "compact-2026-01-12", "compact-2026-09-04"
THREADS = "message-threads-2026-08-12"
READ: Body = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


def history(rounds: int, size: int) -> list[Body]:
    """A question and some rounds of reading, `size` words each."""
    messages: list[Body] = [{"role": "user", "content": "Read them."}]
    for i in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{i}", "name": "read", "input": {"path": f"{i}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": f"file {i} " + "word " * size}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def request(messages: list[Body], model: str = "claude-opus-4-6", **more: object) -> Body:
    return {"model": model, "max_tokens": 2_000, "messages": messages, "tools": [READ], **more}


def ask(double: AnthropicDouble, body: Body, *betas: str, path: str = "/v1/messages") -> Answered:
    return post(double, path, body, {**ANTHROPIC_HEADERS, "anthropic-beta": ",".join(betas)})


def clear(**more: object) -> Body:
    return {"context_management": {"edits": [{"type": "clear_tool_uses_20250919", **more}]}}


class Watching:
    """A script that keeps what the model saw."""

    def __init__(self) -> None:
        self.seen: list[Body] = []

    def __call__(self, body: Body) -> Turn:
        self.seen.append(body)
        return answer("Read.")

    def blocks(self, kind: str) -> list[Body]:
        """The blocks of one kind that the model saw last."""
        contents: list[list[Body]] = [m["content"] for m in self.seen[-1]["messages"] if m["content"] != "Read them."]
        return [block for content in contents for block in content if block.get("type") == kind]

    @property
    def results(self) -> list[str]:
        """The start of each tool result."""
        return [str(block["content"])[:6] for block in self.blocks("tool_result")]


def test_old_tool_results_are_cleared_over_the_trigger_and_reported() -> None:
    script = Watching()
    trigger = {"type": "input_tokens", "value": 2_000}

    answered = ask(AnthropicDouble(script), request(history(6, 500), **clear(trigger=trigger)), EDITING)

    edit = answered.body["context_management"]["applied_edits"][0]
    assert ("clear_tool_uses_20250919", 3) == (edit["type"], edit["cleared_tool_uses"])
    assert edit["cleared_input_tokens"] > 1_400
    assert ["[tool "] * 3 + ["file 3", "file 4", "file 5"] == script.results


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="the default trigger is 100,000 tokens"),
        pytest.param({"trigger": {"type": "tool_uses", "value": 6}}, id="six uses do not exceed six"),
        pytest.param(
            {
                "trigger": {"type": "tool_uses", "value": 1},
                "clear_at_least": {"type": "input_tokens", "value": 90_000},
            },
            id="too little to be worth it",
        ),
        pytest.param(
            {"trigger": {"type": "tool_uses", "value": 1}, "exclude_tools": ["read"]}, id="the tool is excluded"
        ),
    ],
)
def test_nothing_is_cleared_where_the_edit_does_not_apply(more: Body) -> None:
    script = Watching()

    answered = ask(AnthropicDouble(script), request(history(6, 500), **clear(**more)), EDITING)

    assert {"applied_edits": []} == answered.body["context_management"]
    assert "[tool " not in script.results


@pytest.mark.parametrize(("setting", "expected"), [(False, 6), (True, 1), (["read"], 1), (["write"], 6)])
def test_inputs_are_cleared_only_if_asked_for(setting: object, expected: int) -> None:
    script = Watching()
    trigger, keep = {"type": "tool_uses", "value": 1}, {"type": "tool_uses", "value": 1}
    body = request(history(6, 5), **clear(trigger=trigger, keep=keep, clear_tool_inputs=setting))

    ask(AnthropicDouble(script), body, EDITING)

    assert expected == sum(1 for block in script.blocks("tool_use") if block["input"])


def test_counting_tells_the_tokens_before_and_after_editing() -> None:
    body = request(history(6, 500), **clear(trigger={"type": "input_tokens", "value": 2_000}))
    del body["max_tokens"]
    double = AnthropicDouble()

    edited = ask(double, body, EDITING, path="/v1/messages/count_tokens").body
    plain = ask(
        double, {name: body[name] for name in ("model", "messages", "tools")}, path="/v1/messages/count_tokens"
    ).body

    assert plain["input_tokens"] == edited["context_management"]["original_input_tokens"]
    assert plain["input_tokens"] - edited["input_tokens"] > 1_400
    assert "context_management" not in plain


def test_old_thinking_is_cleared_by_turns() -> None:
    turns = [Turn(parts=(Think(text="So it is. " * 50), Call(name="read"))) for _ in range(4)]
    double = AnthropicDouble(replies(turns))
    body = request([{"role": "user", "content": "Read."}], thinking={"type": "adaptive"})
    for _ in range(3):
        content = ask(double, body).body["content"]
        result = {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "x"}
        body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    edit = {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    body["context_management"] = {"edits": [edit]}

    applied = ask(double, body, EDITING).body["context_management"]["applied_edits"]

    assert [("clear_thinking_20251015", 2)] == [(e["type"], e["cleared_thinking_turns"]) for e in applied]
    assert applied[0]["cleared_input_tokens"] > 200


def compacting(**more: object) -> Body:
    edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}, **more}
    return {"context_management": {"edits": [edit]}}


def test_threshold_compaction_puts_a_block_first_and_goes_on() -> None:
    script = Watching()

    body = ask(AnthropicDouble(script), request(history(3, 20_000), **compacting()), THRESHOLD).body

    assert ["compaction", "text"] == [block["type"] for block in body["content"]]
    assert body["content"][0]["content"].startswith("7 messages")
    assert ["compaction", "message"] == [entry["type"] for entry in body["usage"]["iterations"]]
    assert body["usage"]["input_tokens"] == body["usage"]["iterations"][1]["input_tokens"]
    assert body["usage"]["iterations"][0]["input_tokens"] > 60_000
    assert body["usage"]["input_tokens"] < 1_000
    assert "end_turn" == body["stop_reason"]


def test_a_paused_compaction_holds_the_block_alone() -> None:
    double = AnthropicDouble()
    body = request(history(3, 20_000), **compacting(pause_after_compaction=True))

    paused = ask(double, body, THRESHOLD).body
    resumed = ask(
        double,
        {**body, "messages": [*body["messages"], {"role": "assistant", "content": paused["content"]}]},
        THRESHOLD,
    ).body

    assert ("compaction", ["compaction"]) == (paused["stop_reason"], [block["type"] for block in paused["content"]])
    assert (0, 0) == (paused["usage"]["input_tokens"], paused["usage"]["output_tokens"])
    assert ["message"] == [entry["type"] for entry in resumed["usage"]["iterations"]]
    assert ["text"] == [block["type"] for block in resumed["content"]]


@pytest.mark.parametrize("keep_originals", [True, False])
def test_everything_before_a_threshold_block_is_ignored(*, keep_originals: bool) -> None:
    script = Watching()
    double = AnthropicDouble(script)
    body = request(history(3, 20_000), **compacting())
    content = ask(double, body, THRESHOLD).body["content"]
    kept: list[Body] = body["messages"] if keep_originals else []
    question = {"role": "user", "content": "And now?"}
    body["messages"] = [*kept, {"role": "assistant", "content": content}, question]

    usage = ask(double, body, THRESHOLD).body["usage"]

    assert ["message"] == [entry["type"] for entry in usage["iterations"]]
    assert usage["input_tokens"] < 1_000
    assert 2 == len(script.seen[-1]["messages"])


def test_a_summary_that_calls_a_tool_is_a_failed_compaction() -> None:
    double = AnthropicDouble(summarise=lambda _: Turn(parts=(Say(text="Let me see."), Call(name="read"))))
    body = request(history(3, 20_000), **compacting())

    content = ask(double, body, THRESHOLD).body["content"]
    again = ask(
        double,
        {
            **body,
            "messages": [
                *body["messages"],
                {"role": "assistant", "content": content},
                {"role": "user", "content": "?"},
            ],
        },
        THRESHOLD,
    )

    assert {"type": "compaction", "content": None, "encrypted_content": None} == content[0]
    assert 200 == again.status


def on_demand(**more: object) -> Body:
    messages = [*history(2, 100), {"role": "assistant", "content": "All read."}]
    return request(messages, "claude-opus-5-5", compaction={"type": "summarize"}, **more)


def test_on_demand_compaction_answers_with_a_signed_block_alone() -> None:
    body = ask(AnthropicDouble(), on_demand(), ON_DEMAND).body

    block = body["content"][0]
    assert {"type", "content", "signature"} == set(block)
    assert (1, "compaction") == (len(body["content"]), body["stop_reason"])
    assert (0, 0, ["compaction"]) == (
        body["usage"]["input_tokens"],
        body["usage"]["output_tokens"],
        [entry["type"] for entry in body["usage"]["iterations"]],
    )


@pytest.mark.parametrize(
    ("turn", "max_tokens", "reason"),
    [
        (answer("word " * 3_000), 1_000, "max_tokens"),
        (Turn(parts=(Call(name="read"),)), 1_000, "tool_use"),
        (answer(" "), 1_000, "end_turn"),
        (Turn(parts=(Say(text="No."),), stop_reason="refusal"), 1_000, "refusal"),
    ],
)
def test_no_summary_is_a_success_without_content(turn: Turn, max_tokens: int, reason: str) -> None:
    answered = ask(AnthropicDouble(summarise=lambda _: turn), {**on_demand(), "max_tokens": max_tokens}, ON_DEMAND)

    assert (200, [], reason) == (answered.status, answered.body["content"], answered.body["stop_reason"])


QUESTION: Body = {"role": "user", "content": "And now?"}


def placed(block: Body, case: str) -> list[Body]:
    own = {"role": "assistant", "content": [block]}
    match case:
        case "its own message":
            return [own, QUESTION]
        case "first block of a user message":
            return [{"role": "user", "content": [block, {"type": "text", "text": "And now?"}]}]
        case "two assistant messages":
            return [own, {"role": "assistant", "content": "Well."}, QUESTION]
        case "misplaced":
            return [QUESTION, own, QUESTION]
        case "misplaced in a system message":
            return [QUESTION, {"role": "system", "content": [block]}]
        case "ambiguous":
            return [own, own, QUESTION]
        case "content_mismatch":
            return [{"role": "assistant", "content": [{**block, "content": f"{block['content']}."}]}, QUESTION]
        case "tool_changes_mismatch":
            return [{"role": "assistant", "content": [{**block, "tool_changes": []}]}, QUESTION]
        case _:
            return [{"role": "assistant", "content": [{**block, "signature": f"{block['signature']}0"}]}, QUESTION]


@pytest.mark.parametrize("case", ["its own message", "first block of a user message", "two assistant messages"])
def test_a_signed_block_may_stand_first(case: str) -> None:
    double = AnthropicDouble()
    block = ask(double, on_demand(), ON_DEMAND).body["content"][0]

    assert 200 == ask(double, request(placed(block, case), "claude-opus-5-5"), ON_DEMAND).status


@pytest.mark.parametrize(
    ("case", "code", "says"),
    [
        (
            "misplaced",
            "compaction_block_misplaced",
            "messages.1.content.0: the `compaction` block must be the first block of the conversation",
        ),
        (
            "misplaced in a system message",
            "compaction_block_misplaced",
            "messages.1.content.0: the `compaction` block must be the first block of the conversation",
        ),
        (
            "ambiguous",
            "compaction_block_ambiguous",
            "messages: more than one `compaction` block with content was provided",
        ),
        (
            "content_mismatch",
            "compaction_content_mismatch",
            "messages.0.content.0: the `compaction` block's `content` differs from the text that was signed",
        ),
        (
            "tool_changes_mismatch",
            "compaction_tool_changes_mismatch",
            "messages.0.content.0: the `compaction` block's `tool_changes` differs from what was returned",
        ),
        (
            "signature_invalid",
            "compaction_signature_invalid",
            "messages.0.content.0: Invalid `signature` in `compaction` block",
        ),
    ],
)
def test_a_signed_block_in_the_wrong_place_or_form_is_refused(case: str, code: str, says: str) -> None:
    double = AnthropicDouble()
    block = ask(double, on_demand(), ON_DEMAND).body["content"][0]

    error = ask(double, request(placed(block, case), "claude-opus-5-5"), ON_DEMAND).body["error"]

    assert (code, says) == (error["details"]["error_code"], error["message"])


def test_a_signed_block_excludes_threshold_compaction() -> None:
    double = AnthropicDouble()
    block = ask(double, on_demand(), ON_DEMAND).body["content"][0]
    body = request(placed(block, "its own message"), "claude-opus-5-5", **compacting())

    says = "context_management: `compact_20260112` cannot be used with a signed `compaction` block"
    assert says == ask(double, body, ON_DEMAND, THRESHOLD).body["error"]["message"]


def test_a_block_without_the_beta_is_an_unknown_block() -> None:
    double = AnthropicDouble()
    block = ask(double, on_demand(), ON_DEMAND).body["content"][0]

    says = "messages.0.content.0: `compaction` is not one of the expected content block types"
    error = ask(double, request(placed(block, "its own message"), "claude-opus-5-5")).body["error"]
    assert says == error["message"]


def kept_tail(cut: int, change: str = "") -> int:
    """Compact the first messages of a thinking conversation, keep the rest; the status of the next request."""
    turns = [Turn(parts=(Think(text=f"Thought {i}."), Say(text=f"Answer {i}."))) for i in range(3)]
    double = AnthropicDouble(replies(turns))
    body = request([{"role": "user", "content": "Question 0?"}], "claude-opus-5-5", thinking={"type": "adaptive"})
    for i in range(3):
        said = {"role": "assistant", "content": ask(double, body).body["content"]}
        body["messages"] += [said, {"role": "user", "content": f"Question {i + 1}?"}]
    compaction = {**body, "messages": body["messages"][:cut], "compaction": {"type": "summarize"}}
    block = ask(double, compaction, ON_DEMAND).body["content"]
    tail = body["messages"][cut:]
    if change == "skip":
        tail = tail[2:]
    if change == "system":
        body["system"] = "Be brief."
    body["messages"] = [{"role": "assistant", "content": block}, *tail]
    return ask(double, body, ON_DEMAND).status


@pytest.mark.parametrize(
    ("cut", "change", "status"),
    [
        pytest.param(2, "", 200, id="the tail follows at once"),
        pytest.param(3, "", 200, id="the tail begins with the assistant"),
        pytest.param(2, "skip", 400, id="a turn is skipped"),
        pytest.param(2, "system", 400, id="the system text is another"),
    ],
)
def test_thinking_in_a_kept_tail_stays_valid_only_where_nothing_else_changed(
    cut: int, change: str, status: int
) -> None:
    assert status == kept_tail(cut, change)


def test_counting_ignores_on_demand_compaction() -> None:
    body = on_demand()
    body["messages"].append(QUESTION)
    del body["max_tokens"]

    assert 200 == ask(AnthropicDouble(), body, ON_DEMAND, path="/v1/messages/count_tokens").status


def test_a_thread_continues_once_with_new_messages_alone_and_for_five_minutes() -> None:
    now = [1_000.0]
    script = Watching()
    double = AnthropicDouble(script, clock=lambda: now[0])
    begun = ask(double, request([QUESTION], system="Be brief.", thread={"type": "create"}), THREADS).body
    go_on = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [QUESTION],
        "thread": {"type": "continue", "previous_message_id": begun["id"]},
    }

    second = ask(double, go_on, THREADS).body
    twice = ask(double, go_on, THREADS).body
    now[0] += 300.0
    late = ask(double, {**go_on, "thread": {"type": "continue", "previous_message_id": second["id"]}}, THREADS)

    assert ["user", "assistant", "user"] == [message["role"] for message in script.seen[1]["messages"]]
    assert "Be brief." == script.seen[1]["system"]
    assert "thread_already_continued" == twice["error"]["details"]["error_code"]
    assert (404, "thread_not_found") == (late.status, late.body["error"]["details"]["error_code"])
