"""One session of an editor: held open by a task of its own, worked in by prompts, told of by updates.

It knows in which order things reach the editor. It must never know another session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from acp.exceptions import RequestError
from acp.helpers import update_agent_message_text, update_agent_thought_text, update_available_commands
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    ClientCapabilities,
    PromptResponse,
    ReadTextFileResponse,
    SessionInfoUpdate,
    StopReason,
    UnstructuredCommandInput,
    WriteTextFileResponse,
)
from pydantic import ValidationError

from perdure.acp import asks, buffers
from perdure.acp.calls import fenced
from perdure.acp.feed import Feed
from perdure.acp.history import told_again
from perdure.acp.outbox import Outbox, Update
from perdure.acp.port import Desk, House, Say, Wants
from perdure.acp.prompts import Given, typed_of
from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import AgentEnd, EndState
from perdure.kernel.errors import PerdureError
from perdure.kernel.messages import JsonObject
from perdure.session import SessionEvent
from perdure.session.spec import wall_clock
from perdure.tools.actions import Offered
from perdure.tools.permissions import Mode

LOG = logging.getLogger(__name__)
"""Goes to standard error."""

STOPS: dict[EndState, StopReason] = {
    "done": "end_turn",
    "interrupted": "cancelled",
    "turn_limit": "max_turn_requests",
    "cost_limit": "max_turn_requests",
    "stuck": "max_turn_requests",
    "token_limit": "max_tokens",
    "cut_off": "max_tokens",
    "refused": "refusal",
}
"""What the protocol calls the ends of a run. Those that are missing are errors."""

SAYS: dict[EndState, str] = {
    "turn_limit": "It stopped at the limit of model calls that is set.",
    "cost_limit": "It stopped at the limit of costs that is set.",
    "token_limit": "It stopped at the limit of tokens that is set.",
    "cut_off": "It stopped: its answers broke off at the output limit again and again.",
    "stuck": "It stopped: every call failed, several times in a row.",
}

BUFFER = 5.0
"""Seconds that an editor has to tell what it holds, or to save it."""
LEAVING = 10.0
"""Seconds for work to end, and then for the session to close."""
TITLE = 80
"""Characters of a session's title."""


class Client(asks.Client, Protocol):
    """The editor."""

    async def session_update(self, session_id: str, update: Update) -> None:
        """Tell it something."""
        ...

    async def read_text_file(self, session_id: str, path: str) -> ReadTextFileResponse:
        """What it holds for a file."""
        ...

    async def write_text_file(self, session_id: str, path: str, content: str) -> WriteTextFileResponse | None:
        """Have it save that."""
        ...


