"""The model of the cache and the doubles' own caches, written apart, split the same sessions alike, token by token.

The doubles count each block by a real tokenizer; the chain is given these counts, so that the two can only differ in
what they take to be read and written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.cache import EMPTY, Bill, PrefixChain, chain_of, marks_of, plan_marks, price, rolling_mark
from perdure.kernel.messages import Mark, Message, Request, Text, Tool, decode_json
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.wire import ANTHROPIC, CHAT
from perdure.testing.doubles import ANTHROPIC_HEADERS, OPENAI_HEADERS, AnthropicDouble, OpenAIDouble, post
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.anthropic.prompt import MESSAGE_OVERHEAD, TOOLS_OVERHEAD, count_block
from perdure.testing.doubles.counting import count_text, count_value

Split = tuple[int, int, int, int]
"""Read, written, written for long, fresh."""

SENTENCES = 200
FILL = "the tide comes in and the nets are dry "


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happens before a request is sent."""

    gap: float = 60.0
    """Seconds since the last one."""
    append: int = 1
    """Blocks of the user's that come in, behind an answer."""
    edit: int | None = None
    """The message, counted from the first, whose words are replaced."""
    tools: int = 1
    system: str = "s"
    choice: str = "auto"
    marks: tuple[int, ...] | None = None
    """Positions, modulo the length of the prompt; None: as planned. Hours come first: `hours` of them."""
    hours: int = 0
    automatic: bool = False
    """Caching is asked for at the top level, too."""


@dataclass(slots=True)
class Session:
    """A request that grows, the clock it lives by, and what was marked last."""

    model: str
    now: float = 1_000_000.0
    messages: list[Message] = field(default_factory=list[Message])
    previous: Mark | None = None

    def advance(self, step: Step) -> Request:
        self.now += step.gap
        if self.messages:
            self.messages.append(said(self.messages, "assistant", 1))
        self.messages.append(said(self.messages, "user", step.append))
        if step.edit is not None:
            place = step.edit % len(self.messages)
            words = tuple(Text(text=f"edited {self.now}") for _ in self.messages[place].content)
            self.messages[place] = replace(self.messages[place], content=words)
            self.previous = None
        return Request(
            model=self.model,
            messages=tuple(self.messages),
            system=tuple(Text(text=f"{step.system}{index} " + FILL * SENTENCES) for index in range(2)),
            tools=tuple(
                Tool(name=f"tool{index}", description=FILL, schema={"type": "object"}) for index in range(step.tools)
            ),
            params={"max_tokens": 50},
        )


def said(before: Sequence[Message], role: str, blocks: int) -> Message:
    name = f"m{len(before)}"
    content = tuple(Text(text=f"{name}-{index} {FILL}") for index in range(blocks))
    if role == "user":
        return Message(id=name, role="user", content=content, provenance="user")
    return Message(id=name, role="assistant", content=content, provenance="assistant")


def split(bill: Bill) -> Split:
    return bill.read, bill.written, bill.written_long, bill.fresh


# Anthropic.


def placed(chain: PrefixChain, step: Step) -> tuple[Mark, ...]:
    places = sorted({place % len(chain) for place in step.marks or ()})
    hours = 0 if step.automatic else step.hours  # a mark of an hour on the last block would contradict it
    return tuple(chain.mark_at(place, "1h" if rank < hours else None) for rank, place in enumerate(places))


def anthropic_counts(raw: bytes, factor: float) -> list[int]:
    """Tokens per position, as the double counts."""
    body = cast("dict[str, Any]", decode_json(raw))
    tools = [count_value({k: v for k, v in tool.items() if k != "cache_control"}) for tool in body.get("tools", [])]
    counts = [count + (0 if index else TOOLS_OVERHEAD) for index, count in enumerate(tools)]
    counts += [count_block(block) for block in body["system"]]
    for message in body["messages"]:
        counts += [
            count_block(block) + (0 if index else MESSAGE_OVERHEAD) for index, block in enumerate(message["content"])
        ]
    return [ceil(count * factor) for count in counts]


