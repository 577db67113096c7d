"""Rules on the order of messages, and on calls and their results.

It knows roles and ids. It must never know what a block costs or whether it is cached.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import Asked, Refused, coded
from perdure.testing.doubles.shape import Body, content_blocks


@value
class Placed:
    """A block and where it stands in the request."""

    message: int
    place: int
    block: Body

    @property
    def path(self) -> str:
        """As error messages write it."""
        return f"messages.{self.message}.content.{self.place}"


@value
class Group:
    """Consecutive messages of one role: the API joins them into one turn."""

    role: str
    last: int
    """Index of its last message."""
    blocks: tuple[Placed, ...]


def groups(asked: Asked) -> list[Group]:
    """The turns of a request."""
    found: list[Group] = []
    for i, message in enumerate(asked.messages):
        role = str(message.get("role"))
        placed = tuple(
            Placed(message=i, place=j, block=b) for j, b in enumerate(content_blocks(message.get("content")))
        )
        if found and found[-1].role == role and role != "system":
            placed = found.pop().blocks + placed
        found.append(Group(role=role, last=i, blocks=placed))
    return found


def check_count(asked: Asked) -> Iterator[str]:
    """At most 100,000 messages."""
    if (count := len(asked.messages)) > 100_000:
        # The wording is unverified; the limit is documented.
        yield f"messages: List should have at most 100000 items after validation, not {count}"


def check_content(asked: Asked) -> Iterator[str]:
    """No empty text block; no empty message but a last one of the assistant."""
    messages = asked.messages
    for i, message in enumerate(messages):
        content = message.get("content")
        blocks = content_blocks(content)
        last_assistant = i == len(messages) - 1 and message.get("role") == "assistant"
        if not last_assistant and content in ("", []):
            yield (
                f"messages.{i}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )
        for j, block in enumerate(blocks):
            if block.get("type") == "text" and not block.get("text"):
                if block.get("cache_control") is not None:
                    yield f"messages.{i}.content.{j}.text: cache_control cannot be set for empty text blocks"
                elif not (last_assistant and isinstance(content, str)):
                    yield "messages: text content blocks must be non-empty"
            elif block.get("type") == "text" and not str(block.get("text")).strip():
                yield "messages: text content blocks must contain non-whitespace text"
    for j, block in enumerate(asked.system):
        if not block.get("text") and not isinstance(asked.body.get("system"), str):
            marked = block.get("cache_control") is not None
            yield (
                f"system.{j}.text: cache_control cannot be set for empty text blocks"
                if marked
                else "system: text content blocks must be non-empty"
            )


def check_start(asked: Asked) -> Iterator[str]:
    """The first message is the user's, unless it carries a summary of what came before."""
    if (messages := asked.messages) and messages[0].get("role") == "assistant":
        blocks = content_blocks(messages[0].get("content"))
        if not any(block.get("type") == "compaction" for block in blocks):
            yield 'messages: first message must use the "user" role'


def check_prefill(asked: Asked) -> Iterator[str]:
    """The conversation does not end with an assistant message (4.6 and later)."""
    if asked.compacting or not asked.messages or asked.messages[-1].get("role") != "assistant":
        return
    blocks = content_blocks(asked.messages[-1].get("content"))
    kind = str(blocks[-1].get("type")) if blocks else ""
    # What the server paused is continued by sending it back: a compaction block, or a server tool's call or result.
    if kind in {"compaction", "server_tool_use"} or (kind.endswith("_tool_result") and kind != "tool_result"):
        return
    if not asked.model.accepts_prefill:
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    elif kind == "text" and str(blocks[-1].get("text")) != str(blocks[-1].get("text")).rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def check_system_messages(asked: Asked) -> Iterator[str]:
    """A system message follows a user turn and is last or followed by the assistant. The wordings are unverified."""
    messages = asked.messages
    for i, message in enumerate(messages):
        if message.get("role") != "system":
            continue
        before = messages[i - 1] if i else None
        if before is None:
            yield f"messages.{i}: a `system` message cannot be the first message"
        elif before.get("role") == "assistant" and not _ends_in_server_result(before):
            if any(block.get("type") == "tool_use" for block in content_blocks(before.get("content"))):
                yield f"messages.{i}: a `system` message cannot stand between `tool_use` and `tool_result` blocks"
            else:
                yield f"messages.{i}: a `system` message must follow a `user` message"
        elif before.get("role") == "system":
            yield f"messages.{i}: a `system` message must follow a `user` message"
        if i + 1 < len(messages) and messages[i + 1].get("role") != "assistant":
            yield f"messages.{i}: a `system` message must be last or be followed by an `assistant` message"
        if message.get("content") in (None, "", []) and not message.get("output_config"):
            yield f"messages.{i}: a `system` message needs content or output_config"
        if message.get("clear_at") not in {None, "next_user_message", "never"}:
            yield f"messages.{i}.clear_at: Input should be 'next_user_message' or 'never'"


