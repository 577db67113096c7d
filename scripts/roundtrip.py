"""Decode and encode again everything that recorded sessions hold in a provider's format, and count what came out equal.

    python scripts/roundtrip.py PATH...

Each path is a file (`.jsonl`: one value a line; else one JSON value) or a folder of them. Looked for are requests,
responses, lists of messages and items, wherever they stand. The exit status is 1 if anything came out different.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from perdure.kernel.errors import PerdureError
from perdure.kernel.messages import Json, JsonObject, decode_json, decode_object, encode_json
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES, Codec

Again: TypeAlias = Callable[[list[JsonObject]], list[JsonObject]]

SUFFIXES = {".json", ".jsonl", ".traj"}
CHAT_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Objects of one format that belong together."""

    format: str
    given: list[JsonObject]
    again: Again


@dataclass(slots=True, kw_only=True)
class Count:
    """What came of the objects of one format."""

    identical: int = 0
    equal: int = 0
    different: int = 0
    first: str = ""
    """Where the first difference is."""


@dataclass(slots=True, kw_only=True)
class Table:
    """The counts of all formats."""

    counts: dict[str, Count] = field(default_factory=dict[str, Count])

    def add(self, found: Found, place: str) -> None:
        """Take the objects round, and count them."""
        count = self.counts.setdefault(found.format, Count())
        try:
            made = found.again(found.given)
        except PerdureError as error:
            count.different += len(found.given)
            count.first = count.first or f"{place}: {error}"
            return
        made += [{} for _ in found.given[len(made) :]]
        for index, given in enumerate(found.given):
            again = made[index]
            if encode_json(given) == encode_json(again):
                count.identical += 1
            elif given == again:
                count.equal += 1
            else:
                count.different += 1
                count.first = count.first or f"{place}[{index}]{difference(given, again)}"

    def show(self) -> str:
        """One line per format."""
        lines = [f"{'format':<22}{'objects':>9}{'identical':>11}{'equal':>9}{'different':>11}  first difference"]
        for name, count in sorted(self.counts.items()):
            total = count.identical + count.equal + count.different
            lines.append(
                f"{name:<22}{total:>9}{count.identical:>11}{count.equal:>9}{count.different:>11}  {count.first}"
            )
        return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the table; 1 if anything differs or nothing was named."""
    if not arguments:
        print(__doc__)
        return 1
    table = Table()
    for path in files(Path(argument) for argument in arguments):
        for place, value in values(path):
            for found in find(value):
                table.add(found, place)
    print(table.show())
    return int(any(count.different for count in table.counts.values()))


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of these paths, sorted within each folder."""
    for path in paths:
        if path.is_dir():
            yield from sorted(inner for inner in path.rglob("*") if inner.suffix in SUFFIXES)
        else:
            yield path


def values(path: Path) -> Iterator[tuple[str, Json]]:
    """The JSON values of a file, with their places."""
    if path.suffix != ".jsonl":
        yield path.name, decode_json(path.read_bytes())
        return
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            yield f"{path.name}:{number}", decode_json(line)


def find(value: Json) -> Iterator[Found]:
    """Everything inside a value that is in a provider's format."""
    if isinstance(value, list):
        for item in value:
            yield from find(item)
    if not isinstance(value, dict):
        return
    found = of_response(value) or of_request(value) or of_line(value)
    if found is not None:
        yield found
        return
    for name, item in value.items():
        history = of_list(name, item)
        if history is None:
            yield from find(item)
            continue
        yield history
        for message in history.given:
            yield from find({key: inner for key, inner in message.items() if key not in {"content", "tool_calls"}})


def of_response(value: JsonObject) -> Found | None:
    """A response: an envelope of Anthropic's, of chat completions or of OpenAI's responses."""
    match value:
        case {"type": "message", "role": "assistant", "content": list(), "usage": _}:
            return Found(format="anthropic response", given=[value], again=responses_with(ANTHROPIC))
        case {"object": "chat.completion", "choices": list()}:
            return Found(format="chat response", given=[value], again=responses_with(CHAT))
        case {"object": "response", "output": list()}:
            return Found(format="responses response", given=[value], again=responses_with(RESPONSES))
        case _:
            return None


