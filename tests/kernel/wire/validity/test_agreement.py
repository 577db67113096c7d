"""The checker and the double of the API, written apart from the same documentation, agree on what is refused."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import Mark, Message, RedactedThinking, Request, Text, Thinking, Ttl, decode_object
from perdure.kernel.models import lookup
from perdure.kernel.wire.anthropic import ANTHROPIC
from perdure.kernel.wire.chat import CHAT
from perdure.kernel.wire.codec import Codec
from perdure.kernel.wire.responses import RESPONSES
from perdure.kernel.wire.validity import Fault, check
from perdure.testing.doubles.anthropic.asked import Asked, Rule, first_refusal
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.anthropic.rules import RULES
from perdure.testing.doubles.openai.asked import Asked as OpenAIAsked
from perdure.testing.doubles.openai.asked import first_refusal as first_openai_refusal
from perdure.testing.doubles.openai.chat_rules import CHAT_RULES
from perdure.testing.doubles.openai.models import OPENAI_MODELS
from perdure.testing.doubles.openai.responses_rules import RESPONSES_RULES
from perdure.testing.doubles.shape import Seal
from perdure.testing.transcripts import broken_transcripts

MODEL = "claude-opus-5"

# A double refuses signatures that it did not make; these transcripts have made-up ones.
JUDGED: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.name != "signatures are ours")

# Rules that the checker has and the double has not.
OURS_ALONE = {"thinking_last", "thinking_after_call", "thinking_unsigned"}


def refusal(request: Request) -> str | None:
    """What the double of the API says."""
    asked = Asked(
        body=decode_object(ANTHROPIC.encode_request(request)),
        model=MODELS[MODEL],
        betas=frozenset(),
        counting=False,
        workspace="w",
        seal=Seal("key"),
        thinking_given={},
        old_account=True,
    )
    found = first_refusal(JUDGED, asked)
    return found.message if found else None


def faults(request: Request) -> list[Fault]:
    return [fault for fault in check(request, lookup(MODEL), "anthropic") if fault.kind not in OURS_ALONE]


def ask(messages: tuple[Message, ...], marks: tuple[Mark, ...] = ()) -> Request:
    return Request(
        model=MODEL,
        system=(Text(text="Be brief."), Text(text="Here.")),
        messages=messages,
        marks=marks,
        params={"max_tokens": 1000},
    )


@given(broken_transcripts())
def test_what_one_accepts_the_other_accepts(messages: tuple[Message, ...]) -> None:
    request = ask(messages)

    assert (refusal(request) is None) == (faults(request) == []), (refusal(request), faults(request))


LIVES: st.SearchStrategy[Ttl | None] = st.sampled_from((None, "5m", "1h"))


@given(st.lists(st.tuples(st.integers(0, 7), LIVES), max_size=5, unique_by=lambda drawn: drawn[0]))
def test_marks_are_judged_alike(drawn: list[tuple[int, Ttl | None]]) -> None:
    messages = tuple(
        Message(id=f"m{place}", role="user", content=(Text(text=f"line {place}"),), provenance="user")
        for place in range(6)
    )
    marks = tuple(
        Mark(part="system", index=place, ttl=life) if place < 2 else Mark(part="messages", index=place - 2, ttl=life)
        for place, life in sorted(drawn, key=lambda pair: pair[0])
    )
    request = ask(messages, marks)

    assert (refusal(request) is None) == (faults(request) == []), (refusal(request), faults(request))


def test_neither_takes_a_mark_on_thinking() -> None:
    for thought in (Thinking(thinking="", signature="s"), RedactedThinking(data="x")):
        messages = (
            Message(id="a", role="user", content=(Text(text="go"),), provenance="user"),
            Message(id="b", role="assistant", content=(thought, Text(text="ok")), provenance="assistant"),
            Message(id="c", role="user", content=(Text(text="on"),), provenance="user"),
        )
        request = ask(messages, (Mark(part="messages", index=1, block=0),))

        assert ["mark_refused"] == [fault.kind for fault in faults(request)]
        assert refusal(request) is not None


CHAT_PAIRS = tuple(rule for rule in CHAT_RULES if rule.name.startswith("tool messages answer"))
RESPONSES_PAIRS = tuple(rule for rule in RESPONSES_RULES if rule.name == "calls and outputs pair up")
PAIR_KINDS = {"orphan_result", "unanswered_call", "late_result", "open_round"}


def without_thinking(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    bare = (
        replace(
            message,
            content=tuple(block for block in message.content if not isinstance(block, Thinking | RedactedThinking)),
        )
        for message in messages
    )
    return tuple(message for message in bare if message.content)


@pytest.mark.parametrize("codec", [CHAT, RESPONSES])
@given(broken=broken_transcripts())
def test_openai_pairs_calls_and_results_alike(codec: Codec, broken: tuple[Message, ...]) -> None:
    request = Request(model="gpt-5", messages=without_thinking(broken))
    try:
        body = codec.encode_request(request)
    except UntranslatableBlock:
        # Chat Completions has no form for a picture in a tool's result.
        reject()
    asked = OpenAIAsked(
        body=decode_object(body),
        model=OPENAI_MODELS["gpt-5"],
        organization="o",
        seal=Seal("key"),
        stored={},
        reasoned={},
    )

    refused = first_openai_refusal(CHAT_PAIRS if codec.dialect == "chat" else RESPONSES_PAIRS, asked)
    kinds = {fault.kind for fault in check(request, lookup("gpt-5"), codec.dialect)}

    # OpenAI does not say whether an id may come twice; the checker refuses it, since nobody can tell the two apart.
    assume(not kinds & {"duplicate_call", "duplicate_result"})
    assert (refused is None) == (not kinds & PAIR_KINDS), (refused, kinds)