def check_pairs(asked: Asked) -> Iterator[str | Refused]:
    """Each call is answered once, in the next message; each result has a call in the message before."""
    turns = groups(asked)
    yield from _unique_calls(turns)
    for turn, after in zip(turns, [*turns[1:], None], strict=True):
        yield from _unanswered(asked, turn, after)
    for before, turn in zip([None, *turns[:-1]], turns, strict=True):
        yield from _orphans(before, turn)
        yield from _server_pairs(turn)


def _ends_in_server_result(message: Body) -> bool:
    blocks = content_blocks(message.get("content"))
    kind = str(blocks[-1].get("type")) if blocks else ""
    return kind.endswith("_tool_result") and kind != "tool_result"


def _unique_calls(turns: list[Group]) -> Iterator[str]:
    seen: set[str] = set()
    for turn in turns:
        for placed in turn.blocks:
            if placed.block.get("type") in {"tool_use", "server_tool_use"}:
                if (call := str(placed.block.get("id"))) in seen:
                    yield f"{placed.path}: `tool_use` ids must be unique"
                seen.add(call)


def _unanswered(asked: Asked, turn: Group, after: Group | None) -> Iterator[str | Refused]:
    calls = [str(p.block.get("id")) for p in turn.blocks if p.block.get("type") == "tool_use"]
    if turn.role != "assistant" or not calls:
        return
    if after is None and asked.compacting:
        yield coded(
            "compaction_incomplete_turn",
            "compaction: the conversation ends in an assistant turn whose tool calls have no results",
        )
    # Results count only where they open the user message (Anthropic, tool use guide: results first, then text).
    answered: set[str] = set()
    for placed in after.blocks if after is not None else ():
        if placed.block.get("type") != "tool_result":
            break
        answered.add(str(placed.block.get("tool_use_id")))
    if missing := [call for call in calls if call not in answered]:
        yield (
            f"messages.{turn.last}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _orphans(before: Group | None, turn: Group) -> Iterator[str]:
    calls = (
        {str(p.block.get("id")) for p in before.blocks if p.block.get("type") == "tool_use"} if before else set[str]()
    )
    seen: set[str] = set()
    for placed in turn.blocks:
        if placed.block.get("type") != "tool_result":
            continue
        call = str(placed.block.get("tool_use_id"))
        if call not in calls:
            yield (
                f"{placed.path}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call in seen:
            yield (
                f"{placed.path}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call}"
            )
        seen.add(call)


def _server_pairs(turn: Group) -> Iterator[str]:
    started: set[str] = set()
    for placed in turn.blocks:
        kind = str(placed.block.get("type"))
        if kind in {"server_tool_use", "mcp_tool_use"}:
            started.add(str(placed.block.get("id")))
        elif kind.endswith("_tool_result") and kind != "tool_result":
            call = str(placed.block.get("tool_use_id"))
            if call not in started:
                yield (
                    f"{placed.path}: unexpected `tool_use_id` found in `{kind}` blocks: {call}. "
                    f"Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                )
