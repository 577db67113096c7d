"""The prompt cache of the Anthropic double: what is read, written, forgotten, and what it costs."""

from typing import Any

import pytest

from perdure.testing.doubles import ANTHROPIC_HEADERS, AnthropicDouble, post, shared_prefix

Body = dict[str, Any]
SHORT, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
MODEL = "claude-opus-4-8"
READ: Body = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}


def text(words: str, mark: Body | None = None) -> Body:
    block: Body = {"type": "text", "text": words}
    return block if mark is None else {**block, "cache_control": mark}


def much(name: str, tokens: int = 2_000, mark: Body | None = None) -> Body:
    return text(f"{name} " + "word " * tokens, mark)


class Client:
    """A client with a clock to jump."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.double = AnthropicDouble(clock=lambda: self.now)

    def usage(self, content: list[Body], key: str = "one", **more: object) -> Body:
        body = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": content}], **more}
        answered = post(self.double, "/v1/messages", body, {**ANTHROPIC_HEADERS, "x-api-key": key})
        assert 200 == answered.status, answered.body
        return answered.body["usage"]

    def read(self, content: list[Body], **more: Any) -> int:
        return self.usage(content, **more)["cache_read_input_tokens"]


def test_a_marked_prefix_is_written_once_and_read_afterwards() -> None:
    client = Client()
    content = [much("a", mark=SHORT), text("then")]

    first, second = client.usage(content), client.usage([content[0], text("other")])

    assert first["cache_creation_input_tokens"] > 2_000
    assert 0 == first["cache_read_input_tokens"]
    assert first["cache_creation_input_tokens"] == second["cache_read_input_tokens"]
    assert 0 == second["cache_creation_input_tokens"]
    assert first["input_tokens"] == second["input_tokens"] < 10


def test_nothing_is_cached_without_a_mark() -> None:
    client = Client()

    client.usage([much("a")])

    assert 0 == client.read([much("a", mark=SHORT)])


def test_a_prefix_under_the_minimum_is_not_cached_and_nobody_says_so() -> None:
    client = Client()
    content = [much("a", tokens=300, mark=SHORT)]

    usages = [client.usage(content), client.usage(content)]

    assert [(0, 0)] * 2 == [(u["cache_creation_input_tokens"], u["cache_read_input_tokens"]) for u in usages]


@pytest.mark.parametrize(
    ("mark", "pause", "kept"),
    [(SHORT, 299.0, True), (SHORT, 300.0, False), (HOUR, 3_599.0, True), (HOUR, 3_600.0, False)],
)
def test_an_entry_lives_for_its_lifetime(mark: Body, pause: float, *, kept: bool) -> None:
    client = Client()
    content = [much("a", mark=mark)]
    client.usage(content)
    client.now += pause

    assert kept == (client.read(content) > 0)


def test_each_hit_lets_an_entry_live_anew() -> None:
    client = Client()
    content = [much("a", mark=SHORT)]
    client.usage(content)

    for _ in range(3):
        client.now += 299.0
        assert client.read(content) > 0


def test_lifetimes_are_billed_apart_and_sum_up() -> None:
    usage = Client().usage([much("a", 2_000, HOUR), much("b", 3_000, SHORT), text("c")])

    split = usage["cache_creation"]
    assert 2_000 < split["ephemeral_1h_input_tokens"] < 3_000 < split["ephemeral_5m_input_tokens"] < 4_200
    assert usage["cache_creation_input_tokens"] == sum(split.values())


def test_what_was_read_is_not_written_again() -> None:
    client = Client()
    client.usage([much("a", mark=HOUR)])

    usage = client.usage([much("a", mark=HOUR), much("b", mark=HOUR), much("c", mark=SHORT)])

    split = usage["cache_creation"]
    assert all(2_000 < part < 3_000 for part in (usage["cache_read_input_tokens"], *split.values()))


@pytest.mark.parametrize(("blocks", "found"), [(19, True), (20, False)])
def test_a_mark_looks_back_over_twenty_positions_itself_included(blocks: int, *, found: bool) -> None:
    client = Client()
    client.usage([much("a", mark=SHORT)])
    between = [text(str(i)) for i in range(blocks - 1)]

    assert found == (client.read([much("a"), *between, text("end", SHORT)]) > 0)


def test_lookback_finds_entries_only_where_something_was_marked() -> None:
    client = Client()
    client.usage([much("a"), much("b", mark=SHORT)])

    assert 0 == client.read([much("a"), much("c", mark=SHORT)])


def test_workspaces_share_nothing() -> None:
    client = Client()
    content = [much("a", mark=SHORT)]
    client.usage(content, key="one")

    assert 0 == client.usage(content, key="two")["cache_read_input_tokens"]


SYSTEM = [much("system", mark=SHORT)]
TOOLS = [{**READ, "description": "word " * 2_000, "cache_control": SHORT}]


@pytest.mark.parametrize(
    ("change", "levels"),
    [
        pytest.param({}, 3, id="nothing"),
        pytest.param({"tools": [TOOLS[0], {**READ, "name": "late", "defer_loading": True}]}, 3, id="a deferred tool"),
        pytest.param({"tools": [{**TOOLS[0], "name": "write"}]}, 0, id="a tool"),
        pytest.param({"speed": "fast"}, 1, id="the speed"),
        pytest.param({"tool_choice": {"type": "none"}}, 2, id="the tool choice"),
        pytest.param({"thinking": {"type": "adaptive"}}, 2, id="thinking"),
        pytest.param({"output_config": {"effort": "low"}}, 2, id="the effort"),
        pytest.param({"max_tokens": 50}, 3, id="the output limit"),
    ],
)
def test_a_change_invalidates_its_level_and_all_behind_it(change: Body, levels: int) -> None:
    client = Client()
    base: Body = {"tools": TOOLS, "system": SYSTEM}
    content = [much("a", mark=SHORT)]
    client.usage(content, **base)

    read = client.read(content, **{**base, **change})

    assert levels == round(read / 2_650)


def test_an_image_anywhere_invalidates_the_messages() -> None:
    client = Client()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    client.usage([much("a", mark=SHORT)])

    assert 0 == client.read([much("a", mark=SHORT), image])


def test_automatic_caching_marks_the_last_block_that_can_hold_a_mark() -> None:
    client = Client()
    client.usage([much("a")], cache_control=SHORT)

    assert client.read([much("a"), text("b")], cache_control=SHORT) > 2_000


def test_warming_writes_the_cache_and_samples_nothing() -> None:
    client = Client()
    content = [much("a", mark=SHORT)]

    warmed = client.usage(content, max_tokens=0)

    assert 0 == warmed["output_tokens"]
    assert warmed["cache_creation_input_tokens"] == client.read(content)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"model": "claude-opus-5"}, "model_changed"),
        ({"system": "Be brief."}, "system_changed"),
        ({"tools": [READ]}, "tools_changed"),
        ({"messages": [{"role": "user", "content": "Other."}]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
    ],
)
def test_diagnostics_name_what_changed(change: Body, reason: str | None) -> None:
    double = AnthropicDouble()
    body: Body = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello."}]}
    body["diagnostics"] = {"previous_message_id": None}
    first = post(double, "/v1/messages", body, ANTHROPIC_HEADERS).body
    said = {"role": "assistant", "content": first["content"]}
    longer = [*body["messages"], said, {"role": "user", "content": "And?"}]

    again = {**body, "messages": longer, "diagnostics": {"previous_message_id": first["id"]}, **change}
    diagnostics = post(double, "/v1/messages", again, ANTHROPIC_HEADERS).body["diagnostics"]

    assert None is first["diagnostics"]
    assert reason == (diagnostics and diagnostics["cache_miss_reason"]["type"])


def test_diagnostics_know_only_their_own_messages() -> None:
    body: Body = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello."}]}
    body["diagnostics"] = {"previous_message_id": "msg_1"}

    diagnostics = post(AnthropicDouble(), "/v1/messages", body, ANTHROPIC_HEADERS).body["diagnostics"]

    assert {"cache_miss_reason": {"type": "previous_message_not_found"}} == diagnostics


def test_received_requests_are_kept_byte_for_byte() -> None:
    double = AnthropicDouble()
    head = b'{"model":"claude-opus-4-8","max_tokens":10,"messages":[{"role":"user","content":"'
    for question in (b"Who?", b"What?"):
        post(double, "/v1/messages", head + question + b'"}]}', ANTHROPIC_HEADERS)

    first, second = double.received

    assert len(head) + 2 == shared_prefix(first.raw, second.raw)
    assert ("/v1/messages", 200, "2023-06-01") == (first.path, first.status, first.headers["anthropic-version"])
    assert first.answer["usage"] == first.usage
