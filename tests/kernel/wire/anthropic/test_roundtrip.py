"""Whatever comes from the Messages API leaves with the same bytes, unknown and odd parts included."""

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.messages import JsonObject, encode_json, freeze_object
from perdure.kernel.wire import ANTHROPIC

TEXTS = st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2), max_leaves=4
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=2)
CONTROLS = (
    st.sampled_from(
        [
            {"type": "ephemeral"},
            {"type": "ephemeral", "ttl": "1h"},
            {"ttl": "5m", "type": "ephemeral"},
            {"type": "ephemeral", "ttl": "2h"},
            {"type": "ephemeral", "scope": "global"},
        ]
    )
    | SCALARS
)
MAYBE: dict[str, st.SearchStrategy[object]] = {
    "type": st.sampled_from(
        [
            "text",
            "thinking",
            "redacted_thinking",
            "tool_use",
            "tool_result",
            "image",
            "document",
            "compaction",
            "server_tool_use",
            "mcp_tool_use",
            "web_search_tool_result",
            "tool_reference",
            "of_tomorrow",
        ]
    ),
    "text": TEXTS,
    "thinking": TEXTS,
    "signature": TEXTS | st.none(),
    "data": TEXTS,
    "id": TEXTS,
    "name": TEXTS,
    "input": OBJECTS | TEXTS,
    "tool_use_id": TEXTS,
    "content": TEXTS | VALUES | st.just([{"type": "text", "text": "inner", "cache_control": {"type": "ephemeral"}}]),
    "is_error": st.booleans() | st.none(),
    "source": OBJECTS,
    "encrypted_content": TEXTS | st.none(),
    "tool_changes": st.lists(OBJECTS, max_size=1) | st.none(),
    "tool_name": TEXTS,
    "citations": st.none() | st.lists(OBJECTS, max_size=1),
    "cache_control": CONTROLS,
    "new": VALUES,
}


@st.composite
def objects_with(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[object]], always: tuple[str, ...]) -> JsonObject:
    """An object with some of these fields, in any order."""
    optional = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=6))
    names = draw(st.permutations(sorted({*always, *optional})))
    return freeze_object({name: draw(fields[name]) for name in names})


@st.composite
def blocks(draw: st.DrawFn) -> JsonObject:
    needed = {
        "text": ("text",),
        "thinking": ("thinking", "signature"),
        "tool_use": ("id", "name", "input"),
        "tool_result": ("tool_use_id",),
        "compaction": ("content",),
        "web_search_tool_result": ("tool_use_id", "content"),
    }
    kind = draw(st.sampled_from(sorted(needed)))
    always = needed[kind] if draw(st.integers(0, 4)) else ()
    made = draw(objects_with(MAYBE, ("type", *always)))
    return {**made, "type": kind} if always else made


MESSAGES = objects_with(
    {
        "role": st.sampled_from(["user", "assistant", "system"]),
        "content": TEXTS | st.lists(blocks(), max_size=3),
        "clear_at": SCALARS,
    },
    ("role", "content"),
)
TOOLS = objects_with(
    {
        "name": TEXTS | st.none(),
        "description": TEXTS | st.none(),
        "input_schema": OBJECTS | st.none(),
        "type": TEXTS,
        "cache_control": CONTROLS,
    },
    (),
)
REQUESTS = objects_with(
    {
        "model": TEXTS | st.none(),
        "messages": st.lists(MESSAGES, max_size=3),
        "system": TEXTS | st.none() | st.lists(blocks(), max_size=2),
        "tools": st.none() | st.lists(TOOLS, max_size=2) | st.just(["odd"]),
        "max_tokens": st.integers(0, 9),
        "thinking": OBJECTS,
        "cache_control": CONTROLS,
    },
    ("messages",),
)
RESPONSES = objects_with(
    {
        "id": TEXTS,
        "type": st.just("message"),
        "role": st.just("assistant"),
        "model": TEXTS | st.none(),
        "content": st.lists(blocks(), max_size=3),
        "stop_reason": TEXTS | st.none(),
        "stop_sequence": TEXTS | st.none(),
        "usage": st.none() | st.dictionaries(st.sampled_from(["input_tokens", "output_tokens", "new"]), SCALARS),
        "context_management": st.none() | OBJECTS,
    },
    ("role", "content"),
)


@settings(max_examples=40)
@given(REQUESTS)
def test_a_request_comes_out_with_the_bytes_it_came_in_with(body: JsonObject) -> None:
    given_bytes = encode_json(body)

    assert given_bytes == ANTHROPIC.encode_request(ANTHROPIC.decode_request(given_bytes))


@settings(max_examples=40)
@given(REQUESTS)
def test_an_encoded_request_decodes_to_the_same_value(body: JsonObject) -> None:
    request = ANTHROPIC.decode_request(body)

    assert request == ANTHROPIC.decode_request(ANTHROPIC.encode_request(request))


@settings(max_examples=40)
@given(st.lists(MESSAGES, max_size=4))
def test_a_list_of_messages_comes_out_as_it_came_in(messages: list[JsonObject]) -> None:
    decoded = ANTHROPIC.decode_messages(messages)

    assert [encode_json(message) for message in messages] == [
        encode_json(message) for message in ANTHROPIC.encode_messages(decoded)
    ]


@settings(max_examples=40)
@given(RESPONSES)
def test_a_response_comes_out_with_the_bytes_it_came_in_with(body: JsonObject) -> None:
    given_bytes = encode_json(body)

    assert given_bytes == ANTHROPIC.encode_response(ANTHROPIC.decode_response(given_bytes))


@settings(max_examples=40)
@given(RESPONSES)
def test_the_events_of_a_response_tell_the_same_response(body: JsonObject) -> None:
    response = ANTHROPIC.decode_response(body)
    stream = ANTHROPIC.stream()
    for event in ANTHROPIC.encode_events(response):
        stream.feed(event)

    assert stream.complete
    assert response == stream.response()


def test_a_decoded_request_shares_nothing_with_the_object_of_its_caller() -> None:
    arguments: dict[str, object] = {"path": "a.py"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": arguments}
    request = ANTHROPIC.decode_request({"model": "m", "messages": [{"role": "assistant", "content": [call]}]})
    arguments["path"] = "b.py"

    assert {"path": "a.py"} == request.messages[0].tool_uses[0].input


def test_encoded_messages_share_nothing_with_the_values() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
    messages = ANTHROPIC.decode_messages([{"role": "assistant", "content": [call]}])
    match ANTHROPIC.encode_messages(messages)[0]:
        case {"content": [{"input": dict(arguments)}]}:
            arguments["path"] = "b.py"
        case other:
            raise AssertionError(other)

    assert {"path": "a.py"} == messages[0].tool_uses[0].input
