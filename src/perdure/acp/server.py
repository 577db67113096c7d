"""The methods of the Agent Client Protocol, answered for one editor and any number of sessions.

It knows which session is meant and what an error is called. It must never do a session's work.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Agent
from acp.interfaces import Client as Editor
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    AuthMethodAgent,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from perdure import __version__
from perdure.acp import servers
from perdure.acp.modes import MODEL, mode_named, modes_of, options_of
from perdure.acp.pipe import Pipe, standard_pipe
from perdure.acp.port import House
from perdure.acp.prompts import Given
from perdure.acp.seat import Client, Seat
from perdure.kernel.errors import DiskError, NoModel, PerdureError
from perdure.kernel.messages import JsonObject

PAGE = 50
"""Sessions of one answer."""

NO_KEY, WRONG, BROKEN = -32000, -32602, -32603
"""Codes: the protocol's own for what needs a key, and those of JSON-RPC 2.0."""

ENVIRONMENT = AuthMethodAgent(
    id="environment",
    name="A key, or a model on this machine",
    description=(
        "Start the editor with ANTHROPIC_API_KEY or OPENAI_API_KEY set (or put it into `env` of this agent's entry in "
        "the editor's settings), run a local server such as `ollama serve`, or name any server with "
        "`perdure config set base_url URL`. `perdure doctor` says what is missing."
    ),
)


class Server:
    """One editor's agent. `acp.interfaces.Agent`."""

    def __init__(self, house: House, group: asyncio.TaskGroup) -> None:
        self._house, self._group = house, group
        self._client: Client | None = None
        self._can = ClientCapabilities()
        self._seats: dict[str, Seat] = {}
        self._new: dict[str, Seat] = {}
        """Sessions of which the editor has not heard yet."""
        self._closing: set[Seat] = set()
        """Sessions that are being closed. A request that does that may be given up with the connection."""

    def on_connect(self, conn: Editor) -> None:
        """The editor is there."""
        self._client = cast("Client", conn)

    def sent(self, message: JsonObject) -> None:
        """An answer stands in the pipe: what follows it may be told now."""
        result = message.get("result")
        name = result.get("sessionId") if isinstance(result, dict) else None
        seat = self._new.pop(name, None) if isinstance(name, str) else None
        if seat is not None:
            seat.greet()

    # The protocol's library hands over what an editor added to a request by names that nobody knows.
    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_more: Any,
    ) -> InitializeResponse:
        """Who this is, and what it can do. An editor that speaks another version decides whether it goes on."""
        self._can = client_capabilities or ClientCapabilities()
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="perdure", title="Perdure", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    fork=SessionForkCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[ENVIRONMENT],
        )

    async def authenticate(self, method_id: str, **_more: Any) -> AuthenticateResponse:
        """Whether a model can be reached now; keys stand in the environment, and never in the protocol."""
        with _as_errors():
            await self._house.check()
        return AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[servers.Given] | None = None,
        **_more: Any,
    ) -> NewSessionResponse:
        """Begin a session."""
        seat = await self._opened(cwd, None, additional_directories, mcp_servers)
        self._new[seat.id] = seat
        return NewSessionResponse(session_id=seat.id, modes=modes_of(seat.desk), config_options=options_of(seat.desk))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[servers.Given] | None = None,
        additional_directories: list[str] | None = None,
        **_more: Any,
    ) -> LoadSessionResponse:
        """Go on with a session, and tell the whole conversation before this is answered."""
        seat = await self._opened(cwd, session_id, additional_directories, mcp_servers)
        await seat.tell_again()
        seat.greet()
        return LoadSessionResponse(modes=modes_of(seat.desk), config_options=options_of(seat.desk))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[servers.Given] | None = None,
        **_more: Any,
    ) -> ResumeSessionResponse:
        """Go on with a session that the editor knows already."""
        seat = await self._opened(cwd, session_id, additional_directories, mcp_servers)
        seat.greet()
        return ResumeSessionResponse(modes=modes_of(seat.desk), config_options=options_of(seat.desk))

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[servers.Given] | None = None,
        **_more: Any,
    ) -> ForkSessionResponse:
        """Another session with the same conversation so far."""
        with _as_errors():
            seat = self._seats.get(session_id)
            made = seat.fork() if seat is not None else self._house.fork(_folder(cwd), session_id)
        forked = await self._opened(cwd, made, additional_directories, mcp_servers)
        self._new[forked.id] = forked
        return ForkSessionResponse(
            session_id=forked.id, modes=modes_of(forked.desk), config_options=options_of(forked.desk)
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_more: Any
    ) -> ListSessionsResponse:
        """The sessions of a project, a page at a time."""
        folder = _folder(cwd) if cwd else Path.cwd()
        start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
        with _as_errors():
            rows = await asyncio.to_thread(self._house.sessions, folder)
        page = [
            SessionInfo(
                session_id=row.id,
                cwd=str(folder),
                title=row.title or None,
                updated_at=datetime.fromtimestamp(row.last, UTC).isoformat(),
            )
            for row in rows[start : start + PAGE]
        ]
        more = str(start + PAGE) if len(rows) > start + PAGE else None
        return ListSessionsResponse(sessions=page, next_cursor=more)

    async def close_session(self, session_id: str, **_more: Any) -> CloseSessionResponse:
        """End what goes on in a session, and close it; it can be loaded again."""
        seat = self._seat(session_id)
        await self._closed(seat)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_more: Any) -> SetSessionModeResponse:
        """What is done without a question from here on."""
        seat, mode = self._seat(session_id), mode_named(mode_id)
        if mode is None:
            raise RequestError(WRONG, f"there is no mode {mode_id[:40]!r}")
        seat.turn(mode)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_more: Any
    ) -> SetSessionConfigOptionResponse:
        """Let another model answer."""
        seat = self._seat(session_id)
        if config_id != MODEL or not isinstance(value, str):
            raise RequestError(WRONG, f"there is no option {config_id[:40]!r} that could be set to that")
        with _as_errors():
            await seat.use_model(value)
        return SetSessionConfigOptionResponse(config_options=options_of(seat.desk))

    async def prompt(self, session_id: str, prompt: list[Given], **_more: Any) -> PromptResponse:
        """Do what the user says."""
        seat = self._seat(session_id)
        with _as_errors():
            return await seat.prompt(prompt, self._house.hint_of)

    async def cancel(self, session_id: str, **_more: Any) -> None:
        """End what goes on, soon."""
        seat = self._seats.get(session_id)
        if seat is not None:
            seat.cancel()

    async def close(self) -> None:
        """The editor has gone: end everything, and close every session."""
        seats = (*self._seats.values(), *self._closing)
        self._seats.clear()
        await asyncio.gather(*(seat.close() for seat in seats), return_exceptions=True)

    def _seat(self, name: str) -> Seat:
        seat = self._seats.get(name)
        if seat is None:
            raise RequestError(WRONG, f"the session {name[:80]!r} is not open; load it first")
        return seat

    async def _closed(self, seat: Seat) -> None:
        self._closing.add(seat)
        self._seats.pop(seat.id, None)
        await seat.close()
        self._closing.discard(seat)

    async def _opened(
        self,
        cwd: str,
        resume: str | None,
        roots: Sequence[str] | None,
        given: Sequence[servers.Given] | None,
    ) -> Seat:
        if self._client is None:
            raise RequestError(BROKEN, "nobody is connected")
        seat = Seat(self._client, self._can, _folder(cwd), self._group)
        with _as_errors():
            named = servers.settings_of(given)
            if resume is not None and (before := self._seats.get(resume)) is not None:
                # One log has one writer.
                await self._closed(before)
            await seat.open(self._house, resume, tuple(roots or ()), named)
        self._seats[seat.id] = seat
        return seat


