"""Generated sessions as files of the form that Claude Code leaves behind: one line of JSON per message.

It knows that form. It must never know a policy. What such files often hold twice, the results beside the messages, is
left out, since it would be read at no cost and make the figures look better.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from perdure.kernel.messages import Json, JsonObject, Message, Usage, encode_json
from perdure.kernel.wire import ANTHROPIC
from perdure.testing.sessions import GeneratedSession, generate

SEEDS = 8
"""Different sessions; after them the first comes again, under other ids."""


def write(folder: Path, size: int) -> list[Path]:
    """Files of one session each, about `size` bytes together."""
    sessions = [list(_lines(generate(seed))) for seed in range(SEEDS)]
    paths: list[Path] = []
    while size > 0:
        number = len(paths)
        path = folder / f"{number:04}.jsonl"
        text = b"".join(line.replace(b"SESSION", b"%07d" % number) for line in sessions[number % SEEDS])
        path.write_bytes(text)
        paths.append(path)
        size -= len(text)
    return paths


def write_session(path: Path, seed: int) -> None:
    """One session, made up from a seed."""
    path.write_bytes(b"".join(line.replace(b"SESSION", b"%07d" % seed) for line in _lines(generate(seed))))


def together(paths: list[Path], path: Path) -> Path:
    """All of them one behind the other in one file, as one long session."""
    with path.open("wb") as handle:
        parent = b"null"
        for part in paths:
            for line in part.read_bytes().splitlines(keepends=True):
                handle.write(line.replace(b'"parentUuid":null', b'"parentUuid":' + parent, 1))
                start = line.index(b'"uuid":') + 7
                parent = line[start : line.index(b",", start)]
    return path


def _lines(session: GeneratedSession) -> Iterator[bytes]:
    parent: str | None = None
    for message in session.transcript:
        name = f"SESSION-{message.id}"
        line: JsonObject = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/project",
            "sessionId": "SESSION",
            "version": "2.1.62",
            "type": message.role,
            "message": _message(message, name),
            "uuid": name,
            "timestamp": datetime.fromtimestamp(message.time or 0.0, UTC).isoformat().replace("+00:00", "Z"),
        }
        yield encode_json(line) + b"\n"
        parent = name


def _message(message: Message, name: str) -> JsonObject:
    (wire,) = ANTHROPIC.encode_messages([message])
    # Ids of calls are the provider's, unique among all sessions.
    if message.usage is None:
        return wire
    return {
        "model": message.model,
        "id": f"msg_{name}",
        "type": "message",
        **wire,
        "stop_reason": message.stop_reason,
        "usage": _usage(message.usage),
    }


def _usage(usage: Usage) -> dict[str, Json]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
