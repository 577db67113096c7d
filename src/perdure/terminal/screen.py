"""The screen: an input and a footer at the bottom, and the conversation above, in the terminal's own history.

It knows keys, and what is printed when. It must never decide about a session. What is finished is printed once, above;
only the part of an answer that is still coming, the queue, the input and the footer are drawn anew.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput

from perdure.guard.plain import clip, one_line
from perdure.kernel.errors import PerdureError, UserError
from perdure.session import SessionEvent
from perdure.session.status import status_of
from perdure.terminal import blocks, slash
from perdure.terminal.blocks import Look
from perdure.terminal.clipboard import by_program, sequence
from perdure.terminal.complete import Words
from perdure.terminal.dialog import Dialog
from perdure.terminal.feed import Feed
from perdure.terminal.footer import Fragments, footer
from perdure.terminal.pictures import Drawing, drawing_of
from perdure.terminal.plain import clean
from perdure.terminal.port import Desk, Leave
from perdure.terminal.style import style_of

LIVE = 12
"""Lines of the unfinished part of an answer."""
INPUT = 12
"""Lines of the input before it scrolls."""
MENU = 8
"""Lines of the menu of completions."""
FRAME = 0.05
"""Seconds between two pictures of what streams; a key is drawn at once."""
PORTION = 16_000
"""Characters that are printed between two looks at the keys."""
TICK = 0.5
"""Seconds between two looks at the clock: the cache grows cold while nothing happens."""


class Screen:
    """One session on the screen."""

    def __init__(
        self,
        dialog: Dialog,
        environment: Mapping[str, str],
        clock: Callable[[], float],
        *,
        theme: str = "auto",
        thinking: bool = False,
    ) -> None:
        """A screen, to be opened with `show`. It is there before the session, since it answers questions."""
        self._dialog, self._clock, self._environment = dialog, clock, environment
        self._theme = theme
        self._pictures: Drawing = drawing_of(environment)
        self._feed = Feed(self._put, self._look, thinking=thinking)
        self._pending: list[str] = []
        self._flushing = False
        self._drawing = False
        self._left: Leave | None = None
        self._resting: asyncio.Task[None] | None = None
        self._loading: asyncio.Future[None] | None = None

    async def show(self, desk: Desk, first: str | None = None) -> Leave:
        """Open the screen until the user leaves. `first` is said at once."""
        self._desk, self._left = desk, None
        self._room = slash.Room(desk=desk, feed=self._feed, clock=self._clock)
        self._input = self._made_input(desk)
        self._app = self._made_app()
        self._dialog.open(self._app.invalidate, self._put)
        async with asyncio.TaskGroup() as group:
            self._group = group
            beat = group.create_task(self._beat())
            if first is not None:
                self._begin(first)
            try:
                await self._app.run_async()
            finally:
                beat.cancel()
                if self._resting is not None:
                    self._resting.cancel()
                desk.session.interrupt()
                self._dialog.answer("n")
        await self._flush()
        return self._left or Leave()

    def _made_input(self, desk: Desk) -> Buffer:
        path = desk.folders.kept / "history"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            history = FileHistory(str(path))
        except OSError:
            history = InMemoryHistory()
        # Names are looked for in a thread: no key waits for a folder.
        words = ThreadedCompleter(Words(desk.folders.root, lambda: slash.names(desk.folders.commands), self._clock))
        return Buffer(
            multiline=True, history=history, completer=words, complete_while_typing=True, accept_handler=self._accept
        )

    def _made_app(self) -> Application[None]:
        live = Window(
            FormattedTextControl(lambda: [*self._live()]),
            dont_extend_height=True,
            height=Dimension(max=LIVE),
            wrap_lines=True,
        )
        typed = Window(
            BufferControl(self._input, input_processors=[BeforeInput("> ", style="class:prompt")]),
            dont_extend_height=True,
            height=Dimension(min=1, max=INPUT),
            wrap_lines=True,
        )
        # Below the last line of a terminal there is no room for a menu: it is made while there is one.
        menu = Window(height=self._menu_height)
        below = Window(FormattedTextControl(lambda: [*self._footer()]), height=1, style="class:footer")
        body = FloatContainer(
            HSplit([ConditionalContainer(live, Condition(self._is_live)), typed, menu, below]),
            floats=[Float(xcursor=True, ycursor=True, content=CompletionsMenu(max_height=MENU, scroll_offset=1))],
        )
        return Application(
            layout=Layout(body, focused_element=typed),
            key_bindings=self._keys(),
            style=style_of(self._theme, plain=self._plain),
            erase_when_done=True,
            mouse_support=False,
        )

    def _menu_height(self) -> Dimension:
        state = self._input.complete_state
        return Dimension.exact(min(MENU, len(state.completions)) if state is not None else 0)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        asked = Condition(lambda: self._dialog.asking)

        @keys.add("enter", filter=~asked)
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.text.endswith("\\"):
                buffer.delete_before_cursor(1)
                buffer.insert_text("\n")
                return
            buffer.validate_and_handle()

        @keys.add("enter", filter=asked)
        def _answer(event: KeyPressEvent) -> None:
            text = self._input.text
            self._input.reset()
            if text.startswith("/"):
                # A command is no answer: the question stays.
                self._begin(text.strip())
            else:
                self._dialog.answer(text)

        @keys.add("escape", "enter")
        def _line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("escape", eager=False)
        @keys.add("c-c")
        def _stop(event: KeyPressEvent) -> None:
            if self._dialog.asking:
                self._dialog.answer("n")
            elif self._desk.session.is_running:
                self._desk.session.interrupt()
            else:
                self._input.reset()

        @keys.add("c-d")
        def _leave(event: KeyPressEvent) -> None:
            if not self._input.text:
                self._go(Leave())

        @keys.add("up", filter=Condition(lambda: not self._input.text and bool(self._desk.session.queued)))
        def _unqueue(event: KeyPressEvent) -> None:
            self._input.text = self._desk.session.unqueue() or ""
            self._input.cursor_position = len(self._input.text)

        return keys

    def _accept(self, buffer: Buffer) -> bool:
        typed = buffer.text.strip()
        if typed:
            self._begin(typed)
        return False

    def _begin(self, typed: str) -> None:
        """Do what was typed."""
        if typed.startswith("/"):
            self._group.create_task(self._command(typed))
        elif self._desk.session.is_running:
            self._desk.session.queue(typed)
        else:
            if self._resting is not None:
                self._resting.cancel()
            self._group.create_task(self._work(typed))

    async def _work(self, text: str) -> None:
        if not self._plain:
            self._loading = self._loading or asyncio.get_running_loop().run_in_executor(None, blocks.load)
        try:
            end = await self._desk.session.run(text, self._heard)
            if end.state != "done":
                why = str(end.error or (end.failure.message if end.failure is not None else ""))
                self._put(self._look().paint(f"  ended as {end.state}{f': {one_line(why)}' if why else ''}", "33"))
        # Whatever fails, the conversation is there and the program goes on.
        except Exception as error:  # noqa: BLE001
            self._fail(error, "say it again, or /quit and perdure resume")
        finally:
            self._feed.stop()
            self._app.invalidate()
        self._resting = self._group.create_task(self._rest())

    async def _rest(self) -> None:
        try:
            await self._desk.rest()
        # The cache is kept or it is not; the session does not end for it.
        except Exception as error:  # noqa: BLE001
            self._fail(error, "the provider's cache is not kept warm")

    def _fail(self, error: Exception, step: str) -> None:
        """Show what failed, with what to do next; our own errors say that themselves."""
        told = str(error) if isinstance(error, PerdureError) else f"{type(error).__name__}: {error}; {step}"
        self._put(self._look().paint(f"  {one_line(told)}", "31"))

    def _heard(self, event: SessionEvent) -> None:
        self._feed.hear(event)
        if not self._drawing:
            self._drawing = True
            asyncio.get_running_loop().call_later(FRAME, self._draw)

    def _draw(self) -> None:
        self._drawing = False
        self._app.invalidate()

    async def _command(self, typed: str) -> None:
        self._put(blocks.said(typed, self._look()))
        try:
            await self._do(await slash.carry_out(self._room, typed))
        except TimeoutError:
            self._put(
                self._look().paint("  it took too long and was given up; nothing has changed. Try it again", "31")
            )
        # A command that fails is no reason to lose the screen.
        except Exception as error:  # noqa: BLE001
            self._fail(error, "nothing else has changed; /help lists the commands")
        self._app.invalidate()

    async def _do(self, outcome: slash.Outcome) -> None:
        match outcome:
            case slash.Told(lines=lines):
                self._put("\n".join(clean(line) for line in lines))
            case slash.Say(text=text):
                self._begin(text)
            case slash.Edit(path=path):
                await self._edit(path)
            case slash.Copy(text=text, what=what):
                await self._copy(text, what)
            case slash.Paint(theme=theme):
                self._theme = theme
                self._app.style = style_of(theme, plain=self._plain)
                self._put(f"  theme: {theme}")
            case Leave():
                self._go(outcome)

    async def _copy(self, text: str, what: str) -> None:
        """Into the clipboard: by the machine's program, and by the terminal, which may be far from that."""
        program = await by_program(text, self._environment)
        by_terminal = sequence(text, self._environment)
        if by_terminal:
            await run_in_terminal(lambda: _write(by_terminal))
        ways = " and ".join(filter(None, (program, "the terminal (OSC 52)" if by_terminal else "")))
        if not ways:
            raise UserError(f"{what} is too long for the terminal, and no program for the clipboard was found; /export")
        self._put(f"  {what}, {len(text):,} characters, handed to {ways}")

    async def _edit(self, path: Path) -> None:
        """Open a file in the user's editor, with the screen out of the way."""
        command = self._environment.get("VISUAL") or self._environment.get("EDITOR") or "vi"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

        try:
            words = [*shlex.split(command), str(path)]
            await run_in_terminal(lambda: subprocess.call(words), in_executor=True)
        except (OSError, ValueError) as error:
            self._put(f"  {command!r} cannot be started ({error}); set EDITOR")

    def _go(self, leave: Leave) -> None:
        self._left = leave
        if not self._app.is_done:
            self._app.exit()

    def _put(self, text: str) -> None:
        """Print above, once, soon: many pieces together, so that nothing flickers."""
        if not text:
            return
        self._pending.append(text)
        if not self._flushing and self._app.is_running:
            self._flushing = True
            self._group.create_task(self._flush_soon())

    async def _flush_soon(self) -> None:
        await asyncio.sleep(0.03)
        try:
            await self._flush()
        finally:
            self._flushing = False

    async def _flush(self) -> None:
        while self._pending:
            text, self._pending = "\n".join(self._pending), []
            for portion in portions(text):
                if self._app.is_running:
                    await run_in_terminal(partial(_write, f"{portion}\n"))
                else:
                    _write(f"{portion}\n")

    def _is_live(self) -> bool:
        session = self._desk.session
        return session.is_running or bool(self._feed.doing or session.queued) or self._dialog.asking

    def _live(self) -> Fragments:
        """What is not finished: the rest of an answer, what goes on, what waits, and a question."""
        rows: Fragments = []
        if live := self._feed.live:
            rows.append(("", "\n".join(live.split("\n")[2 - LIVE :]) + "\n"))
        if self._desk.session.is_running:
            rows.append(("class:busy", f"· {clip(one_line(self._feed.doing or 'working'), 60)}  (Esc interrupts)\n"))
        elif self._feed.doing:
            rows.append(("class:busy", f"· {self._feed.doing}\n"))
        for text in self._desk.session.queued:
            rows.append(("class:queued", f"  next: {clip(one_line(text), 80)}\n"))
        if self._dialog.asking:
            rows.append(("class:question", self._dialog.shown + "\n"))
        if rows:
            style, last = rows[-1]
            rows[-1] = (style, last.rstrip("\n"))
        return rows

    def _footer(self) -> Fragments:
        session = self._desk.session
        return footer(status_of(session, self._clock()), self._look().columns, self._desk.mode, len(session.queued))

    def _look(self) -> Look:
        return Look(
            columns=shutil.get_terminal_size().columns,
            colour=not self._plain,
            light=self._theme == "light",
            drawing=self._pictures,
        )

    @property
    def _plain(self) -> bool:
        return self._theme == "plain" or bool(self._environment.get("NO_COLOR"))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._app.invalidate()


def portions(text: str, most: int = PORTION) -> Iterator[str]:
    """A long text in parts of whole lines, each of at most so many characters unless one line is longer."""
    start = 0
    while len(text) - start > most:
        end = text.rfind("\n", start, start + most + 1)
        end = text.find("\n", start) if end < 0 else end
        if end < 0:
            break
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
