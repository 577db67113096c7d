"""A transcript only grows: branches, failed appends and ranges leave every older value as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidMessage, PerdureError
from perdure.kernel.messages import Message, Text, ToolUse, Transcript, weigh_blocks


def message(name: str, text: str = "text") -> Message:
    return Message(id=name, role="user", content=(Text(text=text),), provenance="user")


def messages(*names: str) -> tuple[Message, ...]:
    return tuple(message(name) for name in names)


def test_appending_leaves_the_shorter_transcript_as_it_was() -> None:
    short = Transcript(messages("a"))
    long = short.append(*messages("b", "c"))

    assert (messages("a"), messages("a", "b", "c")) == (tuple(short), tuple(long))


def test_two_branches_of_one_history_do_not_see_each_other() -> None:
    trunk = Transcript(messages("a", "b"))
    left = trunk.append(message("left"), message("same"))
    right = trunk.append(message("right"), message("same"))

    assert [("a", "b", "left", "same"), ("a", "b", "right", "same")] == [
        tuple(one.id for one in branch) for branch in (left, right)
    ]
    assert (None, 3, 2, None) == (
        trunk.index_of("left"),
        left.index_of("same"),
        right.index_of("right"),
        right.index_of("left"),
    )


def test_a_failed_append_changes_nothing_and_the_next_one_works() -> None:
    short = Transcript(messages("a"))
    with pytest.raises(InvalidMessage, match="'a'"):
        short.append(message("b"), message("a"))

    assert messages("a") == tuple(short)
    assert (None, messages("a", "b")) == (short.index_of("b"), tuple(short.append(message("b"))))


def test_a_message_that_cannot_be_weighed_is_not_half_appended() -> None:
    short = Transcript(messages("a"))
    call = ToolUse(id="t", name="n", input={"x": float("nan")})
    odd = Message(id="odd", role="assistant", content=(call,), provenance="assistant")
    with pytest.raises(PerdureError):
        short.append(message("b"), odd)

    assert short.weight() == Transcript(messages("a")).weight()
    assert messages("a", "b") == tuple(short.append(message("b")))


@pytest.mark.parametrize("names", [("",), ("a", "a"), ("a", "b", "a")])
def test_ids_are_given_and_unique(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidMessage, match="id"):
        Transcript(messages(*names))


def test_positions_and_slices_are_those_of_a_tuple() -> None:
    held = messages("a", "b", "c")
    longer = Transcript(held)
    longer.append(message("d"))

    assert (held[0], held[-1], held[1:], held[::-1], held[-2:9]) == (
        longer[0],
        longer[-1],
        longer[1:],
        longer[::-1],
        longer[-2:9],
    )
    for index in (3, -4):
        with pytest.raises(IndexError, match="3 messages"):
            longer[index]


def test_equal_messages_make_equal_transcripts() -> None:
    one, two = Transcript(messages("a", "b")), Transcript(messages("a")).append(message("b"))

    assert one == two
    assert hash(one) == hash(two)
    assert one != Transcript(messages("a"))
    assert one != messages("a", "b")


@given(st.lists(st.text(max_size=5), max_size=8), st.integers(-9, 9), st.integers(-9, 9))
def test_the_weight_of_a_range_is_that_of_its_messages(texts: list[str], start: int, stop: int) -> None:
    held = [message(f"m{index}", text) for index, text in enumerate(texts)]
    inside = [block for one in held[start:stop] for block in one.content]

    assert weigh_blocks(inside) == Transcript(held).weight(start, stop)
