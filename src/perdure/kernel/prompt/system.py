"""System blocks, tools and the request that begins with them.

It knows their order, by rate of change, and which of them stay. It must never know a wording or a disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perdure.kernel.cache import PrefixChain, plan_marks
from perdure.kernel.messages import Extra, Mark, Message, Request, Text, Tool
from perdure.kernel.prompt.reminder import Reminder, part
from perdure.kernel.value import value


@value
class System:
    """The system blocks of a request."""

    blocks: tuple[Text, ...]
    static: tuple[bool, ...]
    """For each block: whether it stays for the session, and so may be marked."""


def system_of(*, base: str = "", role: str = "", snapshot: str = "", dynamic: str = "") -> System:
    """The blocks in order: universal base, role, git snapshot, and what may change. An empty text makes no block.

    An override stands in the place of `role`, without a base.
    """
    given = ((base, True), (role, True), (snapshot, True), (dynamic, False))
    kept = [(text, stays) for text, stays in given if text.strip()]
    return System(blocks=tuple(Text(text=text) for text, _ in kept), static=tuple(stays for _, stays in kept))


def overlay_parts(overlays: Mapping[str, str]) -> tuple[Reminder, ...]:
    """Overlays as parts, sorted by key: the order in which servers connect must not move a byte."""
    return tuple(part(f"overlay {key}", overlays[key]) for key in sorted(overlays))


def overlay_block(overlays: Mapping[str, str]) -> str:
    """Overlays as the text of the system block behind the git snapshot, sorted by key; empty where there are none."""
    return "\n\n".join(f"# {key}\n\n{overlays[key].strip()}" for key in sorted(overlays) if overlays[key].strip())


def grow(tools: Sequence[Tool], found: Sequence[Tool], *, deferred: bool) -> tuple[Tool, ...]:
    """The tools with new ones at their end, sorted by name. A list only grows: a tool that is there keeps its place and
    its bytes, also when its server has gone or describes it anew.

    `deferred` leaves the new definitions out of the prompt until they are asked for, which costs no cached byte.
    """
    known = {tool.name for tool in tools}
    new = {tool.name: tool for tool in found if tool.name not in known}
    return (*tools, *((_defer(new[name]) if deferred else new[name]) for name in sorted(new)))


def request_of(
    system: System,
    chain: PrefixChain,
    messages: Sequence[Message],
    *,
    frontier: int | None = None,
    previous: Mark | None = None,
) -> Request:
    """A request over the messages of a chain, marked. `frontier` is the last message that no later edit can change,
    `previous` the rolling mark of the request before."""
    head = chain.head
    marks = plan_marks(chain, system.static, frontier=frontier, previous=previous)
    return Request(
        model=head.profile.id,
        messages=tuple(messages),
        system=head.system,
        tools=head.tools,
        marks=marks,
        params=head.params,
    )


def _defer(tool: Tool) -> Tool:
    """The tool with Anthropic's `defer_loading` (tool search, 2026-02)."""
    if tool.deferred:
        return tool
    fields = tool.extra.fields if tool.extra is not None else ()
    keys = tool.extra.keys if tool.extra is not None else ()
    extra = Extra(dialect="anthropic", fields=(*fields, ("defer_loading", True)), keys=keys)
    return replace(tool, extra=extra)
