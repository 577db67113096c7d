"""Messages that are gone: cleared before they were written, or dropped between two compactions."""

import pytest

from perdure.kernel.context import (
    Answer,
    Append,
    Attempt,
    Edit,
    Engine,
    Ledger,
    Need,
    Projection,
    Refused,
    Settings,
    drive,
    with_window,
)
from perdure.kernel.errors import Infeasible
from perdure.kernel.messages import Message, Transcript
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, output, play

MODEL = lookup("claude-sonnet-4-6")
SMALL = with_window(MODEL, 32_000)


def assert_nothing_lost(transcript: Transcript, sent: Projection, ports: ScriptedPorts) -> None:
    """Each block is in the view as it was, or in the archive as it was."""
    shown = {block for message in sent.messages for block in map(repr, message.content)}
    kept = {repr(block) for one in ports.archive.values() for block in one.content}
    kept |= {repr(block) for one in ports.archive.values() for message in one.messages for block in message.content}

    assert [] == [message.id for message in transcript if any(repr(b) not in shown | kept for b in message.content)]


@pytest.mark.parametrize("refuses", ["archive", "log"])
def test_where_nothing_can_be_written_the_view_stays_and_a_later_call_succeeds(refuses: str) -> None:
    talk = Talk().typed("go on").rounds(30, 3_000)
    engine = Engine(with_window(MODEL, 200_000), Settings(clear_growth=5_000, fold_growth=10_000))
    ports = ScriptedPorts(refuses=refuses)

    refused = drive(engine.project(talk.transcript, None), ports)
    ports.refuses = ""
    later = drive(engine.project(talk.transcript, None), ports)

    assert talk.messages == list(refused.messages)
    assert f"{refuses}_refused" in refused.notes
    assert (False, True) == (refused.changed, later.changed)
    assert all(isinstance(edit, Attempt) for edit in refused.edits)
    assert_nothing_lost(talk.transcript, later, ports)


@pytest.mark.parametrize("refuses", ["archive", "log"])
def test_where_nothing_can_be_kept_the_error_says_so_and_blames_no_window(refuses: str) -> None:
    talk = Talk().typed("go on").rounds(60, 3_000)
    engine, ports = Engine(SMALL), ScriptedPorts(refuses=refuses)

    with pytest.raises(Infeasible, match=f"could not be kept first: the {refuses} is full"):
        drive(engine.project(talk.transcript, None), ports)

    assert all(isinstance(edit, Attempt) for edit in engine.ledger)


class Patchy(ScriptedPorts):
    """A log that refuses every attempt and takes everything else."""

    def __init__(self) -> None:
        super().__init__(["failed"])
        self.durable: list[Edit] = []

    def perform(self, need: Need) -> Answer:
        if isinstance(need, Append):
            if any(isinstance(edit, Attempt) for edit in need.edits):
                return Refused(reason="busy")
            self.durable += need.edits
        return super().perform(need)


def test_a_session_whose_log_lacks_some_attempts_can_be_resumed_and_goes_on() -> None:
    talk = Talk().typed("go on").rounds(60, 3_000)
    ports = Patchy()
    list(play(Engine(SMALL, Settings(keep_results=1_000)), talk.transcript, ports))

    resumed = Engine(SMALL, Settings(keep_results=1_000), ledger=Ledger(ports.durable))
    for _ in range(6):
        drive(resumed.project(talk.rounds(8, 3_000).transcript, None), ports)

    assert len({edit.id for edit in ports.durable}) == len(ports.durable)
    assert Ledger(ports.durable).in_force.checkpoint is not None


def test_nothing_is_lost_where_it_turns_out_in_midway_that_nothing_fits() -> None:
    talk = Talk().typed("go on").rounds(30, 3_000)
    engine, ports = Engine(SMALL, overhead=29_950), ScriptedPorts(["absent"])

    with pytest.raises(Infeasible):
        drive(engine.project(talk.transcript, None), ports)
    roomy = Engine(SMALL, ledger=engine.ledger)
    sent = drive(roomy.project(talk.transcript, None), ports)

    assert_nothing_lost(talk.transcript, sent, ports)


def test_a_call_that_is_broken_off_between_archive_and_log_leaves_the_engine_as_it_was() -> None:
    talk = Talk().typed("go on").called().answered(output(1, 60_000))
    engine, ports = Engine(SMALL), ScriptedPorts()

    broken = engine.project(talk.transcript, None)
    need = next(broken)
    broken.close()

    assert "Archive" == type(need).__name__
    assert 0 == len(engine.ledger)
    assert talk.messages == list(engine.usage(talk.transcript).messages)
    assert drive(engine.project(talk.transcript, None), ports).changed


def test_messages_that_the_user_queued_are_all_in_the_view() -> None:
    talk = Talk().typed("go on").rounds(30, 3_000).typed("also this").typed("and that").typed("and mind the tests")
    engine = Engine(SMALL)

    sent = drive(engine.compact(talk.transcript, "", None), ScriptedPorts())

    assert talk.messages[-3:] == list(sent.messages[-3:])


def test_the_second_compaction_drops_nothing_that_the_first_one_kept() -> None:
    talk = Talk().typed("go on")
    engine, ports = Engine(SMALL, Settings(keep_results=1_000)), ScriptedPorts()

    for number in range(5):
        talk.rounds(14, 3_000).said("well").typed(f"more {number}")
        sent = drive(engine.compact(talk.transcript, "", None), ports)

        assert_nothing_lost(talk.transcript, sent, ports)


def test_every_message_of_a_long_session_is_visible_or_recallable_at_each_call() -> None:
    talk = Talk()
    for number in range(8):
        talk.typed(f"{number}: {LINE * 30}").rounds(6, 5_000, thought="hm").said(LINE * 90)
    engine, ports = Engine(SMALL, Settings(clear_inputs=True)), ScriptedPorts(["absent"])

    for sent in play(engine, talk.transcript, ports):
        last = talk.transcript.index_of(sent.messages[-1].id) or 0
        assert_nothing_lost(Transcript(talk.messages[: last + 1]), sent, ports)


def test_what_leaves_is_in_the_loss_report_with_size_and_handle() -> None:
    talk = Talk().typed("go on").rounds(60, 3_000)
    engine, ports = Engine(SMALL), ScriptedPorts()

    sent = list(play(engine, talk.transcript, ports))
    reported = {lost.handle for one in sent for lost in one.lost}

    assert set(ports.archive) == reported
    assert all(lost.tokens > 0 and lost.what and lost.message_id for one in sent for lost in one.lost)


def test_a_transcript_of_one_message_is_never_emptied() -> None:
    only = Message(id="m0", role="user", content=Talk().typed("hi").messages[0].content, provenance="user")

    for entry in (
        Engine(SMALL).project(Transcript([only]), None),
        Engine(SMALL).compact(Transcript([only]), "", None),
        Engine(SMALL).recover_overflow(Transcript([only]), "prompt is too long", None),
    ):
        assert (only,) == drive(entry, ScriptedPorts()).messages
