"""A summary that is none: cut off, empty, an error, larger than what it replaces."""

import pytest

from perdure.kernel.context import (
    Attempt,
    Checkpoint,
    Engine,
    Failed,
    Refused,
    Reply,
    Settings,
    Summarize,
    drive,
    with_window,
)
from perdure.kernel.messages import Message, Text, text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import Behaviour, ScriptedPorts
from perdure.testing.talk import Talk

MODEL = with_window(lookup("claude-sonnet-4-6"), 64_000)


class Says(ScriptedPorts):
    """A model that answers every request to summarise with the same text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def summarize(self, ask: Summarize) -> Reply | Failed | Refused:
        message = Message(id="s", role="assistant", content=(Text(text=self.text),), provenance="assistant")
        return Reply(message=message)


def talk() -> Talk:
    return Talk().typed("rename the module").rounds(40, 3_000)


@pytest.mark.parametrize("behaviour", ["empty", "cut_off", "unclosed", "no_tag", "tool_call", "huge", "failed"])
def test_a_bad_summary_is_refused_counted_and_replaced_by_the_next_rung(behaviour: Behaviour) -> None:
    engine = Engine(MODEL)

    sent = drive(engine.compact(talk().transcript, "", None), ScriptedPorts([behaviour]))

    assert "extractive" == sent.strategy
    assert ["model_failed"] == [edit.outcome for edit in engine.ledger if isinstance(edit, Attempt)]
    assert "I have finished the task" not in text_of(sent.messages[0].content)


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 529 overloaded",
        "<summary>Error: prompt is too long: 210000 tokens > 200000 maximum</summary>",
        "<summary></summary>",
        "I'm sorry, but I can't help with that.",
        "<analysis>they renamed things</analysis>",
    ],
)
def test_an_error_or_an_excuse_is_not_committed_as_a_summary(text: str) -> None:
    engine = Engine(MODEL)

    sent = drive(engine.compact(talk().transcript, "", None), Says(text))

    assert "extractive" == sent.strategy
    assert text not in text_of(sent.messages[0].content)


def test_no_model_at_all_is_no_failure() -> None:
    engine = Engine(MODEL)

    sent = drive(engine.compact(talk().transcript, "", None), ScriptedPorts(["absent"]))

    assert "extractive" == sent.strategy
    assert not any(isinstance(edit, Attempt) for edit in engine.ledger)


def test_a_summary_does_not_grow_from_checkpoint_to_checkpoint() -> None:
    wordy = "<summary>\n## Goal\n" + "\n".join(f"- item {number} of the plan" for number in range(400)) + "\n</summary>"
    engine, ports = Engine(MODEL), Says(wordy)
    session = Talk().typed("rename the module")
    limit = 0

    for number in range(12):
        session.rounds(12, 3_500).said("well").typed(f"go on {number}")
        sent = drive(engine.compact(session.transcript, "", None), ports)
        limit = sent.limits.checkpoint_size if sent.limits else 0
    saved = [edit for edit in engine.ledger if isinstance(edit, Checkpoint)]

    assert 12 == len(saved)
    assert all(Engine(MODEL).usage(Talk().typed(edit.content).transcript).usage.tokens <= limit + 16 for edit in saved)


def test_a_checkpoint_that_would_not_be_smaller_is_not_made() -> None:
    session = Talk().typed("hi").said("hello").typed("bye").said("bye")

    sent = drive(Engine(MODEL, Settings(keep_tail=1)).compact(session.transcript, "", None), ScriptedPorts())

    assert session.messages == list(sent.messages)
