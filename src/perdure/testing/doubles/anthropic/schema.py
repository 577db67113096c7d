"""The fields of a request: which there are, which must be there, which kind of value they hold.

It knows names and JSON kinds (from the SDK's request types, anthropic 2.14). It must never know how fields combine;
that is what the rules are for. The wording is that of the API's validator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from perdure.kernel.value import value
from perdure.testing.doubles.anthropic.asked import (
    BINDING,
    CLEAR_AT,
    EDITING,
    ON_DEMAND,
    TASK_BUDGETS,
    THREADS,
    THRESHOLD,
    TOOL_CHANGES,
    Asked,
    Refused,
)
from perdure.testing.doubles.shape import Body, bodies, body_of, is_object, items, number

_KINDS = {
    "string": "Input should be a valid string",
    "integer": "Input should be a valid integer",
    "boolean": "Input should be a valid boolean",
    "object": "Input should be a valid dictionary",
    "list": "Input should be a valid list",
    "content": "Input should be a valid list",
    "number": "Input should be a valid number",
}


@value
class Shape:
    """The fields of one object, by kind; `null` is accepted where a field is optional."""

    required: Mapping[str, str] = field(default_factory=dict[str, str])
    optional: Mapping[str, str] = field(default_factory=dict[str, str])


def _shape(required: str, optional: str = "") -> Shape:
    """From "name:kind name:kind"."""
    pairs = [dict(entry.split(":") for entry in fields.split()) for fields in (required, optional)]
    return Shape(required=pairs[0], optional=pairs[1])


_TOP = _shape(
    "model:string messages:list max_tokens:integer",
    "billing_policy:any cache_control:object compaction:object container:any context_management:object "
    "diagnostics:object fallback_credit_token:any fallbacks:any inference_geo:string mcp_servers:list metadata:object "
    "output_config:object service_tier:string speed:string stop_sequences:list stream:boolean system:content "
    "temperature:number thinking:object thread:object tool_choice:object tools:list top_k:integer top_p:number",
)
_COUNT = _shape(
    "model:string messages:list",
    "billing_policy:any cache_control:object compaction:object context_management:object mcp_servers:list "
    "output_config:object speed:string system:content thinking:object tool_choice:object tools:list",
)
_RESULT = _shape("tool_use_id:string content:any", "cache_control:object")
BLOCKS: Mapping[str, Shape] = {
    "advisor_tool_result": _RESULT,
    "bash_code_execution_tool_result": _RESULT,
    "code_execution_tool_result": _RESULT,
    "compaction": _shape(
        "", "cache_control:object content:string encrypted_content:string signature:string tool_changes:list"
    ),
    "container_upload": _shape("file_id:string", "cache_control:object"),
    "document": _shape("source:object", "cache_control:object citations:object context:string title:string"),
    "fallback": _shape("to:object", "trigger:any"),
    "image": _shape("source:object", "cache_control:object transformations:object"),
    "mcp_tool_result": _shape("tool_use_id:string", "cache_control:object content:content is_error:boolean"),
    "mcp_tool_use": _shape("id:string input:object name:string server_name:string", "cache_control:object"),
    "redacted_thinking": _shape("data:string"),
    "search_result": _shape("content:list source:string title:string", "cache_control:object citations:object"),
    "server_tool_use": _shape("id:string input:object name:string", "cache_control:object caller:object"),
    "text": _shape("text:string", "cache_control:object citations:list"),
    "text_editor_code_execution_tool_result": _RESULT,
    "thinking": _shape("thinking:string signature:string"),
    "tool_addition": _shape("tool:object", "cache_control:object"),
    "tool_reference": _shape("tool_name:string", "cache_control:object"),
    "tool_removal": _shape("tool:object", "cache_control:object"),
    "tool_result": _shape(
        "tool_use_id:string", "cache_control:object content:content is_error:boolean toolset_name:string"
    ),
    "tool_search_tool_result": _RESULT,
    "tool_use": _shape("id:string input:object name:string", "cache_control:object caller:object toolset_name:string"),
    "web_fetch_tool_result": _shape("tool_use_id:string content:any", "cache_control:object caller:object"),
    "web_search_tool_result": _shape("tool_use_id:string content:any", "cache_control:object caller:object"),
}
"""Every block type that a message may hold."""

_NESTED = frozenset({"text", "image", "document", "search_result", "tool_reference"})
_IN_ROLE: Mapping[str, frozenset[str]] = {
    "user": frozenset(BLOCKS)
    - {"thinking", "redacted_thinking", "tool_use", "tool_addition", "tool_removal", "tool_reference"},
    "assistant": frozenset(BLOCKS) - {"tool_result", "tool_addition", "tool_removal", "tool_reference"},
    "system": frozenset({"text", "tool_addition", "tool_removal", "compaction"}),
}
_MESSAGE = _shape("role:string content:content")
_SYSTEM_MESSAGE = _shape("role:string", "content:content clear_at:string output_config:object")
_CUSTOM_TOOL = _shape(
    "name:string input_schema:object",
    "type:string description:string cache_control:object defer_loading:boolean allowed_callers:list "
    "eager_input_streaming:boolean input_examples:list strict:boolean",
)
_THINKING: Mapping[str, Shape] = {
    "adaptive": _shape("type:string", "block_binding:object display:string"),
    "enabled": _shape("type:string budget_tokens:integer", "block_binding:object display:string"),
    "disabled": _shape("type:string"),
    "between_tools": _shape("type:string"),
}
_GATED: Mapping[str, frozenset[str]] = {
    "context_management": frozenset({EDITING, THRESHOLD}),
    "compaction": frozenset({ON_DEMAND}),
    "thread": frozenset({THREADS}),
}
"""Top-level fields that exist only under one of these betas."""


def check_shape(asked: Asked) -> Iterator[str | Refused]:
    """Every field is known, present where it must be, and of its kind."""
    body = asked.body
    shape = _COUNT if asked.counting else _TOP
    hidden = {name for name, betas in _GATED.items() if not betas & asked.betas}
    yield from _object("", without_fields(shape, hidden), body)
    yield from _system(body.get("system"))
    yield from _messages(asked)
    yield from _tools(asked)
    yield from _settings(asked)


def without_fields(shape: Shape, names: set[str]) -> Shape:
    """The shape as it is to somebody who did not send a beta."""
    return Shape(
        required=shape.required, optional={name: kind for name, kind in shape.optional.items() if name not in names}
    )


def _object(path: str, shape: Shape, value: Body, ignored: tuple[str, ...] = ()) -> Iterator[str]:
    at = f"{path}." if path else ""
    for name, kind in shape.required.items():
        if name not in value:
            yield f"{at}{name}: Field required"
        elif not _is(kind, value[name]):
            yield f"{at}{name}: {_KINDS[kind]}"
    for name, given in value.items():
        if name in shape.required or name in ignored:
            continue
        if name not in shape.optional:
            yield f"{at}{name}: Extra inputs are not permitted"
        elif given is not None and not _is(shape.optional[name], given):
            yield f"{at}{name}: {_KINDS[shape.optional[name]]}"
    yield from _mark(f"{at}cache_control", value.get("cache_control"))


def _mark(path: str, mark: object) -> Iterator[str]:
    if not is_object(mark):
        return
    given = body_of(mark)
    if given.get("type") != "ephemeral":
        yield f"{path}.type: Input should be 'ephemeral'"
    if given.get("ttl", "5m") not in {"5m", "1h"}:
        yield f"{path}.ttl: Input should be '5m' or '1h'"
    for name in given.keys() - {"type", "ttl"}:
        yield f"{path}.{name}: Extra inputs are not permitted"


def _is(kind: str, value: object) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return number(value) is not None
        case "number":
            return isinstance(value, float) or number(value) is not None
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "list":
            return isinstance(value, list)
        case "content":
            return isinstance(value, str | list)
        case _:
            return True


def _system(system: object) -> Iterator[str]:
    for i, block in enumerate(items(system)):
        if body_of(block).get("type") != "text":
            yield f"system.{i}.type: Input should be 'text'"
        yield from _object(f"system.{i}", BLOCKS["text"], body_of(block), ignored=("type",))


def _messages(asked: Asked) -> Iterator[str]:
    for i, message in enumerate(items(asked.body.get("messages"))):
        if not is_object(message):
            yield f"messages.{i}: {_KINDS['object']}"
            continue
        given = body_of(message)
        role = given.get("role")
        if role == "system" and asked.model.accepts_system_messages:
            hidden: set[str] = set() if CLEAR_AT in asked.betas else {"clear_at"}
            yield from _object(f"messages.{i}", without_fields(_SYSTEM_MESSAGE, hidden), given)
        elif role == "system":
            yield (
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
                'not "system" as an input message role.'
            )
        elif role not in {"user", "assistant"}:
            yield f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".'
        else:
            yield from _object(f"messages.{i}", _MESSAGE, given)
        for j, block in enumerate(items(given.get("content"))):
            yield from _block(asked, f"messages.{i}.content.{j}", str(role), block)


def _block(asked: Asked, path: str, role: str, block: object) -> Iterator[str]:
    if not is_object(block):
        yield f"{path}: {_KINDS['object']}"
        return
    given = body_of(block)
    kind = given.get("type")
    if kind is None:
        yield f"{path}.type: Field required"
        return
    if not isinstance(kind, str) or kind not in BLOCKS:
        expected = ", ".join(repr(name) for name in sorted(BLOCKS))
        yield f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        return
    hidden = kind == "compaction" and not {THRESHOLD, ON_DEMAND} & asked.betas
    hidden = hidden or (kind in {"tool_addition", "tool_removal"} and TOOL_CHANGES not in asked.betas)
    if hidden:
        # The message does not name the missing header (Anthropic, on-demand compaction, 2026-09).
        yield f"{path}: `{kind}` is not one of the expected content block types"
        return
    yield from _object(f"{path}.{kind}", BLOCKS[kind], given, ignored=("type",))
    if kind not in _IN_ROLE.get(role, frozenset()):
        yield f"{path}: `{kind}` blocks are not allowed in {role} messages"
    if kind == "tool_result":
        for k, nested in enumerate(items(given.get("content"))):
            inner = body_of(nested).get("type")
            if inner not in _NESTED:
                expected = ", ".join(repr(name) for name in sorted(_NESTED))
                yield (
                    f"{path}.tool_result.content.{k}: Input tag '{inner}' found using 'type' "
                    f"does not match any of the expected tags: {expected}"
                )
            else:
                nested_path = f"{path}.tool_result.content.{k}.{inner}"
                yield from _object(nested_path, BLOCKS[str(inner)], body_of(nested), ignored=("type",))


def _tools(asked: Asked) -> Iterator[str]:
    for i, tool in enumerate(asked.tools):
        # Tools that the provider defines have a dated type and fields of their own: taken as they are.
        if tool.get("type", "custom") in {None, "custom"}:
            yield from _object(f"tools.{i}.custom", _CUSTOM_TOOL, tool)
        elif "input_schema" in tool:
            yield f"tools.{i}.{tool.get('type')}.input_schema: Extra inputs are not permitted"


def _settings(asked: Asked) -> Iterator[str]:
    body = asked.body
    if (thinking := body.get("thinking")) is not None:
        form = body_of(thinking).get("type")
        if form not in _THINKING:
            expected = ", ".join(repr(name) for name in sorted(_THINKING))
            yield f"thinking: Input tag '{form}' found using 'type' does not match any of the expected tags: {expected}"
            return
        hidden: set[str] = set() if BINDING in asked.betas else {"block_binding"}
        yield from _object(f"thinking.{form}", without_fields(_THINKING[str(form)], hidden), body_of(thinking))
    yield from _tool_choice(body)
    config = body_of(body.get("output_config"))
    known = {"effort", "format"} | ({"task_budget"} if TASK_BUDGETS in asked.betas else set[str]())
    for name in config.keys() - known:
        yield f"output_config.{name}: Extra inputs are not permitted"
    if (tokens := number(body.get("max_tokens"))) is not None and tokens < 0:
        yield "max_tokens: Input should be greater than or equal to 0"
    if not asked.counting and bodies(body.get("messages")) == [] and not asked.compacting:
        yield "messages: at least one message is required"


def _tool_choice(body: Body) -> Iterator[str]:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = body_of(choice).get("type")
    if kind not in {"auto", "any", "tool", "none"}:
        yield (
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            "'any', 'auto', 'none', 'tool'"
        )
    elif kind == "tool" and "name" not in body_of(choice):
        yield "tool_choice.tool.name: Field required"
