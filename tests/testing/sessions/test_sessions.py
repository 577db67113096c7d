"""Generated sessions are legal, the same for a seed for ever, and shaped like what real agents leave behind."""

import hashlib
import statistics
from dataclasses import replace
from itertools import pairwise

import pytest

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import (
    Block,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    media_of,
    text_of,
    weigh_block,
)
from perdure.kernel.models import lookup
from perdure.kernel.wire.codec import Dialect
from perdure.kernel.wire.validity import check, check_messages
from perdure.testing.sessions import GeneratedSession, Scenario, generate

SEEDS = (1, 2, 3)
SHORT = Scenario(requests=40, turns=5, tokens=30_000)


@pytest.fixture(scope="module")
def sessions() -> list[GeneratedSession]:
    """Three sessions of the default scenario."""
    return [generate(seed) for seed in SEEDS]


def readable(message: Message) -> str:
    """Everything that a model reads of a message."""
    parts: list[str] = []
    for block in message.content:
        match block:
            case Text(text=text) | Thinking(thinking=text):
                parts.append(text)
            case ToolUse(input=given):
                parts.append("\n".join(str(value) for value in given.values()))
            case ToolResult():
                parts.append(text_of((block,)))
            case _:
                pass
    return "\n".join(parts)


def digest(session: GeneratedSession) -> str:
    parts = [
        f"{message.id} {message.role} {message.time} {message.provenance} {message.usage} {readable(message)}"
        for message in session.transcript
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pictures(session: GeneratedSession) -> list[Image]:
    contents = [result.content for message in session.transcript for result in message.tool_results]
    return [
        block for content in contents if isinstance(content, tuple) for block in content if isinstance(block, Image)
    ]


def by_id(session: GeneratedSession) -> dict[str, Message]:
    return {message.id: message for message in session.transcript}


def test_a_seed_gives_the_same_session_for_ever() -> None:
    assert "5c047daae4a0b4f68fa13fded24d67b0c234a17a646cd20e610ee3940688eed6" == digest(generate(7, SHORT))


def test_another_seed_gives_another_session() -> None:
    assert digest(generate(7, SHORT)) != digest(generate(8, SHORT))


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_a_session_is_legal(sessions: list[GeneratedSession], dialect: Dialect) -> None:
    profile = lookup("claude-sonnet-4-6")

    assert [(), (), ()] == [check_messages(session.transcript, profile, dialect) for session in sessions]


def test_every_request_of_a_session_would_be_accepted() -> None:
    session = generate(5, SHORT)
    profile = lookup(session.scenario.model)

    for place, message in enumerate(session.transcript):
        if message.role == "assistant":
            request = Request(
                model=session.scenario.model,
                system=session.system,
                tools=session.tools,
                messages=session.transcript[:place],
            )
            assert () == check(request, profile, "anthropic")


def test_a_session_has_the_requests_and_turns_that_were_asked_for(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        turns = sum(message.is_typed for message in session.transcript)

        assert (400, 14) == (len(session.responses), turns)


@pytest.mark.parametrize(
    "scenario", [Scenario(requests=1, turns=1, tokens=0), Scenario(requests=9, turns=9), Scenario(requests=25, turns=2)]
)
def test_small_scenarios_work_as_well(scenario: Scenario) -> None:
    session = generate(3, scenario)

    assert scenario.requests == len(session.responses)
    assert () == check_messages(session.transcript, lookup(scenario.model), "anthropic")


def test_the_size_follows_the_scenario(sessions: list[GeneratedSession]) -> None:
    for session in [*sessions, generate(4, SHORT)]:
        wanted = session.scenario.tokens * 3

        assert 0.85 < session.transcript.weight().bytes / wanted < 1.15


def test_far_more_than_a_million_tokens_are_sent(sessions: list[GeneratedSession]) -> None:
    assert all(session.sent_tokens > 10_000_000 for session in sessions)


def test_content_is_shared_out_as_in_recorded_sessions(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        sizes = {"results": 0, "assistant": 0, "typed": 0, "other": 0}
        for message in session.transcript:
            for block in message.content:
                sizes[kind(message, block)] += weigh_block(block).bytes
        whole = sum(sizes.values())

        assert 0.62 < sizes["results"] / whole < 0.80
        assert 0.18 < sizes["assistant"] / whole < 0.35
        assert 0.01 < sizes["typed"] / whole < 0.06


def kind(message: Message, block: Block) -> str:
    if isinstance(block, ToolResult):
        return "results"
    if message.role == "assistant":
        return "assistant"
    return "typed" if isinstance(block, Text) and not block.text.startswith("<system-reminder>") else "other"


def test_most_outputs_are_small_and_a_few_are_huge(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        sizes = [len(text_of(result.content)) / 3 for message in session.transcript for result in message.tool_results]

        assert 100 < statistics.median(sizes) < 1_000
        assert 3 <= sum(size > 9_000 for size in sizes) <= 8
        assert max(sizes) < 42_000


def test_what_a_request_adds_is_like_in_recorded_sessions(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        prompts = [message.usage.prompt_tokens for message in session.responses if message.usage]
        added = [later - earlier for earlier, later in pairwise(prompts)]

        assert 400 < statistics.median(added) < 1_400
        assert 700 < statistics.mean(added) < 1_500


def test_there_are_parallel_calls_errors_thinking_and_pictures(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        transcript = session.transcript
        failed = [result for message in transcript for result in message.tool_results if result.is_error]
        thoughts = [block for message in transcript for block in message.content if isinstance(block, Thinking)]

        assert sum(len(message.tool_uses) > 1 for message in transcript) > 50
        assert 10 < len(failed) < 120
        assert len(thoughts) > 100
        assert all(thought.signature for thought in thoughts)


def test_the_pictures_are_real(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        assert [(480, 300)] * 2 == [
            (media_of(picture).width, media_of(picture).height) for picture in pictures(session)
        ]


def test_every_demand_stands_word_for_word_in_what_the_user_typed(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        for rule in session.rules:
            message = by_id(session)[rule.message_id]

            assert message.is_typed
            assert rule.text in readable(message)
            assert rule.value in rule.text


def test_of_each_topic_at_most_the_last_demand_holds(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        for topic in {rule.topic for rule in session.rules}:
            of_topic = [rule for rule in session.rules if rule.topic == topic]

            assert [False] * (len(of_topic) - 1) == [rule.in_force for rule in of_topic[:-1]]
            assert (of_topic[-1].kind != "withdrawal") == of_topic[-1].in_force


def test_the_user_changes_his_mind(sessions: list[GeneratedSession]) -> None:
    kinds = [rule.kind for session in sessions for rule in session.rules]

    assert kinds.count("correction") >= 3
    assert "withdrawal" in kinds
    assert any(
        "\u4e00" <= character <= "\u9fff" for session in sessions for rule in session.rules for character in rule.text
    )


def test_what_the_agent_needs_later_was_shown_before(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        messages = by_id(session)
        places = {message.id: place for place, message in enumerate(session.transcript)}
        distances = [places[finding.used_in] - places[finding.shown_in] for finding in session.findings]

        for finding in session.findings:
            assert finding.text in readable(messages[finding.shown_in])
            assert finding.text in readable(messages[finding.used_in])
        assert min(distances) > 0
        assert sum(distance > 40 for distance in distances) > 25


def test_pauses_outlast_the_cache_and_usage_shows_it(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        times = [message.time for message in session.transcript]
        reads = [message.usage.cache_read_tokens for message in session.responses if message.usage]

        assert None not in times
        assert times == sorted(time for time in times if time is not None)
        assert 1 <= reads[1:].count(0) <= 13


def test_usage_adds_up(sessions: list[GeneratedSession]) -> None:
    for session in sessions:
        usages = [message.usage for message in session.responses if message.usage]
        for earlier, later in pairwise(usages):
            assert later.cache_read_tokens in (0, earlier.prompt_tokens - earlier.input_tokens)
            assert later.prompt_tokens > earlier.total_tokens


def test_without_chinese_pauses_pictures_or_huge_outputs_there_are_none() -> None:
    session = generate(11, replace(SHORT, chinese=0.0, pauses=0.0, images=0, huge_share=0.0))
    typed = "".join(readable(message) for message in session.transcript if message.is_typed)
    reads = [message.usage.cache_read_tokens for message in session.responses if message.usage]

    assert typed.isascii()
    assert 0 not in reads[1:]
    assert [] == pictures(session)


def test_an_impossible_scenario_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="3 requests cannot have 14 turns"):
        Scenario(requests=3)
    with pytest.raises(InvalidSetting, match="0 turns"):
        Scenario(turns=0)
    with pytest.raises(InvalidSetting, match=r"chinese is 1\.5"):
        Scenario(chinese=1.5)
    with pytest.raises(InvalidSetting, match="images is -1"):
        Scenario(images=-1)