def both_by_anthropic(steps: Sequence[Step], model: str) -> list[tuple[Split, Split]]:
    """Each request's split by the double, and by the model of the cache."""
    session, cache, compared = Session(model=model), EMPTY, list[tuple[Split, Split]]()
    double = AnthropicDouble(clock=lambda: session.now)
    profile = lookup(model)
    for step in steps:
        request = session.advance(step)
        request = (
            replace(request, params=request.params | {"tool_choice": {"type": step.choice}}) if step.tools else request
        )
        if step.automatic:
            request = replace(request, params=request.params | {"cache_control": {"type": "ephemeral"}})
        raw = ANTHROPIC.encode_request(request)
        chain = chain_of(request, profile).counted(anthropic_counts(raw, MODELS[model].token_factor))
        marks = placed(chain, step)
        if step.marks is None:
            marks = plan_marks(chain, (True, True), frontier=len(session.messages) // 2, previous=session.previous)
            session.previous = rolling_mark(marks)
        answered = post(
            double, "/v1/messages", ANTHROPIC.encode_request(replace(request, marks=marks)), ANTHROPIC_HEADERS
        )
        assert 200 == answered.status, answered.body
        usage = answered.body["usage"]
        written = usage["cache_creation"]
        seen = (
            usage["cache_read_input_tokens"],
            written["ephemeral_5m_input_tokens"],
            written["ephemeral_1h_input_tokens"],
            usage["input_tokens"],
        )
        bill, cache = price(cache, chain, marks_of(replace(request, marks=marks), chain), session.now)
        compared.append((seen, split(bill)))
    return compared


STEPS = st.builds(
    Step,
    gap=st.sampled_from([1.0, 60.0, 299.0, 301.0, 3_500.0, 4_000.0]),
    append=st.sampled_from([1, 1, 2, 5, 17, 19, 23]),
    edit=st.none() | st.none() | st.integers(0, 20),
    tools=st.sampled_from([1, 1, 1, 2, 0]),
    system=st.sampled_from(["s", "s", "s", "other"]),
    choice=st.sampled_from(["auto", "auto", "none"]),
    marks=st.none() | st.lists(st.integers(0, 60), max_size=3).map(tuple),
    hours=st.integers(0, 1),
    automatic=st.booleans(),
)


@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=2, max_size=6), model=st.sampled_from(["claude-opus-4-8", "claude-opus-4-6"]))
def test_anthropics_double_bills_each_request_as_predicted(steps: list[Step], model: str) -> None:
    for seen, predicted in both_by_anthropic(steps, model):
        assert seen == predicted


def test_a_day_of_work_with_pauses_edits_and_planned_marks_is_predicted_to_the_token() -> None:
    quick, slow = Step(), Step(gap=600.0, append=3)
    edited = Step(edit=3)
    steps = [quick, quick, Step(append=24), quick, edited, quick, slow, quick, Step(gap=4_000.0), Step(edit=1), quick]

    compared = both_by_anthropic(steps, "claude-opus-4-8")

    assert [seen for seen, _ in compared] == [predicted for _, predicted in compared]
    assert sum(seen[0] for seen, _ in compared) > 4 * 3_000


# OpenAI.


def chat_counts(raw: bytes) -> list[int]:
    """Tokens per position, as the double counts: a message is the marker of its role, and its words."""
    body = cast("dict[str, Any]", decode_json(raw))
    counts = [count_value(tool) for tool in body.get("tools", [])]
    for message in body["messages"]:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [part["text"] for part in content]
        marker = count_text(f"<|{message['role']}|>")
        counts += [count_text(text) + (0 if index else marker) for index, text in enumerate(texts)]
    return counts


def both_by_openai(
    steps: Sequence[Step], model: str, profile: ModelProfile
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """What each request read, and its whole prompt, by the double and by the model of the cache."""
    session, cache = Session(model=model), EMPTY
    compared: list[tuple[tuple[int, int], tuple[int, int]]] = []
    double = OpenAIDouble(clock=lambda: session.now)
    for step in steps:
        request = session.advance(step)
        # OpenAI has one system message.
        request = replace(request, params={"max_completion_tokens": 50}, system=request.system[:1])
        raw = CHAT.encode_request(request)
        chain = chain_of(request, profile).counted(chat_counts(raw))
        answered = post(double, "/v1/chat/completions", raw, OPENAI_HEADERS)
        assert 200 == answered.status, answered.body
        usage = answered.body["usage"]
        bill, cache = price(cache, chain, (), session.now)
        # Chat Completions does not tell what was written, which is all of the rest where writes are billed.
        seen = usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]
        compared.append((seen, (bill.read, bill.prompt_tokens)))
        assert profile.cache.max_marks == 0 or bill.fresh == 0
    return compared


GROWING = st.builds(
    Step, gap=st.sampled_from([1.0, 60.0, 299.0, 301.0, 100_000.0]), append=st.sampled_from([1, 2, 5, 23])
)


@settings(max_examples=30)
@given(steps=st.lists(GROWING, min_size=2, max_size=6))
@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5.6"])
def test_openais_double_reads_growing_sessions_as_predicted(model: str, steps: list[Step]) -> None:
    profile = lookup({"gpt-5.6": "gpt-5.6-sol"}.get(model, model))

    for seen, predicted in both_by_openai(steps, model, profile):
        assert seen == predicted
