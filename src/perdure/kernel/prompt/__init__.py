"""What a request starts with: system blocks, parts, notes and recalled memories, assembled from given texts."""

from perdure.kernel.prompt.head import head_of
from perdure.kernel.prompt.notes import PlanWords, plan_mode, repeated_call, stale_todos
from perdure.kernel.prompt.parts import (
    RETRACTED,
    Mode,
    Telling,
    changed,
    every,
    last_told,
    pending,
    reminders,
    restored,
)
from perdure.kernel.prompt.reminder import Reminder, Told, memory, note, part, remind, told_in
from perdure.kernel.prompt.system import System, grow, overlay_block, overlay_parts, request_of, system_of

__all__ = [
    "RETRACTED",
    "Mode",
    "PlanWords",
    "Reminder",
    "System",
    "Telling",
    "Told",
    "changed",
    "every",
    "grow",
    "head_of",
    "last_told",
    "memory",
    "note",
    "overlay_block",
    "overlay_parts",
    "part",
    "pending",
    "plan_mode",
    "remind",
    "reminders",
    "repeated_call",
    "request_of",
    "restored",
    "stale_todos",
    "system_of",
    "told_in",
]
