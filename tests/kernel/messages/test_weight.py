"""Weights measure what a model reads, and never the base64 text in which other things travel."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import (
    NOTHING,
    Block,
    Compaction,
    Document,
    Extra,
    Image,
    Json,
    Message,
    RedactedThinking,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
    Weight,
    weigh,
    weigh_block,
    weigh_blocks,
    weigh_text,
    weigh_tool,
)

LONG = base64.b64encode(b"\0" * 300_000).decode()


@given(text=st.text())
def test_text_weighs_its_utf8_bytes_and_its_characters(text: str) -> None:
    expected = Weight(bytes=len(text.encode("utf-8", "surrogatepass")), chars=len(text), blocks=1)

    assert expected == weigh_text(text)


def test_a_text_of_many_pieces_weighs_its_utf8_bytes() -> None:
    text = "渡轮 ferry 🚢 \ud800" * 9_000

    assert len(text.encode("utf-8", "surrogatepass")) == weigh_text(text).bytes


@given(texts=st.lists(st.text(), max_size=6), cut=st.integers(min_value=0, max_value=6))
def test_the_weight_of_a_content_is_the_sum_of_its_parts(texts: list[str], cut: int) -> None:
    blocks = [Text(text=text) for text in texts]

    assert weigh_blocks(blocks) == weigh_blocks(blocks[:cut]) + weigh_blocks(blocks[cut:])


BLOCKS: dict[str, tuple[Block, Weight]] = {
    "a call": (ToolUse(id="t1", name="read", input={"path": "a"}), Weight(bytes=16, chars=16, blocks=1)),
    "a call as received": (
        ToolUse(id="t1", name="read", input={}, raw_input='{ "path": "a" }'),
        Weight(bytes=19, chars=19, blocks=1),
    ),
    "a bare result": (ToolResult(tool_use_id="t1", content="é"), Weight(bytes=2, chars=1, blocks=1)),
    "a result without content": (ToolResult(tool_use_id="t1", content=None), Weight(blocks=1)),
    "a result of blocks": (
        ToolResult(tool_use_id="t1", content=(Text(text="ab"), Text(text="c"))),
        Weight(bytes=3, chars=3, blocks=3),
    ),
    "thinking": (Thinking(thinking="x" * 90, signature="AAAA"), Weight(bytes=90, chars=90, blocks=1)),
    "hidden thinking": (Thinking(thinking="", signature="A" * 400), Weight(bytes=300, chars=300, blocks=1)),
    "redacted thinking": (RedactedThinking(data="A" * 400), Weight(bytes=300, chars=300, blocks=1)),
    "a readable compaction": (Compaction(content="abc"), Weight(bytes=3, chars=3, blocks=1)),
    "a hidden compaction": (Compaction(encrypted_content="A" * 40), Weight(bytes=30, chars=30, blocks=1)),
    "a server's call": (
        ServerToolUse(kind="server_tool_use", id="s1", name="search", input={}),
        Weight(bytes=8, chars=8, blocks=1),
    ),
    "a reference": (ToolReference(tool_name="grep"), Weight(bytes=4, chars=4, blocks=1)),
    "a text document": (
        Document(source={"type": "text", "media_type": "text/plain", "data": "abcd"}),
        Weight(bytes=4, chars=4, blocks=1),
    ),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_each_block_weighs_what_a_model_reads_of_it(name: str) -> None:
    block, expected = BLOCKS[name]

    assert expected == weigh_block(block)


CARRIERS: dict[str, Block] = {
    "an image": Image(source={"type": "base64", "media_type": "image/png", "data": LONG}),
    "a document": Document(source={"type": "base64", "media_type": "application/pdf", "data": LONG}),
    "an image in a result": ToolResult(
        tool_use_id="t1", content=(Image(source={"type": "base64", "media_type": "image/png", "data": LONG}),)
    ),
    "an image in a document of blocks": Document(
        source={
            "type": "content",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": LONG}}],
        }
    ),
    "a new kind of block": Unknown(
        dialect="chat", raw={"type": "input_audio", "input_audio": {"data": LONG, "format": "wav"}}
    ),
    "an image address in a new kind of block": Unknown(
        dialect="chat", raw={"type": "picture", "picture": {"url": f"data:image/png;base64,{LONG}"}}
    ),
}


@pytest.mark.parametrize("name", CARRIERS)
def test_base64_counts_as_one_medium_and_not_as_text(name: str) -> None:
    weight = weigh_block(CARRIERS[name])

    assert weight.bytes < 200
    assert 1 == len(weight.media)


def test_what_a_search_found_is_not_weighed_by_its_encrypted_copy() -> None:
    found: list[Json] = [{"type": "web_search_result", "title": "Quays", "encrypted_content": LONG}]
    block = ServerToolResult(kind="web_search_tool_result", tool_use_id="s1", content=found)

    assert weigh_block(block).bytes < 100


def test_nesting_beyond_reason_is_weighed_all_the_same() -> None:
    raw: Json = "x"
    for _ in range(180):
        raw = [raw]

    assert 180 * 2 < weigh_block(Unknown(dialect="chat", raw={"type": "deep", "content": raw})).bytes < 500


def test_a_tool_weighs_its_name_description_and_schema() -> None:
    tool = Tool(name="grep", description="Search.", schema={"type": "object"})

    assert Weight(bytes=4 + 7 + 17, chars=4 + 7 + 17, blocks=1) == weigh_tool(tool)


def test_a_deferred_tool_weighs_nothing() -> None:
    extra = Extra(dialect="anthropic", fields=(("defer_loading", True),))

    assert NOTHING == weigh_tool(Tool(name="grep", description="Search.", schema={}, extra=extra))


def test_the_weight_of_a_message_is_computed_once() -> None:
    message = Message(id="m1", role="user", content=(Text(text="hello"),), provenance="user")

    assert weigh(message) is weigh(message)
