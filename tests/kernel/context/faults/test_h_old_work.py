"""Finished or cancelled work that is read as open after a checkpoint."""

from perdure.kernel.context import Checkpoint, Engine, drive, with_window
from perdure.kernel.messages import text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk

MODEL = with_window(lookup("claude-sonnet-4-6"), 32_000)


def folded(talk: Talk, rounds: int = 1) -> str:
    """What stands in the view's summary after so many extractive checkpoints."""
    engine, ports = Engine(MODEL), ScriptedPorts(["absent"])
    for number in range(rounds):
        talk.rounds(20, 3_000).said("well").typed(f"go on with part {number}")
        drive(engine.compact(talk.transcript, "", None), ports)
    (*_, newest) = (edit for edit in engine.ledger if isinstance(edit, Checkpoint))
    return newest.content


def section(content: str, heading: str) -> str:
    return content.split(f"{heading}\n")[1].split("\n## ", maxsplit=1)[0] if f"{heading}\n" in content else ""


def test_the_newest_request_stands_last_in_the_view_and_not_in_the_summary_alone() -> None:
    engine, ports = Engine(MODEL), ScriptedPorts(["absent"])
    talk = Talk().typed("rename the module").rounds(20, 3_000).said("renamed").typed("now write the changelog")

    sent = drive(engine.compact(talk.transcript, "", None), ports)

    assert "now write the changelog" == text_of(sent.messages[-1].content)


def test_finished_todos_are_not_open_after_the_next_checkpoint() -> None:
    talk = Talk().typed("rename the module").rounds(1, 100)
    talk.called({"todos": [{"content": "rename it", "status": "in_progress"}]}, tool="TodoWrite").answered("ok")
    talk.called({"todos": [{"content": "rename it", "status": "completed"}]}, tool="TodoWrite").answered("ok")

    assert "rename it" not in section(folded(talk, rounds=2), "## Open todos and plan")


def test_a_cancelled_request_is_no_goal_and_no_next_step() -> None:
    talk = Talk().typed("migrate the ledger table to uuid keys").said("I would start with the foreign keys.")
    talk.typed("Forget the ledger table, we keep its keys. Tidy the docs instead.")

    content = folded(talk)

    assert "migrate the ledger" not in section(content, "## Goal")
    assert "migrate the ledger" not in section(content, "## Next steps")


def test_a_finished_turn_is_not_told_as_the_turn_that_goes_on() -> None:
    talk = Talk().typed("rename the module").rounds(3, 300).said("renamed, all tests pass")

    assert "rename the module" not in section(folded(talk, rounds=2), "## The turn that goes on below")


def test_a_split_turn_says_what_was_asked_and_what_was_done_so_far() -> None:
    talk = Talk().typed("rename the module to ledgerkit").rounds(60, 3_000)
    engine = Engine(MODEL)

    sent = drive(engine.compact(talk.transcript, "", None), ScriptedPorts(["absent"]))
    (*_, newest) = (edit for edit in engine.ledger if isinstance(edit, Checkpoint))

    assert sent.split_turn
    assert "- Asked: rename the module to ledgerkit" in section(newest.content, "## The turn that goes on below")
