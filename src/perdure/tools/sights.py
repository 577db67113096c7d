"""What the model of a session that goes on knows of files: read out of its view, and checked against the disk.

It knows the calls of the file tools. It must never take a file as known that was changed since: such a one has to be
read again before it is edited, as in the session that was broken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perdure.kernel.messages import Message, ToolUse
from perdure.tools.disk import real
from perdure.tools.edit import EDIT, lines_of
from perdure.tools.encoding import encoding_of
from perdure.tools.failed import ToolFailed
from perdure.tools.read import READ, read, wanted_of
from perdure.tools.seen import Seen, digest_of
from perdure.tools.workspace import Workspace
from perdure.tools.write import WRITE

NAMES = frozenset({READ.name, WRITE.name, EDIT.name})

LIMIT = 64_000_000
"""Bytes of a file that was written or edited: what the edit tool takes."""
SAME = 0.05
"""Seconds by which a file's time may lie behind that of the result which tells of it."""


def see_again(workspace: Workspace, seen: Seen, view: Sequence[Message]) -> None:
    """Take over what a view shows of files. Raises nothing: what cannot be looked at is not known."""
    for call, time in _succeeded(view):
        try:
            path = real(workspace.resolve(str(call.input.get("path", ""))))
            if path.is_file() and path.stat().st_mtime <= time + SAME:
                _see(workspace, seen, call, path)
        except (ToolFailed, OSError, ValueError):
            continue


def _succeeded(view: Sequence[Message]) -> Iterator[tuple[ToolUse, float]]:
    """The calls of the file tools that went well, and when their results came."""
    calls: dict[str, ToolUse] = {}
    for message in view:
        calls.update((call.id, call) for call in message.tool_uses if call.name in NAMES)
        for result in message.tool_results:
            call = calls.pop(result.tool_use_id, None)
            if call is not None and not result.is_error and message.time is not None:
                yield call, message.time


def _see(workspace: Workspace, seen: Seen, call: ToolUse, path: Path) -> None:
    if call.name == READ.name:
        read(workspace, seen, wanted_of(call.input, workspace))
        return
    about = path.stat()
    if about.st_size > LIMIT:
        return
    data = path.read_bytes()
    encoding = encoding_of(data[:8_192])
    if encoding is None:
        return
    note = seen.wrote if call.name == WRITE.name else seen.changed
    note(path, digest_of(data), mtime=about.st_mtime, lines=lines_of(encoding.decode(data)))
