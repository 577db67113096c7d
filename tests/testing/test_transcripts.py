"""The strategies make what they promise: legal transcripts of every shape, and broken ones."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, find, given, settings

from perdure.kernel.messages import (
    Block,
    Document,
    Image,
    Message,
    RedactedThinking,
    Thinking,
    ToolResult,
    Transcript,
    text_of,
)
from perdure.kernel.models import lookup
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity import check_messages, repair
from perdure.testing.transcripts import broken_transcripts, messages, transcripts, turns

PROFILE = lookup("claude-opus-5")
QUICK = settings(max_examples=200, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def blocks(transcript: Sequence[Message]) -> list[Block]:
    return [block for message in transcript for block in message.content]


def results(transcript: Sequence[Message]) -> list[ToolResult]:
    return [block for block in blocks(transcript) if isinstance(block, ToolResult)]


def pauses(transcript: Sequence[Message]) -> list[float]:
    times = [message.time or 0 for message in transcript]
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
@given(transcript=transcripts())
def test_every_transcript_is_legal_in_every_dialect(transcript: Transcript, dialect: Dialect) -> None:
    assert () == check_messages(transcript, PROFILE, dialect)


@given(turns())
def test_a_turn_starts_with_typed_text_and_ends_with_an_answer(turn: tuple[Message, ...]) -> None:
    assert [0] == [place for place, message in enumerate(turn) if message.is_typed]
    assert ("assistant", ()) == (turn[-1].role, turn[-1].tool_uses)


@given(messages())
def test_a_message_says_something(message: Message) -> None:
    assert message.content


@given(transcripts(open_end=False))
def test_without_an_open_end_every_call_has_its_result(transcript: Transcript) -> None:
    asked = {use.id for message in transcript for use in message.tool_uses}

    assert asked == {result.tool_use_id for result in results(transcript)}


@given(transcripts())
def test_no_two_messages_that_were_typed_say_the_same(transcript: Transcript) -> None:
    said = [text_of(message.content) for message in transcript if message.is_typed]

    assert len(said) == len(set(said))


def shapes(transcript: Transcript) -> set[str]:
    """What of the things that must turn up is in this transcript."""
    inside, answers = blocks(transcript), results(transcript)
    words = "\n".join(text_of(message.content) for message in transcript)
    found = {
        "several turns": sum(message.is_typed for message in transcript) >= 4,
        "parallel calls": any(len(message.tool_uses) >= 3 for message in transcript),
        "text between calls": "and then" in words,
        "thinking": any(isinstance(block, Thinking) for block in inside),
        "redacted thinking": any(isinstance(block, RedactedThinking) for block in inside),
        "picture or document": any(isinstance(block, Image | Document) for block in inside),
        "blocks in a result": any(isinstance(result.content, tuple) for result in answers),
        "nothing in a result": any(result.content is None for result in answers),
        "an error": any(result.is_error for result in answers),
        "a huge output": any(len(text_of(result.content)) > 10_000 for result in answers),
        "Chinese": "重试" in words,
        "a reminder": "<system-reminder>" in words,
        "plain content": any(message.plain for message in transcript),
        "a long pause": max(pauses(transcript), default=0) > 3600,
        "two answers in a row": any(one.role == other.role == "assistant" for one, other in pairwise(transcript)),
        "an open round": bool(transcript[-1].tool_uses),
        "a round that is half open": bool(transcript[-1].tool_results) and len(answers) < calls(transcript),
    }
    return {name for name, there in found.items() if there}


def calls(transcript: Sequence[Message]) -> int:
    return sum(len(message.tool_uses) for message in transcript)


ALL_SHAPES = 17


def test_every_shape_turns_up_before_long() -> None:
    seen: set[str] = set()

    @QUICK
    @given(transcripts())
    def look(transcript: Transcript) -> None:
        seen.update(shapes(transcript))

    look()

    assert len(seen) == ALL_SHAPES, sorted(seen)


def test_a_counterexample_shrinks_to_the_little_that_matters() -> None:
    smallest = find(
        transcripts(),
        lambda transcript: any(len(message.tool_uses) >= 2 for message in transcript),
        settings=QUICK,
    )

    assert (3, 2) == (len(smallest), max(len(message.tool_uses) for message in smallest))


def test_most_breakages_break_something() -> None:
    found = [0, 0]

    @QUICK
    @given(broken_transcripts())
    def count(broken: tuple[Message, ...]) -> None:
        found[0] += 1
        found[1] += bool(repair(broken).repairs)

    count()

    assert found[1] > found[0] / 3
