"""The classic ladder, as the baseline."""

from perdure.kernel.context import SessionMemory, drive, with_window
from perdure.kernel.context.classic import Classic
from perdure.kernel.messages import text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk

PROFILE = with_window(lookup("claude-sonnet-4-6"), 64_000)


def test_below_the_threshold_nothing_changes() -> None:
    talk = Talk().typed("go on").rounds(3, 9_000)

    assert talk.messages == list(drive(Classic(PROFILE).project(talk.transcript), ScriptedPorts()).messages)


def test_old_results_are_cleared_first_and_the_five_newest_stay() -> None:
    talk = Talk().typed("go on").rounds(30, 9_000)

    view = drive(Classic(PROFILE).project(talk.transcript), ScriptedPorts())
    cleared = sum(text_of(message.content).startswith("[Tool result cleared") for message in view.messages)

    assert (("tool_result_microcompact",), 25) == (view.steps, cleared)


def test_it_plans_anew_at_each_call_so_that_the_boundary_slides() -> None:
    ladder, talk = Classic(PROFILE), Talk().typed("go on").rounds(30, 9_000)
    first = drive(ladder.project(talk.transcript), ScriptedPorts()).messages

    second = drive(ladder.project(talk.rounds(1, 9_000).transcript), ScriptedPorts()).messages

    assert first != second[: len(first)]


def test_any_text_is_trimmed_also_the_users() -> None:
    talk = Talk()
    for _ in range(40):
        talk.typed("x" * 5_000).said("ok")

    view = drive(Classic(PROFILE).project(talk.transcript), ScriptedPorts())

    assert ("light_trim",) == view.steps
    assert "[3000 characters trimmed]" in text_of(view.messages[0].content)


def test_a_session_memory_seeds_the_view_for_this_call() -> None:
    talk = Talk()
    for _ in range(80):
        talk.typed("x" * 3_900).said("ok")
    memory = SessionMemory(text="We rename things.", covers_until=talk.messages[-1].id)

    view = drive(Classic(PROFILE).project(talk.transcript), ScriptedPorts(memory=memory))

    assert ("session_memory",) == view.steps
    assert "We rename things." in text_of(view.messages[0].content)


def test_a_full_summary_becomes_the_baseline_and_a_failed_one_fails_the_call() -> None:
    talk = Talk()
    for _ in range(80):
        talk.typed("x" * 3_900).said("ok")
    ladder, ports = Classic(PROFILE, session_memory=False), ScriptedPorts(["failed", "good"])

    failed = drive(ladder.project(talk.transcript), ports)
    folded = drive(ladder.project(talk.transcript), ports)
    after = drive(ladder.project(talk.transcript), ports)

    assert "the summarizer gave no summary" == failed.failed
    assert ("full_summary",) == folded.steps
    assert folded.messages == after.messages


def test_an_open_breaker_returns_the_untouched_view_once() -> None:
    talk = Talk()
    for _ in range(80):
        talk.typed("x" * 3_900).said("ok")
    ladder, ports = Classic(PROFILE, session_memory=False), ScriptedPorts(["failed"])

    views = [drive(ladder.project(talk.transcript), ports) for _ in range(5)]

    assert [False, False, False, True, False] == [view.skipped for view in views]
    assert talk.messages == list(views[3].messages)
