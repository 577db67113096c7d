"""Rules, parts and plans that are gone after the first or the second checkpoint."""

from functools import cache

import pytest

from perdure.kernel.context import Checkpoint, Engine, Projection, Restore, Settings, drive, with_window
from perdure.kernel.messages import Json, Message, Text, Transcript, text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.sessions import GeneratedSession, Scenario, generate
from perdure.testing.talk import LINE, Talk, play

MODEL = lookup("claude-sonnet-4-6")
RULE = "Never touch anything under legacy/, it is frozen until March."


def view_text(sent: Projection) -> str:
    return "\n".join(text_of(message.content) for message in sent.messages)


def checkpoints(engine: Engine) -> list[Checkpoint]:
    return [edit for edit in engine.ledger if isinstance(edit, Checkpoint)]


@cache
def last_view(seed: int, window: int) -> tuple[GeneratedSession, Engine, str]:
    """What is sent at the end of 200 turns, without a model that could summarise."""
    session = generate(seed, Scenario(requests=440, turns=200, tokens=400_000, chinese=0.3, images=0))
    engine = Engine(with_window(MODEL, window), Settings(clear_growth=None, fold_growth=None, entry_limit=2_000))
    uncounted = Transcript(message.counted(None) for message in session.transcript)
    *_, last = play(engine, uncounted, ScriptedPorts(["absent"]))
    return session, engine, view_text(last)


@pytest.mark.parametrize(("seed", "window", "least"), [(11, 88_000, 5), (12, 48_000, 20)])
def test_every_rule_in_force_is_word_for_word_in_the_last_view_of_200_turns(window: int, least: int, seed: int) -> None:
    session, engine, shown = last_view(seed, window)

    assert least <= len(checkpoints(engine))
    assert [] == [rule.text for rule in session.rules if rule.in_force and rule.text not in shown]


def test_a_corrected_value_is_marked_as_superseded_in_the_last_view() -> None:
    session, _, shown = last_view(12, 48_000)

    assert any(rule.kind == "correction" for rule in session.rules)
    assert "uperseded by" in shown


def test_a_rule_survives_twenty_checkpoints_by_a_model_that_never_mentions_it() -> None:
    talk = Talk().typed(f"Speed up the import. {RULE}")
    engine, ports = Engine(with_window(MODEL, 32_000)), ScriptedPorts()

    for number in range(20):
        talk.rounds(10, 3_000).said("done").typed(f"next, part {number}")
        drive(engine.compact(talk.transcript, "", None), ports)
    last = engine.usage(talk.transcript)

    assert 20 == len(checkpoints(engine))
    assert {"full_summary"} == {edit.reason.rung for edit in checkpoints(engine)}
    assert RULE in view_text(last)


def test_pins_come_first_in_every_checkpoint() -> None:
    engine, ports = Engine(with_window(MODEL, 32_000)), ScriptedPorts(["good", "absent"])
    engine.pins = ("All amounts are integer cents.",)
    talk = Talk().typed(f"Speed up the import. {RULE}")

    for number in range(4):
        talk.rounds(10, 3_000).said("done").typed(f"next, part {number}")
        drive(engine.compact(talk.transcript, "", None), ports)

    for edit in checkpoints(engine):
        said = edit.content.split("## What the user said\n")[1]
        assert said.startswith("- pinned: All amounts are integer cents.\n")


def test_parts_skills_and_plans_are_told_again_behind_every_checkpoint_and_stay() -> None:
    engine, ports = Engine(with_window(MODEL, 32_000)), ScriptedPorts()
    ports.after = (
        Message(id="part", role="user", content=(Text(text="AGENTS.md: run make lint"),), provenance="harness"),
        Message(id="skill", role="user", content=(Text(text="skill: how to release"),), provenance="harness"),
    )
    talk = Talk().typed("go on").rounds(30, 3_000)

    drive(engine.compact(talk.transcript, "", None), ports)
    talk.said("well").typed("more")
    later = drive(engine.project(talk.transcript, None), ports)

    assert ["part", "skill"] == [message.id for message in later.messages[1:3]]


def test_the_host_is_asked_after_every_checkpoint_with_the_room_that_is_left() -> None:
    engine, ports = Engine(with_window(MODEL, 32_000), Settings(fold_growth=None)), ScriptedPorts(["absent"])
    talk = Talk().typed("go on")
    for number in range(6):
        talk.rounds(10, 4_000).said("well").typed(f"more {number}")

    list(play(engine, talk.transcript, ports))

    assert len(checkpoints(engine)) == len(ports.restores)
    assert all(isinstance(ask, Restore) and 0 < ask.room < 16_000 for ask in ports.restores)
    assert all(ask.tail for ask in ports.restores)


def test_what_does_not_fit_into_that_room_is_not_taken() -> None:
    engine, ports = Engine(with_window(MODEL, 32_000)), ScriptedPorts()
    small = Message(id="small", role="user", content=(Text(text="run make lint"),), provenance="harness")
    huge = Message(id="huge", role="user", content=(Text(text=LINE * 3_000),), provenance="harness")
    ports.after = (small, huge)
    talk = Talk().typed("go on").rounds(30, 3_000)

    sent = drive(engine.compact(talk.transcript, "", None), ports)

    assert ["small"] == [message.id for message in checkpoints(engine)[-1].after]
    assert sent.usage.upper <= 16_000


def test_open_todos_survive_the_second_checkpoint() -> None:
    todo: list[Json] = [
        {"content": "port the parser", "status": "pending"},
        {"content": "drop py2", "status": "completed"},
    ]
    talk = Talk().typed("go on").called({"todos": todo}, tool="TodoWrite").answered("ok")
    engine, ports = Engine(with_window(MODEL, 32_000)), ScriptedPorts()

    for number in range(3):
        talk.rounds(20, 3_000).said("well").typed(f"more {number}")
        drive(engine.compact(talk.transcript, "", None), ports)
    content = checkpoints(engine)[-1].content

    assert 3 == len(checkpoints(engine))
    assert "port the parser" in content.split("## Open todos and plan\n")[1]
    assert "drop py2" not in content


def test_user_text_is_never_trimmed_or_cleared_while_anything_else_can_go() -> None:
    talk = Talk()
    for number in range(12):
        talk.typed(f"{number}: {LINE * 70}").rounds(6, 9_000).said("ok")
    engine = Engine(with_window(MODEL, 200_000), Settings(fold_growth=None))

    *_, sent = play(engine, Transcript(talk.messages), ScriptedPorts(["absent"]))
    shown = {message.id: message for message in sent.messages}

    assert not checkpoints(engine)
    assert [m for m in talk.messages if m.is_typed] == [shown[m.id] for m in talk.messages if m.is_typed]
