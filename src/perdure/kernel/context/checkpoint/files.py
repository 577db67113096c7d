"""Which files were read and which were modified, told from tool calls.

It knows the argument shapes and names of common file tools, the patch format and plain shell commands. It must never
touch a file. A call that failed, or has no result, read and changed nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from perdure.kernel.context.checkpoint.calls import Call
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

Use: TypeAlias = Literal["read", "modified"]

MOST_FILES = 200
"""Files of one list that a checkpoint carries, the newest ones."""
COMMAND_READ = 4_000
"""Characters of a shell command that are looked at."""

PATHS = (
    "file_path", "path", "filename", "file", "filepath", "filePath", "notebook_path", "target_file", "absolute_path",
    "relative_workspace_path", "destination",
)  # fmt: skip
CHANGES = (
    "content", "contents", "new_string", "new_str", "old_string", "old_str", "edits", "new_source", "file_text", "diff",
    "replacement", "insert_text", "newText", "oldText", "code_edit",
)  # fmt: skip
EDITOR_COMMANDS: dict[str, Use] = {
    "view": "read",
    "read": "read",
    "create": "modified",
    "str_replace": "modified",
    "insert": "modified",
    "undo_edit": "modified",
    "write": "modified",
    "edit": "modified",
    "delete": "modified",
}

_NAME_WORDS = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MODIFIES = frozenset(
    (
        "write", "edit", "create", "patch", "replace", "append", "insert", "delete", "remove",
        "move", "rename", "modify", "update", "multiedit",
    )
)  # fmt: skip
_READS = frozenset(
    (
        "read", "view", "open", "cat", "load",
    )
)  # fmt: skip
_LOOKS = frozenset(
    (
        "list", "ls", "glob", "grep", "search", "find", "directory", "tree", "dir",
        "memory",
    )
)  # fmt: skip
_PATCHED = pattern(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_WORD = r"(?:'[^'\n]+'|\"[^\"\n]+\"|[^\s|;&<>'\"()`$]+)"
_SHELL_READ = pattern(
    rf"(?:^|[|;&(]|&&)\s*(?:cat|head|tail|less|more|nl|bat|sed\s+-n|wc\s+-l)\s+(?P<rest>(?:{_WORD}[ \t]*)+)"
)
_SHELL_WRITE = (
    pattern(rf"(?<![0-9&>-])>{{1,2}}\s*(?P<path>{_WORD})"),
    pattern(rf"(?:^|[|;&(])\s*(?:tee(?:\s+-a)?|touch|rm(?:\s+-\w+)*)\s+(?P<path>{_WORD})"),
    pattern(rf"(?:^|[|;&(])\s*sed\s+(?:-\w+\s+)*-i\S*\s+(?:{_WORD}\s+)+?(?P<path>[^\s|;&<>'\"()]+\.\w+)"),
    pattern(rf"(?:^|[|;&(])\s*(?:mv|cp)\s+(?:-\w+\s+)*{_WORD}\s+(?P<path>{_WORD})"),
)  # fmt: skip
_LIKE_A_FILE = pattern(r"^(?!-)(?!\d+(?:,\d+)?p?$)(?!.*\*)(?:.*/)?[\w@+.-]*(?:\.\w+|file|FILE|LICENSE|README)$")


@value
class Files:
    """Two lists in the order of last use, the newest last."""

    read: tuple[str, ...] = ()
    """Read and not modified."""
    modified: tuple[str, ...] = ()


def files_of(calls: Iterable[Call], *, read: Iterable[str] = (), modified: Iterable[str] = ()) -> Files:
    """The files that these calls used, behind those that earlier checkpoints carried."""
    last: dict[Use, dict[str, None]] = {"read": dict.fromkeys(read), "modified": dict.fromkeys(modified)}
    for call in calls:
        if call.succeeded:
            for use, path in uses_of(call):
                last[use].pop(path, None)
                last[use][path] = None
    changed = last["modified"]
    only_read = [path for path in last["read"] if path not in changed]
    return Files(read=tuple(only_read[-MOST_FILES:]), modified=tuple([*changed][-MOST_FILES:]))


def uses_of(call: Call) -> Iterator[tuple[Use, str]]:
    """What a call reads or modifies, each file once, whether or not it succeeded."""
    patch = call.raw or call.argument("patch", "input") or call.command
    patched = _PATCHED.findall(patch) if "*** " in patch else []
    if patched:
        yield from _each("modified", dict.fromkeys(patched))
        return
    paths = dict.fromkeys(_paths(call))
    if paths:
        use = _use(call)
        if use is not None:
            yield from _each(use, paths)
        return
    yield from _of_command(call.command)


def _each(use: Use, paths: Iterable[str]) -> Iterator[tuple[Use, str]]:
    return ((use, path) for path in paths)


def _paths(call: Call) -> Iterator[str]:
    for name in PATHS:
        value = call.input.get(name)
        if isinstance(value, str) and value.strip() and "\n" not in value:
            yield value
    listed = call.input.get("paths")
    if isinstance(listed, list):
        yield from (path for path in listed if isinstance(path, str))


def _use(call: Call) -> Use | None:
    if call.command in EDITOR_COMMANDS:
        return EDITOR_COMMANDS[call.command]
    words = {word.lower() for word in _NAME_WORDS.findall(call.name)}
    if words & _LOOKS:
        return None
    if any(name in call.input for name in CHANGES) or words & _MODIFIES:
        return "modified"
    return "read" if words & _READS else None


def _of_command(command: str) -> Iterator[tuple[Use, str]]:
    text = command[:COMMAND_READ]
    if not text:
        return
    heredoc = text.find("<<")
    written = text if heredoc < 0 else text[: text.find("\n", heredoc) if "\n" in text[heredoc:] else None]
    for write in _SHELL_WRITE:
        for match in write.finditer(written):
            yield from _each("modified", _files_in(match["path"]))
    for match in _SHELL_READ.finditer(written):
        if not re.search(r"^\s*\S*-i\b", match["rest"]):
            yield from _each("read", _files_in(match["rest"]))


def _files_in(words: str) -> Iterator[str]:
    for word in re.findall(_WORD, words):
        path = word.strip("'\"")
        if _LIKE_A_FILE.match(path) and not path.startswith("/dev/"):
            yield path
