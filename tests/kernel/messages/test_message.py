"""A message is frozen, keeps what is derived from it, and tells what its user typed."""

import pickle
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from perdure.kernel.messages import (
    Block,
    Extra,
    Image,
    Message,
    Provenance,
    Role,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    received,
    text_of,
    typed_texts,
)


def message(*blocks: Block, role: Role = "user", provenance: Provenance = "user") -> Message:
    return Message(id="m0", role=role, content=blocks, provenance=provenance)


def test_what_is_derived_from_a_message_is_made_once() -> None:
    asked: list[Message] = []
    one = message(Text(text="hi"))

    def count(whole: Message) -> int:
        asked.append(whole)
        return len(whole.content)

    assert (1, 1) == (one.keep("count", count), one.keep("count", count))
    assert [one] == asked


def test_messages_keep_things_apart_from_one_another_and_by_key() -> None:
    one, two = message(Text(text="a")), message(Text(text="a"))
    one.keep("x", lambda _: 1)

    assert (2, 3, 1) == (two.keep("x", lambda _: 2), one.keep("y", lambda _: 3), one.keep("x", lambda _: 4))


def test_an_encoding_is_kept_for_the_dialect_that_asked_last() -> None:
    one = message(Text(text="a"))
    first = one.encoded("chat", lambda _: b"first")

    assert (b"first", b"first") == (first, one.encoded("chat", lambda _: b"second"))
    assert b"third" == one.encoded("responses", lambda _: b"third")
    assert b"fourth" == one.encoded("chat", lambda _: b"fourth")


def test_a_replaced_message_keeps_nothing_of_its_original() -> None:
    one = message(Text(text="a"))
    one.keep("x", lambda _: 1)
    one.encoded("chat", lambda _: b"one")
    other = replace(one, content=(Text(text="b"),))

    assert (2, b"two") == (other.keep("x", lambda _: 2), other.encoded("chat", lambda _: b"two"))


def test_what_is_kept_is_no_part_of_what_a_message_is() -> None:
    one, two = message(Text(text="a")), message(Text(text="a"))
    one.keep("x", lambda _: 1)
    one.encoded("chat", lambda _: b"one")

    assert two == one
    assert repr(two) == repr(one)


def test_a_received_message_is_one_that_the_constructor_makes() -> None:
    extra = Extra(dialect="anthropic", fields=(("new", 1),))
    content = (Text(text="a"),)
    made = Message(id="m1", role="user", content=content, provenance="user", plain=True, extra=extra)
    got = received(id="m1", role="user", content=content, provenance="user", plain=True, extra=extra)

    assert made == got
    assert type(got) is Message
    assert {field.name for field in fields(made)} == {field.name for field in fields(got) if hasattr(got, field.name)}
    # S301: the pickle is made in this line.
    assert (made, made, made) == (copy(got), deepcopy(got), pickle.loads(pickle.dumps(got)))  # noqa: S301


def test_a_received_message_is_frozen() -> None:
    got = received(id="m1", role="user", content=(), provenance="user", plain=False, extra=None)

    with pytest.raises(FrozenInstanceError):
        # That a frozen field cannot be set is what is tried.
        got.id = "m2"  # pyright: ignore[reportAttributeAccessIssue]


def test_calls_and_results_are_found_in_order() -> None:
    call = ToolUse(id="t", name="read", input={})
    result = ToolResult(tool_use_id="t", content="x")

    assert ((call,), (result,)) == (message(call, result).tool_uses, message(Text(text="a"), result).tool_results)


@pytest.mark.parametrize(
    ("typed", "one"),
    [
        (True, message(Text(text="hi"))),
        (True, message(ToolResult(tool_use_id="t", content="x"), Text(text="stop"))),
        (False, message(Text(text="  \n<system-reminder>x</system-reminder>"))),
        (False, message(Text(text="hi"), provenance="harness")),
        (False, message(Text(text="hi"), provenance="web")),
        (False, message(Text(text="hi"), role="assistant", provenance="assistant")),
        (False, message(ToolResult(tool_use_id="t", content="x"), provenance="tool")),
        (False, message()),
    ],
)
def test_only_what_the_user_wrote_counts_as_typed(typed: bool, one: Message) -> None:
    assert typed == one.is_typed
    assert typed == bool(list(typed_texts(one)))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", None),
        ("bare", "bare"),
        ("a\nb", (Text(text="a"), Text(text=""), Text(text="b"))),
        ("a\nin\nside", (Text(text="a"), ToolResult(tool_use_id="t", content=(Text(text="in"), Text(text="side"))))),
        ("", (Image(source={"type": "url", "url": "x"}), ToolResult(tool_use_id="t", content=None))),
    ],
)
def test_the_readable_text_of_a_content(text: str, content: str | tuple[Block, ...] | None) -> None:
    assert text == text_of(content)


def test_the_parts_of_usage_add_up() -> None:
    usage = Usage(input_tokens=1, cache_read_tokens=20, cache_write_tokens=300, output_tokens=4000)

    assert (321, 4321) == (usage.prompt_tokens, usage.total_tokens)
