"""Thinking whose signature is bound to every byte before it."""

import pytest

from perdure.kernel.context import ClearThinking, Engine, Ladder, Projection, Settings, drive, with_window
from perdure.kernel.context.strategies.extractive import Extractive
from perdure.kernel.errors import Infeasible, RevertRefused
from perdure.kernel.messages import JsonObject, Message, Request, Thinking, Transcript
from perdure.kernel.models import ModelProfile, declare, lookup
from perdure.kernel.wire.validity import Fault, check_against, check_following
from perdure.testing.ports import Behaviour, ScriptedPorts
from perdure.testing.talk import Talk, output

DROPS = lookup("claude-opus-5-5")
REFUSES = declare({"id": "bound", "like": "claude-opus-5-5", "native": []})
LOOSE = lookup("claude-sonnet-4-6")
EARLY = Settings(clear_growth=8_000, batch_floor=1_000)


def session(turns: int = 10, rounds: int = 5, last: int = 30) -> Talk:
    talk = Talk().typed("go on")
    for turn in range(turns):
        talk.rounds(rounds, 3_000, thought=f"thought of turn {turn}").said("done", thought="well").typed(f"next {turn}")
    return talk.rounds(last, 4_000, thought="of the running loop")


def played(engine: Engine, transcript: Transcript, ports: ScriptedPorts) -> list[tuple[Projection, tuple[Fault, ...]]]:
    """Every request with the faults of its thinking, the provider being asked to drop blocks where that is noted."""
    found: list[tuple[Projection, tuple[Fault, ...]]] = []
    shown, previous = Transcript(), None
    for place, message in enumerate(transcript):
        if message.role != "assistant" or not place:
            continue
        shown = shown.append(*transcript[len(shown) : place])
        sent = drive(engine.project(shown, None), ports)
        request = request_of(engine.profile, sent)
        faults = check_against(shown[:], request, engine.profile)
        if previous is not None:
            faults += check_following(previous, request, engine.profile)
        found.append((sent, faults))
        previous = request
    return found


def request_of(profile: ModelProfile, sent: Projection) -> Request:
    dropping: JsonObject = {"thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}}
    noted = "drop_block_needed" in sent.notes
    return Request(model=profile.id, messages=sent.messages, params=dropping if noted else {})


def kinds(faults: tuple[Fault, ...]) -> list[str]:
    return [fault.kind for fault in faults]


@pytest.mark.parametrize("model", [DROPS, REFUSES, LOOSE], ids=lambda model: model.id)
@pytest.mark.parametrize("window", [16_000, 60_000, 200_000])
@pytest.mark.parametrize("script", ["good", "absent"])
def test_no_edit_leaves_thinking_that_the_provider_would_refuse(
    model: ModelProfile, window: int, script: Behaviour
) -> None:
    settings = Settings(clear_growth=window // 5, fold_growth=window // 3)
    engine = Engine(with_window(model, window), settings)

    sent = played(engine, session().transcript, ScriptedPorts([script]))

    assert [[]] * len(sent) == [kinds(faults) for _, faults in sent]
    assert any(edit for one, _ in sent for edit in one.edits)


@pytest.mark.parametrize("model", [DROPS, REFUSES], ids=lambda model: model.id)
def test_the_last_resort_keeps_to_the_rules_on_thinking_too(model: ModelProfile) -> None:
    talk = session(turns=2)
    talk.called({"a": 1}, {"b": 2}, thought="both").answered(output(1, 30_000), output(2, 30_000))
    talk.said("hm").typed("paste " * 4_000).called(thought="so").answered("ok").said("ok")
    engine = Engine(with_window(model, 12_000), Settings(entry_limit=None), ladder=Ladder(folds=(Extractive(),)))

    try:
        sent = played(engine, talk.transcript, ScriptedPorts(["absent"]))
    except Infeasible:
        pytest.fail("it can be made to fit")

    assert [[]] * len(sent) == [kinds(faults) for _, faults in sent]


def test_all_thinking_of_closed_turns_leaves_together() -> None:
    talk = session(turns=4, last=2)
    engine = Engine(with_window(DROPS, 200_000), Settings(clear_growth=8_000, fold_growth=None, batch_floor=1_000))

    sent = [one for one, _ in played(engine, talk.transcript, ScriptedPorts())]
    batch = next(one for one in sent if any(isinstance(edit, ClearThinking) for edit in one.edits))
    loop = max(place for place, message in enumerate(batch.messages) if message.is_typed)

    assert not any(thinks(message) for message in batch.messages[:loop])


def test_the_running_loops_thinking_stays_whole() -> None:
    talk = session(turns=1, last=40)
    engine = Engine(with_window(DROPS, 60_000), Settings(clear_growth=8_000, fold_growth=None, batch_floor=1_000))

    for one, _ in played(engine, talk.transcript, ScriptedPorts()):
        shown = {message.id: message for message in one.messages}
        for message in talk.messages:
            if message.id in shown and not thinks(shown[message.id]) and thinks(message):
                loop = max(place for place, other in enumerate(one.messages) if other.is_typed)
                assert next(p for p, m in enumerate(one.messages) if m.id == message.id) < loop


def test_an_attempt_that_changed_nothing_asks_for_no_dropped_blocks() -> None:
    talk = Talk().typed("go on").rounds(30, 400, thought="hm")
    engine = Engine(with_window(DROPS, 200_000), Settings(clear_growth=1_000, fold_growth=None))

    sent = drive(engine.project(talk.transcript, None), ScriptedPorts())

    assert not sent.changed
    assert sent.notes == ("no_progress",)


def test_a_reverted_edit_does_not_bring_thinking_back_nor_leave_any_that_is_unbound() -> None:
    talk = session(turns=3, last=0)
    engine, ports = (
        Engine(with_window(DROPS, 200_000), Settings(clear_growth=8_000, batch_floor=1_000)),
        ScriptedPorts(),
    )
    first = drive(engine.project(talk.transcript, None), ports)
    before = request_of(DROPS, first)
    talk.said("well", thought="later").typed("and now")

    edit = next(edit for edit in first.edits if not isinstance(edit, ClearThinking))
    after = drive(engine.revert(talk.transcript, edit.id, None), ports)

    assert [] == kinds(check_following(before, request_of(DROPS, after), DROPS))
    assert not any(thinks(message) for message in after.messages)


def test_thinking_that_was_cleared_cannot_be_asked_back_and_the_error_says_why() -> None:
    talk = session(turns=3, last=0)
    engine, ports = (
        Engine(with_window(DROPS, 200_000), Settings(clear_growth=8_000, batch_floor=1_000)),
        ScriptedPorts(),
    )
    first = drive(engine.project(talk.transcript, None), ports)
    edit = next(edit for edit in first.edits if isinstance(edit, ClearThinking))

    with pytest.raises(RevertRefused, match="signature is bound"):
        drive(engine.revert(talk.transcript, edit.id, None), ports)


def test_other_tools_take_the_thinking_of_closed_turns_with_them() -> None:
    talk = session(turns=3, last=0)
    engine = Engine(with_window(DROPS, 200_000))

    changed = drive(engine.prefix_changed(talk.transcript, engine.profile, 5_000, None), ScriptedPorts())

    assert not any(thinks(message) for message in changed.messages)
    assert {"PrefixChange", "ClearThinking"} == {type(edit).__name__ for edit in changed.edits}


def thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking) for block in message.content)
