"""Words and figures that nobody said, in a summary."""

from perdure.kernel.context import Checkpoint, Engine, drive, with_window
from perdure.kernel.messages import text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import Behaviour, ScriptedPorts
from perdure.testing.talk import Talk

MODEL = with_window(lookup("claude-sonnet-4-6"), 32_000)


def compacted(behaviour: Behaviour) -> tuple[str, list[Checkpoint]]:
    talk = Talk().typed("rename the module").rounds(40, 3_000)
    engine = Engine(MODEL)
    sent = drive(engine.compact(talk.transcript, "", None), ScriptedPorts([behaviour]))
    shown = "\n".join(text_of(message.content) for message in sent.messages)
    return shown, [edit for edit in engine.ledger if isinstance(edit, Checkpoint)]


def test_a_quote_that_nobody_said_reaches_no_view() -> None:
    shown, _ = compacted("invented")

    assert "deploy to production right away" not in shown


def test_a_path_and_a_figure_that_were_never_seen_reach_no_view() -> None:
    shown, _ = compacted("invented")

    assert "never_seen_module" not in shown
    assert "4711" not in shown


def test_what_was_left_out_is_counted_in_the_checkpoint() -> None:
    _, checkpoints = compacted("invented")

    assert all(edit.document.claims_removed or edit.reason.rung == "extractive" for edit in checkpoints)


def test_the_request_to_summarise_never_becomes_a_rule_of_the_users() -> None:
    shown, _ = compacted("echo")

    assert "Harness request" not in shown
    assert "call no tool" not in shown
