"""The screen as a person uses it: keys in, and what is printed above; in front of a strict double."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from perdure.cli.agent.opening import Opens, opened
from perdure.cli.agent.place import place_at
from perdure.cli.agent.shown import Sitting
from perdure.session import Session
from perdure.session.spec import wall_clock
from perdure.terminal import Leave
from perdure.terminal.dialog import Dialog
from perdure.terminal.screen import Screen
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import Call, Say, Script, Turn, replies

ANSWER = Turn(parts=(Say(text="It reads **the file**."),))
READS = Turn(parts=(Say(text="Let me look."), Call(name="read", arguments={"path": "notes.txt"})))
WRITES = Turn(parts=(Call(name="write", arguments={"path": "new.txt", "content": "hello\n"}),))
PATIENCE = 20.0


class Tape(io.StringIO):
    """What is printed, and whoever waits for a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[str, asyncio.Event]] = []
        self.seen = 0

    def write(self, text: str, /) -> int:
        written = super().write(text)
        self._look()
        return written

    async def shows(self, text: str) -> None:
        """Wait until a text was printed behind what was waited for before."""
        event = asyncio.Event()
        self.waiting.append((text, event))
        self._look()
        await asyncio.wait_for(event.wait(), PATIENCE)

    def _look(self) -> None:
        for text, event in self.waiting:
            place = self.getvalue().find(text, self.seen)
            if place >= 0 and not event.is_set():
                self.seen = place + len(text)
                event.set()


Play = Callable[[PipeInput, Tape, Session], Awaitable[None]]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("steel: 12\n")
    return tmp_path


def played(work: Path, monkeypatch: pytest.MonkeyPatch, script: Script, play: Play) -> tuple[str, Leave]:
    """What was printed, and how the screen was left."""
    tape = Tape()
    monkeypatch.setattr("sys.stdout", tape)
    double = AnthropicDouble(script)

    async def go(url: str) -> Leave:
        environment = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": url,
            "PERDURE_HOME": str(work / "home"),
            "HOME": str(work),
            "NO_COLOR": "1",
            "PATH": "/usr/bin:/bin",
        }
        dialog = Dialog()
        screen = Screen(dialog, environment, wall_clock)
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            async with opened(place_at(work / "work", environment), Opens(person=Sitting(dialog))) as desk:
                async with asyncio.TaskGroup() as group:
                    shown = group.create_task(screen.show(desk))
                    await play(keys, tape, desk.session)
                return shown.result()

    with serve(double) as url:
        leave = asyncio.run(go(url))
    return tape.getvalue(), leave


def test_a_question_is_answered_and_the_context_is_explained(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("What does it do?\r")
        await tape.shows("It reads **the file**.")
        keys.send_text("/context\r")
        await tape.shows("kept free for the answer")
        keys.send_text("/nope\r")
        await tape.shows("/help lists them")
        keys.send_text("\x04")

    shown, leave = played(work, monkeypatch, replies([READS, ANSWER]), play)

    assert leave == Leave()
    order = ["> What does it do?", "Let me look.", "● read notes.txt", "steel: 12", "It reads **the file**."]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    assert shown.split("> /context")[0].count("It reads **the file**.") == 1


def test_a_no_reaches_the_model_with_its_words_and_nothing_is_written(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("Write it.\r")
        await tape.shows("wants to:")
        keys.send_text("use another name\r")
        await tape.shows("The user says: use another name")
        await tape.shows("It reads")
        keys.send_text("\x04")

    played(work, monkeypatch, replies([WRITES, ANSWER]), play)

    assert not (work / "work" / "new.txt").exists()


def test_a_yes_permits_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("Write it.\r")
        await tape.shows("wants to:")
        keys.send_text("y\r")
        await tape.shows("It reads")
        keys.send_text("\x04")

    played(work, monkeypatch, replies([WRITES, ANSWER]), play)

    assert (work / "work" / "new.txt").read_text() == "hello\n"


def test_what_is_typed_while_it_works_waits_and_is_answered(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("Write it.\r")
        await tape.shows("wants to:")
        session.queue("And then?")
        keys.send_text("y\r")
        await tape.shows("> And then?")
        await tape.shows("Done.")
        keys.send_text("\x04")

    done = Turn(parts=(Say(text="Done."),))
    shown, _ = played(work, monkeypatch, replies([WRITES, ANSWER, done]), play)

    assert shown.index("It reads **the file**.") < shown.index("> And then?") < shown.index("Done.")


def test_a_key_interrupts_and_the_session_goes_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("/mode full\r")
        await tape.shows("mode: full")
        keys.send_text("Wait.\r")
        await tape.shows("● bash")
        keys.send_text("\x03")
        await tape.shows("ended as interrupted")
        keys.send_text("Go on.\r")
        await tape.shows("It reads")
        keys.send_text("\x04")

    waits = Turn(parts=(Call(name="bash", arguments={"command": "sleep 60"}),))
    shown, _ = played(work, monkeypatch, replies([waits, ANSWER]), play)

    assert "interrupted it" in shown


def test_clearing_asks_for_a_new_session(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("/clear\r")

    _, leave = played(work, monkeypatch, replies([]), play)

    assert leave == Leave(to="new")


def test_a_line_that_ends_with_a_backslash_goes_on(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(keys: PipeInput, tape: Tape, session: Session) -> None:
        keys.send_text("One\\\rtwo\r")
        await tape.shows("It reads")
        keys.send_text("\x04")

    shown, _ = played(work, monkeypatch, replies([ANSWER]), play)

    assert "> One\n  two" in shown
