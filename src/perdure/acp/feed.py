"""What happens in a session, as updates for the editor: text, thoughts, calls, the plan, what fills the context.

It knows events and the protocol's updates. It must never wait: whoever sends them does. What left the context is told
as a call of its own, which an editor shows folded up: what, why, and how it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from acp.helpers import (
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_current_mode,
)
from acp.schema import ConfigOptionUpdate, Cost, ToolCallStart, Usage, UsageUpdate

from perdure.acp import calls
from perdure.acp.history import plan_of
from perdure.acp.modes import options_of
from perdure.acp.outbox import Update
from perdure.acp.port import Desk
from perdure.guard.plain import clip, one_line
from perdure.kernel import messages
from perdure.kernel.agent import CompactionEnd, Event, MessageDelta, ToolEnd, ToolStart, Trouble, UsageSeen
from perdure.kernel.messages import ToolUse
from perdure.kernel.value import record
from perdure.kernel.wire import BlockGrew
from perdure.session import SessionEvent, SubagentHeard, losses_of, status_of, why_of
from perdure.tools import todo
from perdure.tools.failed import ToolFailed

DONE: Mapping[str, str] = {"micro": "cleared", "trim": "trimmed", "memory": "folded", "full": "folded"}
"""What was done to the context, in a person's words."""
LOSSES = 12
"""Things that left, of which each is named."""
TAIL = 6_000
"""Characters of what a command prints that are shown while it runs."""
OFTEN = 0.2
"""Seconds between two looks at what a command prints."""


@record(kw_only=True)
class _Running:
    """A call that runs."""

    name: str
    """Its id for the editor."""
    call: ToolUse
    printed: str = ""


