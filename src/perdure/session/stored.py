"""Where sessions are, how they are named, and what one starts with as its log keeps it.

It knows files and ids. It must never run anything.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from perdure.kernel.agent import AgentTool
from perdure.kernel.errors import UserError
from perdure.kernel.messages import JsonObject, Text, Tool
from perdure.kernel.pattern import pattern
from perdure.log import SessionState, Started

ENDING = ".jsonl"

_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def new_id(now: float) -> str:
    """An id that sorts by time and that no other session has."""
    return f"{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def path_of(folder: Path, session: str) -> Path:
    """The log of a session.

    Raises:
        UserError: an id that no session has.
    """
    if not _NAME.fullmatch(session) or session.endswith(ENDING):
        raise UserError(f"{session[:80]!r} is no id of a session; `perdure sessions` lists them")
    return folder / f"{session}{ENDING}"


def find_session(folder: Path, wanted: str | None) -> Path:
    """The log of a session by its id or the beginning of it; None: the one that was written last.

    Raises:
        UserError: none, or several.
    """
    logs = sorted(folder.glob(f"*{ENDING}"), key=lambda path: path.stat().st_mtime) if folder.is_dir() else []
    if wanted is None:
        if not logs:
            raise UserError("there is no session in this project yet; begin one with `perdure`")
        return logs[-1]
    exact = [path for path in logs if path.name == f"{wanted}{ENDING}"]
    fitting = exact or [path for path in logs if path.name.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise UserError(f"there is no session {wanted[:80]!r} in this project; `perdure sessions` lists them")
    names = ", ".join(path.name.removesuffix(ENDING) for path in fitting[:5])
    raise UserError(f"{wanted[:80]!r} fits {len(fitting)} sessions: {names}; give more of the id")


def started_of(system: Sequence[Text], tools: Sequence[AgentTool], git: str, model: str, more: JsonObject) -> Started:
    """What a session starts with, for its log."""
    definitions = tuple(tool.definition for tool in tools)
    return Started(system=tuple(system), tools=definitions, git=git, model=model, settings=more)


def same_tools(logged: Sequence[Tool], built: Sequence[AgentTool]) -> tuple[AgentTool, ...]:
    """The tools of a session that goes on: the logged definitions, byte for byte and in their order, run by what is
    there now; then what is new. One that is gone stays and fails when it is called."""
    by_name = {tool.definition.name: tool for tool in built}
    kept = [_as_logged(definition, by_name.pop(definition.name, None)) for definition in logged]
    return (*kept, *(tool for tool in built if tool.definition.name in by_name))


def system_in(state: SessionState) -> tuple[Text, ...] | None:
    """The system blocks that a session started with; None where its log has none."""
    if state.started is None:
        return None
    return tuple(block for block in state.started.system if isinstance(block, Text))


def model_in(state: SessionState) -> str | None:
    """The model that last answered."""
    if state.model is not None:
        return state.model.model
    return state.started.model if state.started is not None else None


def _as_logged(definition: Tool, now: AgentTool | None) -> AgentTool:
    if now is not None:
        return replace(now, definition=definition)
    return AgentTool(definition=definition, run=lambda _given: _gone(definition.name))


def _gone(name: str) -> str:
    raise LookupError(f"The tool {name} is not there any more; go on without it, and tell the user.")