async def serve(house: House, connect: Callable[[], Any] = standard_pipe) -> None:
    """Serve one editor until it goes away, or the process is told to end. Every session is closed then.

    Raises:
        UserError: there are no pipes to speak through.
    """
    pipe: Pipe = await connect()
    loop = asyncio.get_running_loop()
    # Not every system lets its loop hear signals; there the default ends the process.
    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, pipe.end)
    async with asyncio.TaskGroup() as group:
        server = Server(house, group)
        pipe.sent = server.sent
        connection = AgentSideConnection(cast("Agent", server), pipe, listening=False, use_unstable_protocol=True)
        try:
            await connection.listen()
        finally:
            await server.close()
            await connection.close()
            # What was about to be opened when the editor went away is open only now.
            await server.close()


def _folder(cwd: str) -> Path:
    path = Path(cwd)
    if not path.is_absolute() or not path.is_dir():
        raise RequestError(WRONG, f"there is no folder {cwd[:300]!r}; give the absolute path of one")
    return path


@contextmanager
def _as_errors() -> Generator[None]:
    """What went wrong, as the protocol tells it: the message says what to do next."""
    try:
        yield
    except NoModel as error:
        raise RequestError(NO_KEY, str(error)) from error
    except DiskError as error:
        raise RequestError(BROKEN, str(error)) from error
    except PerdureError as error:
        raise RequestError(WRONG, str(error)) from error
    except (OSError, TimeoutError) as error:
        raise RequestError(BROKEN, str(error) or type(error).__name__) from error
