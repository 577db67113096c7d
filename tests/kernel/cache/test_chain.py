"""The chain is equal as far as two requests share a prefix, whichever way it was built, and cheap to extend."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.cache import Head, PrefixChain, chain_of
from perdure.kernel.errors import UserError
from perdure.kernel.messages import (
    Block,
    Extra,
    Image,
    Json,
    JsonObject,
    Mark,
    Message,
    Request,
    ServerToolResult,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
)
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.tokens import overhead_tokens

CLAUDE = lookup("claude-opus-5")
GPT = lookup("gpt-5.1")
READ = Tool(name="read", description="Reads a file.", schema={"type": "object"})
LATE = Tool(name="late", schema={}, extra=Extra(dialect="anthropic", fields=(("defer_loading", True),)))
GREP = Tool(name="grep", description="Searches.", schema={"type": "object"})
HEAD = Head(profile=CLAUDE, tools=(READ, LATE, GREP), system=(Text(text="You work on code."), Text(text="You lead.")))
HEAD_LENGTH = 4
"""Positions: two tools and two system blocks."""

PICTURE = Image(source={"type": "url", "url": "https://pictures.example/a.png"})


def message(name: str, *blocks: Block) -> Message:
    return Message(id=name, role="user", content=blocks, provenance="user")


def hashes(chain: PrefixChain) -> list[bytes]:
    return [chain.hash_at(place) for place in range(len(chain))]


LETTERS = st.sampled_from("abc")
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    LETTERS.map(lambda letter: Text(text=letter)),
    LETTERS.map(lambda letter: Thinking(thinking=letter, signature=letter)),
    LETTERS.map(lambda letter: ToolResult(tool_use_id=letter, content=letter)),
    st.just(PICTURE),
)
CONTENTS = st.lists(st.lists(BLOCKS, min_size=1, max_size=3), max_size=5)


def messages_of(contents: Sequence[Sequence[Block]]) -> tuple[Message, ...]:
    return tuple(message(f"m{index}", *content) for index, content in enumerate(contents))


@given(steps=st.lists(CONTENTS, min_size=1, max_size=3), profile=st.sampled_from([CLAUDE, GPT]))
def test_a_chain_over_other_messages_equals_one_built_from_them(
    steps: list[list[list[Block]]], profile: ModelProfile
) -> None:
    head = replace(HEAD, profile=profile)
    chain = PrefixChain(head)
    for contents in steps:
        chain = chain.over(messages_of(contents))
        fresh = PrefixChain(head, messages_of(contents))

        assert hashes(fresh) == hashes(chain)
        assert [fresh.tokens_through(at) for at in range(len(fresh))] == [
            chain.tokens_through(at) for at in range(len(chain))
        ]
        assert (fresh.tokens, fresh.messages, fresh.overhead) == (chain.tokens, chain.messages, chain.overhead)


@given(contents=CONTENTS, others=CONTENTS)
def test_an_older_chain_is_not_disturbed_by_what_was_built_on_it(
    contents: list[list[Block]], others: list[list[Block]]
) -> None:
    chain = PrefixChain(HEAD, messages_of(contents))
    before = hashes(chain), chain.tokens, chain.messages

    chain.then(messages_of(others))
    chain.over(messages_of(others))
    chain.cut(len(contents) // 2).then(messages_of(others))

    assert before == (hashes(chain), chain.tokens, chain.messages)


@given(contents=CONTENTS, others=CONTENTS)
def test_two_chains_have_in_common_what_their_hashes_do(contents: list[list[Block]], others: list[list[Block]]) -> None:
    first, second = PrefixChain(HEAD, messages_of(contents)), PrefixChain(HEAD, messages_of(others))
    pairs = zip(hashes(first), hashes(second), strict=False)

    expected = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))

    assert expected == first.common(second) == second.common(first)


@given(contents=CONTENTS)
def test_every_position_and_its_mark_name_one_another(contents: list[list[Block]]) -> None:
    chain = PrefixChain(HEAD, messages_of(contents))

    assert list(range(len(chain))) == [chain.position_of(chain.mark_at(place)) for place in range(len(chain))]


@pytest.mark.parametrize(
    "mark",
    [
        Mark(part="tools", index=1),
        Mark(part="tools", index=9),
        Mark(part="system", index=2),
        Mark(part="messages", index=1),
        Mark(part="messages", index=0, block=1),
    ],
)
def test_a_mark_on_a_deferred_tool_or_on_nothing_has_no_position(mark: Mark) -> None:
    assert PrefixChain(HEAD, (message("m0", Text(text="a")),)).position_of(mark) is None


def test_deferred_tools_are_not_part_of_the_prefix() -> None:
    without = replace(HEAD, tools=(READ, GREP))

    assert hashes(PrefixChain(without)) == hashes(PrefixChain(HEAD))


REFERENCES: dict[str, Block] = {
    "a result": ToolResult(tool_use_id="t1", content=(ToolReference(tool_name="late"),)),
    "a search": ServerToolResult(
        kind="tool_search_tool_result",
        tool_use_id="s1",
        content={"tool_references": [{"type": "tool_reference", "tool_name": "late"}]},
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_a_deferred_tool_comes_into_the_prompt_where_it_is_named_and_moves_nothing_before(name: str) -> None:
    before = PrefixChain(HEAD, (message("m0", Text(text="a")),))
    heavier = Tool(name="late", description="Comes late. " * 100, schema={}, extra=LATE.extra)
    changed = PrefixChain(replace(HEAD, tools=(READ, heavier, GREP)), (message("m0", Text(text="a")),))
    loading = message("m1", REFERENCES[name])

    assert 5 == before.common(changed) == before.then((loading,)).common(changed.then((loading,)))
    assert 300 < changed.then((loading,)).tokens - before.then((loading,)).tokens < 700


def test_bare_text_and_one_text_block_are_the_same_content() -> None:
    bare = replace(message("m0", Text(text="hello")), plain=True)

    assert hashes(PrefixChain(HEAD, (bare,))) == hashes(PrefixChain(HEAD, (message("other", Text(text="hello")),)))


def test_a_result_of_bare_text_is_the_result_of_one_text_block() -> None:
    bare = message("m0", ToolResult(tool_use_id="t1", content="ok"))
    blocks = message("m0", ToolResult(tool_use_id="t1", content=(Text(text="ok"),), is_error=False))

    assert hashes(PrefixChain(HEAD, (bare,))) == hashes(PrefixChain(HEAD, (blocks,)))


def test_marks_are_no_content() -> None:
    marked: JsonObject = {"type": "ephemeral"}
    extra = Extra(dialect="anthropic", fields=(("cache_control", marked),))

    expected = hashes(PrefixChain(HEAD, (message("m0", Text(text="a")),)))

    assert expected == hashes(PrefixChain(HEAD, (message("m0", Text(text="a", extra=extra)),)))


CHANGES: dict[str, tuple[Block, Block]] = {
    "text": (Text(text="a"), Text(text="b")),
    "citations": (
        Text(text="a"),
        Text(text="a", extra=Extra(dialect="anthropic", fields=(("citations", ["x"]),))),
    ),
    "signature": (Thinking(thinking="a", signature="x"), Thinking(thinking="a", signature="y")),
    "input": (ToolUse(id="t", name="n", input={"a": 1}), ToolUse(id="t", name="n", input={"a": 2})),
    "call and result": (ToolUse(id="t", name="n", input={}), ToolResult(tool_use_id="t", content="n")),
    "error": (
        ToolResult(tool_use_id="t", content="n"),
        ToolResult(tool_use_id="t", content="n", is_error=True),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_model_reads_is_content(name: str) -> None:
    one, other = CHANGES[name]

    assert HEAD_LENGTH == PrefixChain(HEAD, (message("m", one),)).common(PrefixChain(HEAD, (message("m", other),)))


def test_the_speaker_is_content() -> None:
    said = message("m0", Text(text="a"))

    assert HEAD_LENGTH == PrefixChain(HEAD, (said,)).common(PrefixChain(HEAD, (replace(said, role="assistant"),)))


SETTINGS: dict[str, tuple[JsonObject, int]] = {
    "max_tokens": ({"max_tokens": 9}, 5),
    "stream": ({"stream": True}, 5),
    "what is shown of thinking": ({"thinking": {"type": "adaptive", "display": "omitted"}}, 5),
    "thinking": ({"thinking": {"type": "disabled"}}, HEAD_LENGTH),
    "tool choice": ({"tool_choice": {"type": "any"}}, HEAD_LENGTH),
    "effort": ({"output_config": {"effort": "low"}}, HEAD_LENGTH),
    "budget": ({"output_config": {"task_budget": {"remaining": 5}}}, HEAD_LENGTH),
    "speed": ({"speed": "fast"}, 2),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_changes_the_prompt_changes_it_from_its_level_on(name: str) -> None:
    params, expected = SETTINGS[name]
    adaptive: dict[str, Json] = {"thinking": {"type": "adaptive"}}
    base = PrefixChain(replace(HEAD, params=adaptive), (message("m0", Text(text="a")),))

    assert expected == base.common(
        PrefixChain(replace(HEAD, params=adaptive | params), (message("m0", Text(text="a")),))
    )


def test_another_model_shares_nothing() -> None:
    assert 0 == PrefixChain(HEAD).common(PrefixChain(replace(HEAD, profile=lookup("claude-fable-5"))))


def test_the_first_picture_changes_the_prompt_of_all_messages_for_claude_alone() -> None:
    plain, pictured = message("m0", Text(text="a")), message("m1", PICTURE)
    for profile, expected in ((CLAUDE, HEAD_LENGTH), (GPT, HEAD_LENGTH + 1)):
        chain = PrefixChain(replace(HEAD, profile=profile), (plain,))

        assert expected == chain.common(chain.then((pictured,)))


def test_the_tokens_before_the_messages_are_the_fixed_overhead() -> None:
    chain = PrefixChain(HEAD, (message("m0", Text(text="a")),))

    assert pytest.approx(overhead_tokens(HEAD.tools, HEAD.system, CLAUDE), abs=HEAD_LENGTH) == chain.tokens_through(
        chain.overhead - 1
    )


def test_given_counts_replace_estimates_and_nothing_else() -> None:
    chain = PrefixChain(HEAD, (message("m0", Text(text="a"), Text(text="b")),))

    counted = chain.counted([100, 20, 3, 4, 50, 6])

    assert hashes(chain) == hashes(counted)
    assert [100, 120, 123, 127, 177, 183] == [counted.tokens_through(at) for at in range(6)]
    assert 183 == counted.tokens


def test_counts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="4 positions, and 3 counts"):
        PrefixChain(HEAD).counted([1, 2, 3])


def test_a_request_is_chained_whole() -> None:
    messages = (message("m0", Text(text="a")),)
    request = Request(model="claude-opus-5", messages=messages, system=HEAD.system, tools=HEAD.tools)

    assert hashes(PrefixChain(HEAD, messages)) == hashes(chain_of(request, CLAUDE))
