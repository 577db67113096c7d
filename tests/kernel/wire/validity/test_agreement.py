"""The checker and the double of the API, written apart from the same documentation, agree on what is refused."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Mark, Message, RedactedThinking, Request, Text, Thinking, Ttl, decode_object
from perdure.kernel.models import lookup
from perdure.kernel.wire.anthropic import ANTHROPIC
from perdure.kernel.wire.validity import Fault, check
from perdure.testing.doubles.anthropic.asked import Asked, Rule, first_refusal
from perdure.testing.doubles.anthropic.models import MODELS
from perdure.testing.doubles.anthropic.rules import RULES
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
