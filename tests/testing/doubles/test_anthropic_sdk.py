"""The official SDK talks to the double over loopback and understands everything it says."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaCompactionBlock, BetaMessage, BetaMessageParam, BetaToolParam

from perdure.testing.doubles import (
    AnthropicDouble,
    Call,
    CompactionUnavailable,
    Cut,
    ErrorInStream,
    Fault,
    Overloaded,
    RateLimited,
    Raw,
    Say,
    ServerError,
    Slow,
    Think,
    Turn,
    replies,
    serve,
)

MODEL = "claude-opus-5-5"
THRESHOLD, ON_DEMAND, EDITING = "compact-2026-01-12", "compact-2026-09-04", "context-management-2025-06-27"
READ: BetaToolParam = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
HELLO: BetaMessageParam = {"role": "user", "content": "Say hello."}
LONG: BetaMessageParam = {"role": "user", "content": "word " * 60_000}
SEARCH: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
RICH = Turn(
    parts=(
        Think(text="Let me think about it, at some length, so that it comes in several pieces."),
        Think(text="Nobody may see this.", redacted=True),
        Raw(block=SEARCH),
        Raw(block=FOUND),
        Say(text="I say so much that it comes in several pieces as well, one after the other."),
        Call(name="read", arguments={"path": "a/very/long/path/to/a/file.py", "lines": [1, 2, 3], "名前": "é"}),
        Call(name="read"),
    )
)


class Served:
    """A double behind a client."""

    def __init__(self, double: AnthropicDouble, url: str) -> None:
        self.double = double
        self.client = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    double = AnthropicDouble(lambda _: RICH)
    with serve(double) as url:
        yield Served(double, url)


def create(served: Served, **more: Any) -> BetaMessage:
    settings: dict[str, Any] = {"model": MODEL, "max_tokens": 2_000, "messages": [HELLO], "tools": [READ], **more}
    messages: Any = served.client.beta.messages
    return messages.create(**settings)


def stream(served: Served, **more: Any) -> BetaMessage:
    settings: dict[str, Any] = {"model": MODEL, "max_tokens": 2_000, "messages": [HELLO], "tools": [READ], **more}
    with served.client.beta.messages.stream(**settings) as events:
        return events.get_final_message()


def told(message: BetaMessage) -> list[dict[str, Any]]:
    """The blocks without what differs between two answers: ids of calls and seals."""
    blocks: list[dict[str, Any]] = [block.to_dict() for block in message.content]
    for block in blocks:
        for name in ("id", "signature", "data", "encrypted_content"):
            block.pop(name, None)
    return blocks


def test_a_stream_says_what_the_whole_message_says(served: Served) -> None:
    whole, streamed = create(served), stream(served)

    assert [
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "tool_use",
        "tool_use",
    ] == [block.type for block in whole.content]
    assert told(whole) == told(streamed)
    assert whole.usage.output_tokens == streamed.usage.output_tokens
    assert ("tool_use", "tool_use") == (whole.stop_reason, streamed.stop_reason)


def test_what_the_sdk_parsed_is_accepted_back(served: Served) -> None:
    message = stream(served)
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "x"}
        for block in message.content
        if block.type == "tool_use"
    ]

    answered = create(
        served,
        messages=[
            HELLO,
            {"role": "assistant", "content": message.to_dict()["content"]},
            {"role": "user", "content": results},
        ],
    )

    assert "tool_use" == answered.stop_reason


def test_counting_agrees_with_the_usage(served: Served) -> None:
    counted = served.client.beta.messages.count_tokens(model=MODEL, messages=[HELLO], tools=[READ])

    assert create(served).usage.input_tokens == counted.input_tokens


def test_models_tell_their_capabilities(served: Served) -> None:
    listed = [model.id for model in served.client.beta.models.list()]
    model = served.client.beta.models.retrieve(MODEL, betas=[ON_DEMAND])

    assert MODEL in listed
    assert model.capabilities is not None
    assert model.capabilities.compaction is not None
    assert (True, False, 1_000_000, 128_000) == (
        model.capabilities.compaction.supported,
        model.capabilities.thinking.types.disabled.supported,
        model.max_input_tokens,
        model.max_tokens,
    )


def test_an_unknown_model_is_not_found(served: Served) -> None:
    with pytest.raises(anthropic.NotFoundError):
        served.client.beta.models.retrieve("claude-opus-99")


@pytest.mark.parametrize("ask", [create, stream])
def test_threshold_compaction_is_understood(served: Served, ask: Any) -> None:
    trigger = {"type": "input_tokens", "value": 50_000}
    management = {"edits": [{"type": "compact_20260112", "trigger": trigger}]}

    message: BetaMessage = ask(served, messages=[LONG], betas=[THRESHOLD], context_management=management)

    block = message.content[0]
    assert isinstance(block, BetaCompactionBlock)
    assert (True, True) == (bool(block.content), bool(block.encrypted_content))
    assert ["compaction", "message"] == [entry.type for entry in message.usage.iterations or []]
    assert message.context_management is not None


@pytest.mark.parametrize("ask", [create, stream])
def test_on_demand_compaction_is_understood_and_goes_back(served: Served, ask: Any) -> None:
    message: BetaMessage = ask(served, betas=[ON_DEMAND], compaction={"type": "summarize"})

    block = message.content[0]
    assert ("compaction", "compaction", True) == (
        message.stop_reason,
        block.type,
        bool(block.to_dict().get("signature")),
    )
    own = {"role": "assistant", "content": message.to_dict()["content"]}
    assert "tool_use" == create(served, messages=[own, HELLO], betas=[ON_DEMAND]).stop_reason


def test_a_signed_block_comes_whole_and_a_threshold_block_in_one_delta(served: Served) -> None:
    management = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]}
    settings: list[dict[str, Any]] = [
        {"betas": [ON_DEMAND], "compaction": {"type": "summarize"}, "messages": [HELLO]},
        {"betas": [THRESHOLD], "context_management": management, "messages": [LONG]},
    ]

    kinds: list[list[str]] = []
    for more in settings:
        events = served.client.beta.messages.create(model=MODEL, max_tokens=2_000, stream=True, **more)
        first = [event for event in events if getattr(event, "index", None) == 0]
        kinds.append([event.delta.type if event.type == "content_block_delta" else event.type for event in first])

    assert [
        ["content_block_start", "content_block_stop"],
        ["content_block_start", "compaction_delta", "content_block_stop"],
    ] == kinds


def test_context_management_comes_with_the_last_event_of_a_stream(served: Served) -> None:
    management = {"edits": [{"type": "clear_tool_uses_20250919"}]}

    message = stream(served, betas=[EDITING], context_management=management)

    assert message.context_management is not None
    assert [] == message.context_management.applied_edits


def test_the_tool_runner_works_with_threads(served: Served) -> None:
    @anthropic.beta_tool
    def read(path: str) -> str:
        """Read a file.

        Args:
            path: which one
        """
        return f"{path} is empty"

    double = AnthropicDouble(replies([Turn(parts=(Call(name="read", arguments={"path": "a.py"}),))]))
    with serve(double) as url:
        client = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)
        message = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=1_000, messages=[HELLO], tools=[read]
        ).until_done()

    assert "end_turn" == message.stop_reason
    assert [200, 200] == [received.status for received in double.received]
    assert ["create", "continue"] == [received.body["thread"]["type"] for received in double.received]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Overloaded(), anthropic.InternalServerError),
        (RateLimited(), anthropic.RateLimitError),
        (ServerError(), anthropic.InternalServerError),
        (CompactionUnavailable(), anthropic.InternalServerError),
        (Cut(), anthropic.APIConnectionError),
    ],
)
def test_a_fault_reaches_the_client_as_its_error(served: Served, fault: Fault, error: type[Exception]) -> None:
    served.double.faults.append(fault)

    with pytest.raises(error):
        create(served)
    assert "tool_use" == create(served).stop_reason


@pytest.mark.parametrize("fault", [ErrorInStream(after=4), Cut(after=4)])
def test_a_stream_that_breaks_off_is_an_error(served: Served, fault: Fault) -> None:
    served.double.faults.append(fault)

    # A broken connection surfaces as an error of the HTTP library, which the SDK does not wrap while it streams.
    with pytest.raises(Exception, match=r"Overloaded|incomplete chunked read"):
        stream(served)


def test_the_wait_after_a_rate_limit_is_told_unless_the_money_is_spent(served: Served) -> None:
    waits: list[str | None] = []
    for retry_after in (7, None):
        served.double.faults.append(RateLimited(retry_after=retry_after))
        with pytest.raises(anthropic.RateLimitError) as caught:
            create(served)
        waits.append(caught.value.response.headers.get("retry-after"))

    assert ["7", None] == waits


def test_a_slow_answer_passes_time_without_waiting(served: Served) -> None:
    waited: list[str] = []
    served.double.faults.append(Slow(wait=lambda: waited.append("here"), pings=5))

    events = list(served.client.beta.messages.create(model=MODEL, max_tokens=2_000, messages=[HELLO], stream=True))

    assert ["here"] == waited
    assert "message_stop" == events[-1].type


def test_the_details_of_a_refusal_are_read(served: Served) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        create(served, messages=[], betas=[ON_DEMAND], compaction={"type": "summarize"})

    assert "compaction_nothing_to_summarize" == getattr(caught.value, "error_code", None)