def of_request(value: JsonObject) -> Found | None:
    """A request: it names a model and has messages or input."""
    match value:
        case {"model": str(), "messages": list(messages)} if are_messages(messages):
            codec = CHAT if is_chat(value, messages) else ANTHROPIC
            return Found(format=f"{codec.dialect} request", given=[value], again=requests_with(codec))
        case {"model": str(), "input": list(items)} if items and all(isinstance(item, dict) for item in items):
            return Found(format="responses request", given=[value], again=requests_with(RESPONSES))
        case _:
            return None


def of_line(value: JsonObject) -> Found | None:
    """A line of a session log whose message or item is as the provider has it."""
    match value:
        case {"type": "user" | "assistant" as kind, "message": {"role": role} as message} if kind == role:
            if of_response(message) is None:
                return Found(format="anthropic message", given=[message], again=messages_with(ANTHROPIC))
        case {"type": "response_item", "payload": dict(item)}:
            return Found(format="responses item", given=[item], again=messages_with(RESPONSES))
        case _:
            pass
    return None


def of_list(name: str, value: Json) -> Found | None:
    """A list of messages or items under a name that says so."""
    if not isinstance(value, list):
        return None
    if name in {"messages", "history"} and are_messages(value):
        codec = CHAT if is_chat({}, value) else ANTHROPIC
        return Found(format=f"{codec.dialect} message", given=objects(value), again=messages_with(codec))
    if name == "replacement_history" and value:
        return Found(format="responses item", given=objects(value), again=messages_with(RESPONSES))
    return None


def are_messages(values: list[Json]) -> bool:
    """Whether these are messages: all with a role, and with content or calls."""
    return bool(values) and all(
        isinstance(value, dict) and value.get("role") in CHAT_ROLES and ("content" in value or "tool_calls" in value)
        for value in values
    )


def is_chat(body: JsonObject, messages: list[Json]) -> bool:
    """Whether messages are those of chat completions: by their roles and calls, or else by what Anthropic alone has."""
    if "system" in body or "anthropic_version" in body:
        return False
    inner = [block for message in objects(messages) for block in listed(message.get("content"))]
    if any(block.get("type") in ANTHROPIC_BLOCKS for block in inner):
        return False
    return any(
        message.get("role") not in {"user", "assistant"} or "tool_calls" in message for message in objects(messages)
    )


def objects(values: list[Json]) -> list[JsonObject]:
    """Those of these values that are objects."""
    return [value for value in values if isinstance(value, dict)]


def listed(value: Json) -> list[JsonObject]:
    """The objects of a value that may be a list."""
    return objects(value) if isinstance(value, list) else []


def requests_with(codec: Codec) -> Again:
    """The way round for requests."""
    return lambda given: [decode_object(codec.encode_request(codec.decode_request(body))) for body in given]


def responses_with(codec: Codec) -> Again:
    """The way round for responses."""
    return lambda given: [decode_object(codec.encode_response(codec.decode_response(body))) for body in given]


def messages_with(codec: Codec) -> Again:
    """The way round for a list of messages or items."""
    return lambda given: codec.encode_messages(codec.decode_messages(given))


def difference(given: Json, again: Json) -> str:
    """The path of the first part that differs; never its content, which may be private."""
    if isinstance(given, dict) and isinstance(again, dict):
        for name in [*given, *(name for name in again if name not in given)]:
            if name not in given or name not in again:
                return f"/{name} is {'new' if name in again else 'missing'}"
            if given[name] != again[name]:
                return f"/{name}{difference(given[name], again[name])}"
    if isinstance(given, list) and isinstance(again, list):
        for index, (one, other) in enumerate(zip(given, again, strict=False)):
            if one != other:
                return f"/{index}{difference(one, other)}"
        return f" has {len(again)} parts instead of {len(given)}"
    return " differs"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
