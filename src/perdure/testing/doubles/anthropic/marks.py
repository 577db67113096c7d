"""Rules on cache marks, and where they stand.

It knows the order of a prompt: tools, system, messages. It must never know what is in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import Asked
from perdure.testing.doubles.anthropic.tools import is_deferred
from perdure.testing.doubles.shape import Body, bodies, body_of, is_object

UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


@value
class Mark:
    """One `cache_control` and its place."""

    path: str
    ttl: str


def ttl_of(block: Body) -> str | None:
    """The lifetime that a block's mark asks for, or None without a mark."""
    mark = block.get("cache_control")
    return str(body_of(mark).get("ttl", "5m")) if is_object(mark) else None


def mark_of(block: Body) -> str | None:
    """The mark of a block; one on a part of a tool result counts as the result's own."""
    own = ttl_of(block)
    if own is None and block.get("type") == "tool_result":
        return next((ttl for nested in bodies(block.get("content")) if (ttl := ttl_of(nested)) is not None), None)
    return own


def marks(asked: Asked) -> list[Mark]:
    """All explicit marks, in the order in which the API goes through them."""
    found: list[Mark] = []

    def add(path: str, block: Body) -> None:
        if (ttl := ttl_of(block)) is not None:
            found.append(Mark(path=path, ttl=ttl))

    for i, tool in enumerate(asked.tools):
        add(f"tools.{i}", tool)
    for i, block in enumerate(asked.system):
        add(f"system.{i}", block)
    for i, j, _, block in asked.blocks():
        add(f"messages.{i}.content.{j}", block)
        if block.get("type") == "tool_result":
            for k, nested in enumerate(bodies(block.get("content"))):
                add(f"messages.{i}.content.{j}.tool_result.content.{k}", nested)
    return found


def may_hold_mark(block: Body) -> bool:
    """The block can end a cached prefix."""
    empty_text = block.get("type") == "text" and not block.get("text")
    return block.get("type") not in UNMARKABLE and not empty_text


def automatic_mark(asked: Asked) -> Mark | None:
    """Where top-level `cache_control` puts its mark: on the last block that can hold one.

    None if it is not used, or if that block has such a mark already.
    """
    setting = asked.body.get("cache_control")
    if not is_object(setting):
        return None
    ttl = str(body_of(setting).get("ttl", "5m"))
    for i, j, _, block in reversed(list(asked.blocks())):
        if may_hold_mark(block):
            return None if ttl_of(block) == ttl else Mark(path=f"messages.{i}.content.{j}", ttl=ttl)
    return None


def check_count(asked: Asked) -> Iterator[str]:
    """At most four marks, the automatic one counted."""
    automatic = automatic_mark(asked)
    explicit = marks(asked)
    taken = automatic is not None and automatic.path in {mark.path for mark in explicit}
    count = len(explicit) + (1 if automatic is not None and not taken else 0)
    if count > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."


def check_order(asked: Asked) -> Iterator[str]:
    """One-hour marks come before five-minute ones."""
    found = marks(asked)
    if (automatic := automatic_mark(asked)) is not None:
        found.append(automatic)
    short = False
    for mark in found:
        if mark.ttl == "1h" and short:
            yield (
                f"{mark.path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        short = short or mark.ttl == "5m"


def check_automatic(asked: Asked) -> Iterator[str]:
    """Automatic caching does not contradict the last block's own mark."""
    automatic = automatic_mark(asked)
    if automatic is None:
        return
    own = next((mark for mark in marks(asked) if mark.path == automatic.path), None)
    if own is not None:
        # The wording is unverified; that it is a 400 is documented.
        yield (
            f"cache_control.ttl: automatic caching with ttl='{automatic.ttl}' conflicts with the ttl='{own.ttl}' "
            f"cache_control of the last block at {own.path}"
        )


def check_deferred(asked: Asked) -> Iterator[str]:
    """A tool that is not in the prompt cannot end a cached prefix."""
    for i, tool in enumerate(asked.tools):
        if is_deferred(tool) and ttl_of(tool) is not None:
            yield f"tools.{i}: Tool with defer_loading=true cannot have cache_control set"  # wording unverified
