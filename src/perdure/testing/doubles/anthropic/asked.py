"""A request under examination, and a refusal.

It knows what every rule needs to see. It must never hold a rule itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.models import Model
from perdure.testing.doubles.shape import Body, Seal, bodies, body_of, content_blocks

EDITING = "context-management-2025-06-27"
THRESHOLD = "compact-2026-01-12"
ON_DEMAND = "compact-2026-09-04"
BINDING = "thinking-binding-controls-2026-08-01"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
THREADS = "message-threads-2026-08-12"
TASK_BUDGETS = "task-budgets-2026-03-13"


class Refused(Exception):
    """The API says no."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "", details: Body | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind or KINDS.get(status, "api_error")
        self.details = details or {}


KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""`error.type` by HTTP status (Anthropic, errors page, 2026-08)."""


def coded(code: str, message: str, *, status: int = 400, **more: object) -> Refused:
    """A refusal with an `error_code` in its details."""
    return Refused(message, status=status, details={"error_code": code, **more})


@value
class Asked:
    """One request, parsed, with what the double knows about its sender."""

    body: Body
    model: Model
    betas: frozenset[str]
    counting: bool
    """For `count_tokens`, which validates the same and samples nothing."""
    workspace: str
    """Who asks: the API key stands for its workspace, and an organisation has one."""
    seal: Seal
    thinking_given: Mapping[str, tuple[str, ...]]
    """Signatures of the thinking that stood in the response which made a tool call, by the call's id."""
    old_account: bool
    """Made before 2026-08-31."""

    @property
    def messages(self) -> list[Body]:
        """The messages as sent."""
        return bodies(self.body.get("messages"))

    @property
    def edits(self) -> list[Body]:
        """`context_management.edits`."""
        return bodies(body_of(self.body.get("context_management")).get("edits"))

    @property
    def tools(self) -> list[Body]:
        """The tools as sent."""
        return bodies(self.body.get("tools"))

    @property
    def system(self) -> list[Body]:
        """System blocks; a string is one."""
        return content_blocks(self.body.get("system"))

    @property
    def compacting(self) -> bool:
        """This request asks for on-demand compaction. `count_tokens` accepts the field and ignores it."""
        return self.body.get("compaction") is not None and not self.counting

    @property
    def threshold_edit(self) -> Body | None:
        """The edit that declares threshold compaction."""
        return next((edit for edit in self.edits if edit.get("type") == "compact_20260112"), None)

    @property
    def thinks(self) -> bool:
        """Thinking is on: asked for, or always on for this model."""
        form = body_of(self.body.get("thinking")).get("type")
        return form in {"adaptive", "enabled"} or "disabled" not in self.model.thinking_forms

    def blocks(self) -> Iterator[tuple[int, int, str, Body]]:
        """Every block of every message: message index, block index, role, block."""
        for i, message in enumerate(self.messages):
            for j, block in enumerate(content_blocks(message.get("content"))):
                yield i, j, str(message.get("role")), block


Check: TypeAlias = Callable[[Asked], "Iterator[str | Refused]"]
"""Yields what is wrong, worst first. A string is the message of a plain 400."""


@value
class Rule:
    """One rule of the API."""

    name: str
    """What must hold, as a sentence."""
    topic: str
    """Where the documentation says so."""
    check: Check


def first_refusal(rules: tuple[Rule, ...], asked: Asked) -> Refused | None:
    """What the first broken rule says."""
    for rule in rules:
        for complaint in rule.check(asked):
            return Refused(complaint) if isinstance(complaint, str) else complaint
    return None