class Seat:
    """One session of an editor. Open it with `open`, and close it."""

    def __init__(self, client: Client, can: ClientCapabilities, cwd: Path, group: asyncio.TaskGroup) -> None:
        self._client, self._can, self._group = client, can, group
        self.cwd = cwd
        self.id = ""
        self._outbox = Outbox(self._send)
        self._feed = Feed(self._outbox.put, cwd, wall_clock)
        self._asks = asks.Asks(client, self._feed, self._outbox)
        self._desk: Desk | None = None
        self._leave = asyncio.Event()
        self._holding: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._work: asyncio.Task[object] | None = None
        self._resting: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._cancelled = self._cautioned = self._leaves = False

    @property
    def desk(self) -> Desk:
        """The open session."""
        if self._desk is None:
            raise RequestError(-32603, "the session is not open")
        return self._desk

    async def open(
        self, house: House, resume: str | None, roots: tuple[str, ...], servers: dict[str, JsonObject]
    ) -> None:
        """Open the session.

        Raises:
            PerdureError: it cannot be opened.
        """
        wants = Wants(
            cwd=self.cwd,
            resume=resume,
            roots=roots,
            servers=servers,
            person=self._asks,
            printed=self._feed.printed,
            around=self._around,
        )
        ready: asyncio.Future[Desk] = asyncio.get_running_loop().create_future()
        # What is opened is closed by the same task, which is what connections to MCP servers need.
        self._holding = self._group.create_task(self._hold(house, wants, ready))
        try:
            self._desk = await ready
        except asyncio.CancelledError:
            self._holding.cancel()
            raise
        self.id = self._asks.session = self._desk.session.id
        self._feed.begin(self._desk)
        self._sending = self._group.create_task(self._outbox.run())

    def greet(self) -> None:
        """Tell what can be typed, and what fills the context."""
        commands = [
            AvailableCommand(
                name=one.name,
                description=one.says,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=one.takes)) if one.takes else None,
            )
            for one in self.desk.commands()
        ]
        self._outbox.put(update_available_commands(commands))
        self._feed.tell_usage()

    async def tell_again(self) -> None:
        """Tell the whole conversation."""
        for update in told_again(self.desk.session.transcript, self.cwd):
            self._outbox.put(update)
        await self._outbox.flush()

    async def prompt(self, given: Sequence[Given], hint_of: Callable[[AgentEnd], str]) -> PromptResponse:
        """Do what the user says.

        Raises:
            RequestError: it is at work already, or the provider gave no answer.
            PerdureError: what the user gave cannot be taken.
        """
        if self._work is not None:
            raise RequestError(-32600, "the agent is at work; wait until it is done, or cancel it")
        text = typed_of(given, self.cwd, self._keep)
        first = not self.desk.session.transcript
        self._caution()
        self._cancelled = False
        self._feed.run_begins()
        self._work = asyncio.current_task()
        self._idle.clear()
        self._stop_resting()
        try:
            return await self._worked(text, hint_of)
        except asyncio.CancelledError:
            if not self._cancelled or self._work is None:
                raise
            # It was this prompt that was cancelled, and not the connection.
            self._work.uncancel()
            return PromptResponse(stop_reason="cancelled")
        finally:
            self._work = None
            self._idle.set()
            if not self._leaves:
                self._resting = self._group.create_task(self._rest())
            self._feed.run_ends()
            self._tell_title(text if first else "")
            self._feed.look()
            await self._outbox.flush()

    def turn(self, mode: Mode) -> None:
        """What is done without a question from here on."""
        self.desk.turn(mode)
        self._feed.look()

    async def use_model(self, wanted: str) -> None:
        """Let another model answer.

        Raises:
            PerdureError: it cannot be reached, or the agent works.
        """
        await self.desk.use_model(wanted)
        self._feed.look()
        self._feed.tell_usage()

    def fork(self) -> str:
        """Another session with the conversation so far: its id."""
        return self.desk.session.fork().name.removesuffix(".jsonl")

    def cancel(self) -> None:
        """End what goes on, soon."""
        if self._work is None:
            return
        self._cancelled = True
        if self.desk.session.is_running:
            self.desk.session.interrupt()
        else:
            self._work.cancel()

    async def close(self) -> None:
        """End what goes on, and close the session; what was said is durable already."""
        self._leaves = True
        self.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING):
                await self._idle.wait()
        self._stop_resting()
        self._leave.set()
        if self._holding is not None:
            await asyncio.wait((self._holding,), timeout=LEAVING)
            self._holding.cancel()
            with suppress(asyncio.CancelledError):
                await self._holding
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError):
                await self._sending

    async def _rest(self) -> None:
        try:
            await self.desk.rest()
        # The cache is kept or it is not; neither this session nor another one ends for it.
        except Exception as error:  # noqa: BLE001
            LOG.warning("the provider's cache was not kept: %s", error)

    def _stop_resting(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None

    async def _hold(self, house: House, wants: Wants, ready: asyncio.Future[Desk]) -> None:
        try:
            async with house.open(wants) as desk:
                ready.set_result(desk)
                await self._leave.wait()
        # Whoever waits for the session hears why there is none; other sessions go on whatever it was.
        except Exception as error:  # noqa: BLE001
            if ready.done():
                LOG.warning("the session was not closed in order: %s", error)
            else:
                ready.set_exception(error)

    async def _worked(self, text: str, hint_of: Callable[[AgentEnd], str]) -> PromptResponse:
        said = text
        if text.startswith("/") and self._is_command(text):
            outcome = await self._commanded(text)
            if not isinstance(outcome, Say):
                return PromptResponse(stop_reason="end_turn")
            said = outcome.text
        if self._cancelled:
            return PromptResponse(stop_reason="cancelled")
        end = await self.desk.session.run(said, self._hear)
        stop = STOPS.get(end.state)
        if stop is None:
            raise _failed(end, hint_of(end))
        if end.state in SAYS:
            self._outbox.put(update_agent_message_text(f"\n\n{SAYS[end.state]}"))
        return PromptResponse(stop_reason=stop, usage=self._feed.spent)

    def _is_command(self, text: str) -> bool:
        """A path begins with a slash as well, and is for the model to read."""
        words = text[1:].split(maxsplit=1)
        return bool(words) and words[0] in {command.name for command in self.desk.commands()}

    async def _commanded(self, text: str) -> Say | None:
        """Carry out a command and tell what it says; what it has said to the model is given back."""
        name, _, rest = text[1:].partition(" ")
        try:
            if name == "compact":
                projection = await self.desk.session.compact(rest.strip(), self._hear)
                folded = projection is not None and projection.changed
                self._outbox.put(update_agent_message_text("Folded." if folded else "Nothing could be folded."))
                return None
            outcome = await self.desk.carry_out(text)
        except (PerdureError, TimeoutError, OSError) as error:
            self._outbox.put(update_agent_message_text(f"{error}"))
            return None
        if isinstance(outcome, Say):
            return outcome
        # Columns stay columns only where nobody takes them for Markdown.
        told = fenced(outcome.text, "") if "\n" in outcome.text else outcome.text
        self._outbox.put(update_agent_message_text(told or "Done."))
        self._feed.tell_usage()
        return None

    def _hear(self, event: SessionEvent) -> None:
        self.desk.hear(event)
        self._feed.hear(event)

    def _caution(self) -> None:
        """What the user should know of settings and approvals, once, before the first answer."""
        told = () if self._cautioned else self.desk.cautions
        self._cautioned = True
        for caution in told:
            self._outbox.put(update_agent_thought_text(f"{one_line(caution)}\n"))

    def _tell_title(self, text: str) -> None:
        """What the session is called, once something was said or it was renamed."""
        if not self.desk.session.transcript:
            return
        title = self.desk.session.title or clip(one_line(text), TITLE)
        if title:
            now = datetime.fromtimestamp(wall_clock(), UTC).isoformat()
            self._outbox.put(SessionInfoUpdate(session_update="session_info_update", title=title, updated_at=now))

    def _keep(self, data: bytes, ending: str) -> Path:
        """Keep what was attached beside the session, for its owner alone."""
        folder = self.desk.session.folder / "attached"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{sum(1 for _ in folder.iterdir()) + 1}{ending}"
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(data)
        return path

    async def _send(self, update: Update) -> None:
        await self._client.session_update(self.id, update)

    def _around(self, offered: Offered) -> Offered:
        return buffers.around(offered, self)

    @property
    def reads(self) -> bool:
        """Whether the editor tells what its buffers hold. `perdure.acp.buffers.Editor`."""
        return self._can.fs is not None and bool(self._can.fs.read_text_file)

    async def held(self, path: Path) -> str | None:
        """See `perdure.acp.buffers.Editor`."""
        try:
            async with asyncio.timeout(BUFFER):
                return (await self._client.read_text_file(self.id, str(path))).content
        except (RequestError, OSError, ValidationError, TimeoutError):
            return None

    async def save(self, path: Path, text: str) -> bool:
        """See `perdure.acp.buffers.Editor`."""
        if self._can.fs is None or not self._can.fs.write_text_file:
            return False
        try:
            async with asyncio.timeout(BUFFER):
                await self._client.write_text_file(self.id, str(path), text)
        except (RequestError, OSError, ValidationError, TimeoutError):
            return False
        return True


def _failed(end: AgentEnd, hint: str) -> RequestError:
    """Why there is no answer, for the user, with the next step."""
    failure = end.failure
    why = str(end.error or (f"{failure.kind}: {failure.message}" if failure is not None else f"ended as {end.state}"))
    code = -32000 if failure is not None and failure.kind == "authentication" else -32603
    return RequestError(code, f"{why}. {hint}" if hint else why, {"state": end.state})