class Feed:
    """What an editor is shown of one session."""

    def __init__(self, put: Callable[[Update], None], cwd: Path, clock: Callable[[], float]) -> None:
        self._put, self.cwd, self._clock = put, cwd, clock
        self._desk: Desk | None = None
        self._mode = self._model = ""
        self._running: dict[str, _Running] = {}
        self._folds = 0
        self._looked = 0.0
        self._spent = messages.Usage()

    def begin(self, desk: Desk) -> None:
        """The session is open."""
        self._desk, self._mode, self._model = desk, desk.mode, desk.model

    def run_begins(self) -> None:
        """The user said something."""
        self._running.clear()
        self._spent = messages.Usage()

    def run_ends(self) -> None:
        """Nothing runs any more: a call that was interrupted has told no end."""
        for one in self._running.values():
            self._put(calls.cut_off(one.name))
        self._running.clear()

    @property
    def spent(self) -> Usage:
        """What the run took so far."""
        spent = self._spent
        return Usage(
            total_tokens=spent.total_tokens,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_read_tokens=spent.cache_read_tokens,
            cached_write_tokens=spent.cache_write_tokens,
        )

    def hear(self, event: SessionEvent) -> None:
        """Something happened."""
        match event:
            case SubagentHeard(number=number, event=inner):
                self._call(inner, f"{number}-", f"subagent {number}: ")
            case MessageDelta(delta=BlockGrew(kind="text", piece=piece)):
                self._put(update_agent_message_text(piece))
            case MessageDelta(delta=BlockGrew(kind="thinking", piece=piece)):
                self._put(update_agent_thought_text(piece))
            case Trouble():
                self._trouble(event)
            case CompactionEnd(changed=True):
                self._folded(event)
            case UsageSeen():
                self._spent = _plus(self._spent, event.usage)
                self.tell_usage()
            case _:
                self._call(event, "", "")
        self.look()

    def look(self) -> None:
        """Tell what was turned meanwhile: a command, the model and the user may all do that."""
        desk = self._desk
        if desk is None:
            return
        if desk.mode != self._mode:
            self._mode = desk.mode
            self._put(update_current_mode(desk.mode))
        if desk.model != self._model:
            self._model = desk.model
            self._put(ConfigOptionUpdate(session_update="config_option_update", config_options=options_of(desk)))

    def tell_usage(self) -> None:
        """What fills the window, and what it cost; nothing where nobody knows the window."""
        if self._desk is None:
            return
        status = status_of(self._desk.session, self._clock())
        if status.window is not None:
            cost = Cost(amount=round(status.usd, 6), currency="USD") if status.usd else None
            self._put(
                UsageUpdate(session_update="usage_update", used=status.tokens, size=status.window, cost=cost),
            )

    def printed(self, piece: str) -> None:
        """A command prints. Which of several that run nobody says, so the one that began last is shown with it."""
        running = next((one for one in reversed(self._running.values()) if one.call.name == "bash"), None)
        if running is None:
            return
        running.printed = (running.printed + piece)[-TAIL:]
        now = self._clock()
        if now - self._looked >= OFTEN:
            self._looked = now
            self._put(calls.printing(running.name, running.printed))

    def call_behind(self, tool: str, words: str) -> tuple[str, ToolUse] | None:
        """The running call of this tool of whose arguments most stands in a question.

        None where that is not clear: a question is better shown alone than with another call.
        """
        fitting = [one for one in self._running.values() if one.call.name == tool]
        found = [(_shared(one.call, words), one) for one in fitting]
        best = max((size for size, _ in found), default=0)
        likely = [one for size, one in found if size == best] if best else fitting
        return (likely[0].name, likely[0].call) if len(likely) == 1 else None

    def _call(self, event: Event, before: str, whose: str) -> None:
        match event:
            case ToolStart(call=call):
                name = f"{before}{call.id}"
                self._running[name] = _Running(name=name, call=call)
                start = calls.started(call, self.cwd, name)
                self._put(start.model_copy(update={"title": f"{whose}{start.title}"}) if whose else start)
            case ToolEnd(call=call, result=result):
                self._running.pop(f"{before}{call.id}", None)
                self._put(calls.ended(call, result, self.cwd, f"{before}{call.id}"))
                if call.name == todo.NAME and not result.is_error and not before:
                    self._plan(call)
            case _:
                pass

    def _plan(self, call: ToolUse) -> None:
        try:
            self._put(plan_of(todo.todos_of(call.input)))
        except ToolFailed:
            # The tool understood what it was given; a plan that cannot be shown stops nothing.
            return

    def _trouble(self, event: Trouble) -> None:
        if event.void:
            self._put(update_agent_message_text("\n\n*The answer broke off here. It begins anew:*\n\n"))
        if event.retry_in is not None:
            words = clip(one_line(event.failure.message), 300)
            self._put(update_agent_thought_text(f"\n{event.failure.kind}: {words}; again in {event.retry_in:.0f} s\n"))

    def _folded(self, event: CompactionEnd) -> None:
        if self._desk is None:
            return
        self._folds += 1
        lines = [f"Because of: {event.reason.replace('_', ' ')}. Nothing is lost.", *_left(self._desk)]
        self._put(
            ToolCallStart(
                session_update="tool_call",
                tool_call_id=f"context-{self._folds}-{event.tokens_before}-{event.tokens_after}",
                title=_title_of(event),
                kind="think",
                status="completed",
                content=[tool_content(text_block("\n".join(lines)))],
            )
        )
        self.tell_usage()


def _shared(call: ToolUse, words: str) -> int:
    """Characters of the longest argument that stands in the words of a question."""
    texts = [value for value in call.input.values() if isinstance(value, str) and value.strip()]
    return max((len(text) for text in texts if text in words), default=0)


def _title_of(event: CompactionEnd) -> str:
    if event.reason == "entry":
        return f"Shortened before it was sent: {event.tokens_before - event.tokens_after:,} tokens less"
    done = DONE.get(event.kind or "", "changed")
    return f"Context {done}: {event.tokens_before:,} to {event.tokens_after:,} tokens"


def _left(desk: Desk) -> list[str]:
    """What the newest edit took out of the view, and how it comes back."""
    reasons = why_of(desk.session)
    left = reasons.left if reasons is not None else losses_of(desk.session)
    rows = [f"- {clip(one_line(loss.what), 80)} ({loss.tokens:,} tokens): `{loss.handle}`" for loss in left[:LOSSES]]
    more = [f"- and {len(left) - LOSSES:,} more"] if len(left) > LOSSES else []
    back = ["`/expand` takes it back, `/recall HANDLE` shows one, `/loss` lists all, `/why` says what it earns."]
    return [*rows, *more, *back]


def _plus(one: messages.Usage, other: messages.Usage) -> messages.Usage:
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
    )
