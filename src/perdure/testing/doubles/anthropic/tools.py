"""Rules on the list of tools: which are deferred, which are referenced, which are forced.

It knows names. It must never know what a tool does.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.testing.doubles.anthropic.asked import INLINE_TOOLS, Asked, Refused, coded
from perdure.testing.doubles.shape import Body, bodies, body_of


def is_deferred(tool: Body) -> bool:
    """The tool stays out of the prompt until something refers to it."""
    return tool.get("defer_loading") is True


def references(block: Body) -> Iterator[str]:
    """Names of tools that a block loads: a search result's, or those in a tool result."""
    if block.get("type") == "tool_search_tool_result":
        for found in bodies(body_of(block.get("content")).get("tool_references")):
            yield str(found.get("tool_name"))
    if block.get("type") == "tool_result":
        for nested in bodies(block.get("content")):
            if nested.get("type") == "tool_reference":
                yield str(nested.get("tool_name"))


def check_names(asked: Asked) -> Iterator[str]:
    """Names are unique."""
    names = [str(tool.get("name")) for tool in asked.tools]
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."


def check_deferred(asked: Asked) -> Iterator[str]:
    """At least one tool is loaded at once, never the search tool deferred, at most 10,000 deferred."""
    deferred = [tool for tool in asked.tools if is_deferred(tool)]
    if asked.tools and len(deferred) == len(asked.tools):
        yield "At least one tool must have defer_loading=false. All tools cannot be deferred."
    for i, tool in enumerate(asked.tools):
        if is_deferred(tool) and str(tool.get("type")).startswith("tool_search_tool_"):
            yield f"tools.{i}: defer_loading cannot be set on a tool search tool"  # wording unverified
    if len(deferred) > 10_000:
        yield f"tools: at most 10000 tools may have defer_loading=true. Found {len(deferred)}."  # wording unverified


def check_references(asked: Asked) -> Iterator[str]:
    """Each tool reference names a declared tool."""
    declared = {str(tool.get("name")) for tool in asked.tools}
    for _, _, _, block in asked.blocks():
        for name in references(block):
            if name not in declared:
                yield f"Tool reference '{name}' not found in available tools"


def check_changes(asked: Asked) -> Iterator[str | Refused]:
    """Tools added or removed in a system message are defined at that point."""
    available = {str(tool.get("name")) for tool in asked.tools}
    for i, j, _, block in asked.blocks():
        if block.get("type") not in {"tool_addition", "tool_removal"}:
            continue
        tool = body_of(block.get("tool"))
        if tool.get("type") == "tool_definition":
            if INLINE_TOOLS not in asked.betas:
                # Wording unverified; the beta is documented.
                yield f"messages.{i}.content.{j}.tool_addition.tool: `tool_definition` is not one of the expected types"
            available.add(str(body_of(tool.get("definition")).get("name")))
        elif (name := str(tool.get("tool_name", tool.get("name")))) not in available:
            yield coded(
                "tool_reference_unresolved",
                f"messages.{i}.content.{j}: tool '{name}' is not defined at this position in the conversation",
            )


def check_choice(asked: Asked) -> Iterator[str]:
    """A tool is forced only where the model takes it, and never while it thinks."""
    choice = body_of(asked.body.get("tool_choice"))
    if (kind := choice.get("type")) not in {"any", "tool"}:
        if kind == "auto" and not asked.tools:
            yield "tool_choice: tool_choice may only be specified while providing tools"
        return
    if not asked.tools:
        yield "tool_choice: tool_choice may only be specified while providing tools"
    if not asked.model.accepts_forced_tool:
        yield 'tool_choice: type "tool" and "any" are not supported for this model.'
    elif body_of(asked.body.get("thinking")).get("type") in {"enabled", "adaptive"}:
        yield "Thinking may not be enabled when tool_choice forces tool use."
    if kind == "tool" and choice.get("name") not in {tool.get("name") for tool in asked.tools}:
        yield f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools"
