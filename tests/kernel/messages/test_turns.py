"""The running loop: what the provider takes for the turn that goes on."""

from dataclasses import replace

from perdure.kernel.messages import Message, Text, running_loop
from perdure.testing.talk import Talk

BOTH = Talk().typed("one").said("well").typed("two").rounds(2, 10).messages
ASIDE = Text(text="and be quick")


def said(*content: Text) -> Message:
    return Message(id="aside", role="user", content=content, provenance="user")


def test_it_begins_behind_what_the_user_typed_last() -> None:
    assert 3 == running_loop(BOTH)


def test_where_nobody_typed_anything_all_of_it_is_one_loop() -> None:
    assert 0 == running_loop(BOTH[3:])


def test_what_is_typed_right_behind_results_does_not_end_it() -> None:
    assert 3 == running_loop((*BOTH, said(ASIDE)))


def test_what_is_typed_in_the_message_of_the_results_does_not_end_it() -> None:
    last = BOTH[-1]
    together = replace(last, provenance="user", content=(*last.content, ASIDE))

    assert 3 == running_loop((*BOTH[:-1], together))
