"""The arguments of a call, as a tool needs them: checked, with what is wrong told to the model.

It knows what models get wrong: names of other harnesses, numbers and lists written as strings. It must never know a
tool beyond its definition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, Tool, decode_json, kind_of
from perdure.tools.failed import ToolFailed

OTHER_NAMES: Mapping[str, str] = {
    "file_path": "path",
    "filePath": "path",
    "file": "path",
    "oldText": "old_string",
    "newText": "new_string",
    "oldString": "old_string",
    "newString": "new_string",
    "replaceAll": "replace_all",
    "run_in_background": "background",
    "workdir": "cwd",
    "-i": "ignore_case",
    "-C": "context",
    "output_mode": "mode",
    "head_limit": "limit",
}
"""What other harnesses call our parameters. A model that was trained there writes these now and then."""


def arguments(given: JsonObject, tool: Tool) -> JsonObject:
    """The arguments under the names of the tool's definition.

    Raises:
        ToolFailed: a required one is missing, or one is unknown.
    """
    known = _object(tool.schema or {}, "properties")
    named = {(OTHER_NAMES.get(name, name) if name not in known else name): value for name, value in given.items()}
    for name in named:
        if name not in known:
            raise ToolFailed(f"{tool.name} has no parameter `{name[:80]}`. It has: {', '.join(known)}.")
    required = (tool.schema or {}).get("required")
    for name in required if isinstance(required, list) else ():
        if isinstance(name, str) and named.get(name) is None:
            raise ToolFailed(f"{tool.name} needs the parameter `{name}`.")
    return {name: value for name, value in named.items() if value is not None}


def text_in(given: JsonObject, name: str, default: str = "") -> str:
    """A string."""
    value = given.get(name, default)
    if isinstance(value, str):
        return value
    raise _wrong(name, value, "a string")


def number_in(given: JsonObject, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number between two bounds, both included."""
    value = given.get(name, default)
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,12}\s*", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(name, value, "a whole number")
    if not least <= value <= most:
        raise ToolFailed(f"The parameter `{name}` must lie between {least:,} and {most:,}, not be {value:,}.")
    return value


def truth_in(given: JsonObject, name: str) -> bool:
    """Yes or no; no where nothing is said."""
    value = given.get(name, False)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _wrong(name, value, "true or false")
    return value


def choice_in(given: JsonObject, name: str, options: Sequence[str]) -> str:
    """One of several words; the first where nothing is said."""
    value = given.get(name, options[0])
    if not isinstance(value, str) or value not in options:
        raise ToolFailed(f"The parameter `{name}` must be one of: {', '.join(options)}.")
    return value


def objects_in(given: JsonObject, name: str) -> tuple[JsonObject, ...]:
    """A list of objects; a model may have written it as a string of JSON, or left out the list around a single one."""
    value: Json = given.get(name)
    if isinstance(value, str):
        try:
            value = decode_json(value)
        except InvalidJson as error:
            raise _wrong(name, value, "a list of objects") from error
    rows = [value] if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise _wrong(name, value, "a list of objects")
    found = tuple(row for row in rows if isinstance(row, dict))
    if len(found) != len(rows):
        raise ToolFailed(f"Each entry of `{name}` must be an object.")
    return found


def _object(schema: JsonObject, name: str) -> JsonObject:
    value = schema.get(name)
    return value if isinstance(value, dict) else {}


def _wrong(name: str, value: Json, wanted: str) -> ToolFailed:
    return ToolFailed(f"The parameter `{name}` must be {wanted}, not {kind_of(value)}.")
