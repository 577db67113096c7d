"""Hooks: the user's own commands, told what is about to happen or did, which may object or add something.

It knows which hooks hear of what, and how an answer reads. It must never let a failing hook stand for an objection, nor
an objection for a failure: exit code 2, or `{"decision": "block", "reason": "..."}` on standard output, objects;
`{"context": "..."}` adds what the model reads; everything else that goes wrong is reported and passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import Result
from perdure.kernel.errors import InvalidJson, InvalidSetting
from perdure.kernel.messages import Json, JsonObject, Message, Text, decode_json, encode_json
from perdure.kernel.value import record, value
from perdure.project.settings import Settled
from perdure.tools.hooks.process import Ended, Started, run, run_blocking

Event: TypeAlias = Literal["before_tool", "after_tool", "before_compaction", "after_compaction", "stop"]
EVENTS: tuple[Event, ...] = ("before_tool", "after_tool", "before_compaction", "after_compaction", "stop")

PATIENCE = 30.0
"""Seconds that a hook has unless it says otherwise."""
LONGEST = 600.0
"""Seconds that it may be given."""
BLOCKING = 10.0
"""Seconds at most around a compaction, where everything waits for it."""
CONTEXT = 8_000
"""Characters that it may add, or object with."""
TOLD = 100_000
"""Characters of a result that it is told."""
FAILURES = 100
"""Failures that are kept for people."""

_OBJECTION = 2
"""The exit code that objects."""


@value
class Hook:
    """One hook."""

    command: str
    """For `/bin/sh`."""
    match: str = "*"
    """Of tools: a name, with `*` and `?`; several with `|` between them."""
    timeout: float = PATIENCE
    """Seconds."""

    def fits(self, tool: str) -> bool:
        """Whether it wants to hear of a tool."""
        return any(fnmatchcase(tool, pattern.strip()) for pattern in self.match.split("|"))


@value
class Said:
    """What the hooks of one event said together."""

    objection: str = ""
    """Why it must not happen; empty where nobody objects."""
    context: str = ""
    """What the model is to read besides."""


@record(kw_only=True)
class Hooks:
    """The hooks of one session."""

    by_event: Mapping[Event, Sequence[Hook]] = field(default_factory=dict[Event, Sequence[Hook]])
    cwd: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    failures: list[str] = field(default_factory=list[str])
    """What went wrong with hooks, for people; the newest last."""

    async def before(self, tool: str, given: JsonObject) -> Said:
        """Before a tool runs. The first objection ends it."""
        return await self._tell("before_tool", {"tool": tool, "input": given}, tool)

    async def after(self, tool: str, given: JsonObject, result: str, *, failed: bool) -> Said:
        """After a tool ran, or failed. An objection is for the model to read: what is done is done."""
        about: JsonObject = {"tool": tool, "input": given, "result": clip(result, TOLD), "failed": failed}
        return await self._tell("after_tool", about, tool)

    async def stop(self, answer: Message) -> str | None:
        """Whether the model may stop; what still has to be done where it may not. Fits `kernel.agent.Guard`."""
        text = "\n".join(block.text for block in answer.content if isinstance(block, Text))
        return (await self._tell("stop", {"answer": clip(text, TOLD)})).objection or None

    def before_compaction(self, reason: str) -> None:
        """Before the context is folded. It cannot be objected to: without it the conversation ends."""
        self._tell_blocking("before_compaction", {"reason": reason})

    def after_compaction(self, reason: str) -> None:
        """After it was folded."""
        self._tell_blocking("after_compaction", {"reason": reason})

    def wants(self, event: Event) -> bool:
        """Whether any hook hears of an event."""
        return bool(self.by_event.get(event))

    async def _tell(self, event: Event, about: JsonObject, tool: str | None = None) -> Said:
        contexts: list[str] = []
        for hook in self.by_event.get(event, ()):
            if tool is not None and not hook.fits(tool):
                continue
            said = self._read(hook, await run(self._started(hook, event, about, hook.timeout)))
            contexts.extend(filter(None, [said.context]))
            if said.objection:
                return Said(objection=said.objection, context="\n".join(contexts))
        return Said(context="\n".join(contexts))

    def _tell_blocking(self, event: Event, about: JsonObject) -> None:
        for hook in self.by_event.get(event, ()):
            self._read(hook, run_blocking(self._started(hook, event, about, min(hook.timeout, BLOCKING))))

    def _started(self, hook: Hook, event: Event, about: JsonObject, timeout: float) -> Started:
        told = encode_json({"event": event, "cwd": str(self.cwd), **about})
        return Started(command=hook.command, told=told, cwd=self.cwd, environment=self.environment, timeout=timeout)

    def _read(self, hook: Hook, ended: Ended) -> Said:
        if ended.trouble:
            return self._failed(hook, ended.trouble)
        given = _object(ended.out)
        reason, context = given.get("reason"), given.get("context")
        added = clip(context, CONTEXT) if isinstance(context, str) else ""
        if given.get("decision") == "block" or ended.code == _OBJECTION:
            told = reason if isinstance(reason, str) and reason.strip() else ended.error.strip()
            why = clip(told, CONTEXT) or f"the hook {clip(one_line(hook.command), 80)!r} objects"
            return Said(objection=why, context=added)
        if ended.code != 0:
            return self._failed(hook, f"ended with exit code {ended.code}: {clip(one_line(ended.error.strip()), 200)}")
        return Said(context=added)

    def _failed(self, hook: Hook, why: str) -> Said:
        self.failures.append(f"the hook {clip(one_line(hook.command), 80)!r} {why}; it was passed over")
        del self.failures[:-FAILURES]
        return Said()


def hooks_of(settled: Settled, cwd: Path, environment: Mapping[str, str]) -> Hooks:
    """The hooks that are set.

    Raises:
        InvalidSetting: one that is none; the message names it.
    """
    by_event: dict[Event, Sequence[Hook]] = {
        event: tuple(
            _hook(table, f"{settled.source(f'hooks.{event}')}: hooks.{event}, number {number}")
            for number, table in enumerate(settled.tables(f"hooks.{event}"), 1)
        )
        for event in EVENTS
    }
    return Hooks(by_event=by_event, cwd=cwd, environment=environment)


def with_hooks(result: Result, said: Said) -> Result:
    """A result together with what hooks said after it."""
    objects = f"[A hook of the user objects: {said.objection}]" if said.objection else ""
    adds = f"[A hook of the user adds: {said.context}]" if said.context else ""
    told = "\n".join(filter(None, (objects, adds)))
    if not told:
        return result
    return f"{result}\n{told}" if isinstance(result, str) else (*result, Text(text=told))


def _hook(table: Mapping[str, object], place: str) -> Hook:
    unknown = sorted(set(table) - {"match", "command", "timeout"})
    if unknown:
        raise InvalidSetting(f"{place} has {unknown[0]!r}; a hook has match, command and timeout")
    command, match, timeout = table.get("command"), table.get("match", "*"), table.get("timeout", PATIENCE)
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise InvalidSetting(f'{place} has no command; write command = "..."')
    if not isinstance(match, str) or not match.strip():
        raise InvalidSetting(f'{place}: match takes the name of a tool, such as "bash" or "edit|write"')
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout <= LONGEST:
        raise InvalidSetting(f"{place}: timeout takes seconds, up to {LONGEST:.0f}")
    return Hook(command=command, match=match, timeout=float(timeout))


def _object(out: str) -> Mapping[str, Json]:
    """The object that a hook printed; empty where it printed something else."""
    try:
        value = decode_json(out)
    except InvalidJson:
        return {}
    return value if isinstance(value, dict) else {}
