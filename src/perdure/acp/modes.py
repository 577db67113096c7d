"""What an editor can choose from: modes, and models as an option of a session.

It knows words. It must never turn anything.
"""

from __future__ import annotations

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from perdure.acp.port import Desk
from perdure.tools.permissions import Mode

MODEL = "model"
"""The id of the option that chooses the model."""

MODES: tuple[tuple[Mode, str, str], ...] = (
    ("ask", "Ask", "Asks before it changes a file or runs a command."),
    ("accept_edits", "Accept edits", "Edits files of the project without a question; asks before it runs commands."),
    ("plan", "Plan", "Looks and changes nothing, and ends with a plan to agree on."),
    ("full", "Full", "Asks nothing; rules that deny still hold."),
)


def modes_of(desk: Desk) -> SessionModeState:
    """The modes, and the one that holds."""
    modes = [SessionMode(id=mode, name=name, description=says) for mode, name, says in MODES]
    return SessionModeState(current_mode_id=desk.mode, available_modes=modes)


def mode_named(wanted: str) -> Mode | None:
    """The mode of an id."""
    return next((mode for mode, _, _ in MODES if mode == wanted), None)


def options_of(desk: Desk) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
    """What else can be chosen: the model. The one that answers is among them, whatever else is known."""
    names = dict.fromkeys((desk.model, *desk.models()))
    return [
        SessionConfigOptionSelect(
            type="select",
            id=MODEL,
            name="Model",
            category="model",
            description="The model that answers from the next message on.",
            current_value=desk.model,
            options=[SessionConfigSelectOption(value=name, name=name) for name in names],
        )
    ]
