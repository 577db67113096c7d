"""Where a transcript may be cut, and where it is."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.context.cut import Cuts, cut_at, find_cut, turn_start
from perdure.kernel.messages import Message, ToolResult, Transcript
from perdure.testing.talk import Talk
from perdure.testing.transcripts import transcripts


def legal(talk: Talk) -> list[int]:
    cuts = Cuts(talk.messages)
    return [place for place in range(len(talk.messages) + 1) if cuts.legal(place)]


def test_a_cut_never_splits_a_call_from_its_result() -> None:
    assert [0, 1, 3, 4] == legal(Talk().typed("go").called({"a": 1}, {"b": 2}).answered("1", "2").said("well"))


def test_no_cut_lies_behind_a_round_that_is_still_open() -> None:
    assert [0, 1] == legal(Talk().typed("go").called().typed("are you there?"))


def test_an_orphan_blocks_nothing_once_the_model_has_spoken_again() -> None:
    assert [0, 1, 2, 3, 4] == legal(Talk().typed("go").called().typed("leave it").said("ok"))


def test_results_that_come_one_by_one_hold_their_round_together() -> None:
    talk = Talk().typed("go").called({"a": 1}, {"b": 2})
    talk.add("tool", (ToolResult(tool_use_id="call_1", content="2"),))
    talk.add("tool", (ToolResult(tool_use_id="call_0", content="1"),)).said("well")

    assert [0, 1, 4, 5] == legal(talk)


def test_a_message_of_the_users_is_preferred_while_half_of_the_tail_is_left() -> None:
    talk = Talk().typed("one").rounds(2, 10).said("well").typed("two").rounds(2, 10)
    messages = talk.messages

    cut = find_cut(Cuts(messages), messages, 0, 7, lambda place: len(messages) - place)

    assert cut == cut_at(messages, 6, 0)
    assert cut is not None
    assert (False, None) == (cut.split_turn, cut.turn_start)


def test_a_cut_inside_a_turn_says_where_the_turn_began() -> None:
    talk = Talk().typed("one").said("well").typed("two").rounds(5, 10)

    cut = cut_at(talk.messages, 7, 0)

    assert (True, 2) == (cut.split_turn, cut.turn_start)


def test_nothing_is_cut_where_nothing_new_would_be_folded() -> None:
    messages = Talk().typed("one").messages

    assert find_cut(Cuts(messages, 0), messages, 0, 100, lambda _: 1) is None


def test_a_message_that_begins_a_turn_lies_in_no_turn_before_it() -> None:
    messages = Talk().typed("one").said("well").typed("two").messages

    assert turn_start(messages, 2) is None


@given(transcripts(max_events=15, largest=500), st.integers(1, 5_000))
def test_both_sides_of_a_chosen_cut_hold_whole_rounds(transcript: Transcript, keep: int) -> None:
    sizes = [len(str(message.content)) for message in transcript]
    cut = find_cut(Cuts(transcript), transcript, 0, keep, lambda place: sum(sizes[place:]))

    if cut is not None:
        assert calls(transcript[: cut.index]) >= results(transcript[: cut.index])
        assert not calls(transcript[: cut.index]) & results(transcript[cut.index :])


def calls(messages: tuple[Message, ...]) -> set[str]:
    return {use.id for message in messages for use in message.tool_uses}


def results(messages: tuple[Message, ...]) -> set[str]:
    return {result.tool_use_id for message in messages for result in message.tool_results}
