"""Rules of permission, as people write them: `bash(git status:*)`, `read(src/**)`, `write(docs/*.md)`,
`fetch(example.org)`, `mcp(server/tool)`, or the kind alone for all of it.

It knows their grammar, and when one applies. A rule that allows is read narrowly, one that denies or asks is read
broadly. It must never know what follows from a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Literal, TypeAlias, cast

from perdure.kernel.errors import UserError
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.tools.permissions.shell import Simple, read_script

Kind: TypeAlias = Literal["bash", "read", "write", "fetch", "mcp"]
KINDS = ("bash", "read", "write", "fetch", "mcp")

_SHAPE = pattern(r"\s*([A-Za-z_]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_HOST = pattern(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_OTHER_NAMES = {"edit": "write", "shell": "bash", "run": "bash", "web_fetch": "fetch", "web": "fetch", "glob": "read"}
_GIT_OPTIONS_WITH_VALUE = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"})


@value
class Rule:
    """One rule."""

    text: str
    """As it was written."""
    kind: Kind
    words: tuple[str, ...] = ()
    """Of `bash`: the words of the command, or those that it begins with."""
    open: bool = False
    """Of `bash`: more words may follow."""
    pattern: str = ""
    """Of the others; empty: everything of the kind."""


def parse_rules(texts: Iterable[str], place: str) -> tuple[Rule, ...]:
    """Read rules. `place` is told where one is wrong: the file and key that they stand in.

    Raises:
        UserError: a text that is no rule; the message says which one, why, and what may have been meant.
    """
    return tuple(_parsed(text, f"{place}, rule {number}") for number, text in enumerate(texts, 1))


def allows_command(rule: Rule, words: Sequence[str]) -> bool:
    """Whether a rule covers exactly this command, word by word."""
    if rule.kind != "bash":
        return False
    return tuple(words[: len(rule.words)]) == rule.words and (rule.open or len(words) == len(rule.words))


def forbids_command(rule: Rule, words: Sequence[str]) -> bool:
    """Whether a rule speaks of this command, however its name, letter case, options and their order are written."""
    if rule.kind != "bash":
        return False
    if not rule.words:
        return True
    given, wanted = _spoken(words), _spoken(rule.words)
    if not given or given[0] != wanted[0] or not _has_options(given, wanted):
        return False
    rest = [word for word in given[1:] if not word.startswith("-")]
    sought = [word for word in wanted[1:] if not word.startswith("-")]
    following = iter(rest)
    in_order = all(any(word == one for one in following) for word in sought)
    return in_order and (rule.open or len(rest) == len(sought))


def covers_path(rule: Rule, path: PurePath, root: Path, home: Path, *, fold: bool) -> bool:
    """Whether a rule of `read` or `write` speaks of a path, which has no links in it."""
    if not rule.pattern:
        return True
    given, pattern = str(path), _absolute(rule.pattern, root, home)
    flags = re.IGNORECASE if fold else 0
    return _expression(pattern, flags).fullmatch(given) is not None


def covers_host(rule: Rule, host: str) -> bool:
    """Whether a rule of `fetch` speaks of a host. `*.example.org` means those below it."""
    wanted = rule.pattern.lower()
    if not wanted:
        return True
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def covers_tool(rule: Rule, server: str, tool: str) -> bool:
    """Whether a rule of `mcp` speaks of a tool. `server` alone and `server/*` mean all of them."""
    if not rule.pattern:
        return True
    wanted_server, _, wanted_tool = rule.pattern.partition("/")
    return wanted_server == server and wanted_tool in ("", "*", tool)


def is_absolute(rule: Rule) -> bool:
    """Whether a rule of `read` or `write` names a place by itself, not one in the project."""
    return rule.pattern.startswith(("/", "~/"))


def place_of(rule: Rule, root: Path, home: Path) -> Path | None:
    """The one place that a rule of `read` or `write` names; None where it has a pattern."""
    if not rule.pattern or re.search(r"[*?\[\\]", rule.pattern):
        return None
    return home / rule.pattern[2:] if rule.pattern.startswith("~/") else root / rule.pattern


def _parsed(text: str, place: str) -> Rule:
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise _wrong(text, place, "it has no shape of a rule; write KIND(WHAT), such as `bash(git status:*)`")
    kind, what = shape[1], shape[2]
    if kind not in KINDS:
        near = [_OTHER_NAMES[kind.lower()]] if kind.lower() in _OTHER_NAMES else get_close_matches(kind.lower(), KINDS)
        meant = f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(KINDS)}"
        raise _wrong(text, place, f"there is no kind {kind!r}; {meant}")
    if what is not None and not what.strip():
        raise _wrong(text, place, f"nothing stands between its brackets; write `{kind}` alone for all of it")
    inner = (what or "").strip()
    if "\0" in inner or "\n" in inner:
        raise _wrong(text, place, "it has a line break or a NUL")
    if kind == "bash":
        return _command_rule(text, place, inner)
    _check_pattern(text, place, kind, inner)
    return Rule(text=text, kind=cast(Kind, kind), pattern=inner)


def _command_rule(text: str, place: str, inner: str) -> Rule:
    if inner in ("", "*", ":*"):
        return Rule(text=text, kind="bash", open=True)
    command, open_ended = (inner[:-2], True) if inner.endswith(":*") else (inner, False)
    if command.endswith(" *"):
        raise _wrong(text, place, f"a command that may go on ends with `:*`: did you mean `bash({command[:-2]}:*)`?")
    script = read_script(command)
    match script.parts:
        case [Simple(words=words, assigned=assigned)] if not script.unclear and words:
            told = (*assigned, *words)
        case _:
            raise _wrong(
                text, place, "it has to be one plain command, without operators; each command is judged by itself"
            )
    if any(not word.known or word.home for word in words):
        raise _wrong(text, place, "a rule has no variables in it; write the words themselves")
    named = tuple(f"{name}={word.text}" for name, word in assigned)
    return Rule(text=text, kind="bash", words=(*named, *(word.text for word in words)), open=open_ended and bool(told))


def _check_pattern(text: str, place: str, kind: str, inner: str) -> None:
    if kind == "fetch" and inner:
        if "/" in inner:
            host = re.sub(r"^[a-z]+://", "", inner).split("/")[0]
            raise _wrong(text, place, f"it takes a host, not an address: did you mean `fetch({host})`?")
        if not _HOST.fullmatch(inner):
            raise _wrong(text, place, "it takes a host such as `example.org`, or `*.example.org` for those below it")
    if kind == "mcp" and inner and (inner.count("/") > 1 or inner.startswith("/") or "*" in inner[:-1]):
        raise _wrong(text, place, "it takes `server`, `server/tool` or `server/*`")
    if kind in ("read", "write") and ".." in PurePath(inner).parts:
        raise _wrong(text, place, "a path in a rule has no `..`; write where it leads to")


def _wrong(text: str, place: str, why: str) -> UserError:
    return UserError(f"{place}: {text!r} is no rule: {why}")


def _spoken(words: Sequence[str]) -> list[str]:
    """A command as a denial reads it: without assignments, by the last part of its name, in small letters."""
    rest = list(words)
    while len(rest) > 1 and re.match(r"[A-Za-z_]\w*=", rest[0]):
        del rest[0]
    if not rest:
        return []
    rest[0] = rest[0].rstrip("/").rsplit("/", 1)[-1].lower().removesuffix(".exe")
    if rest[0] == "git":
        while len(rest) > 1 and rest[1].startswith("-"):
            del rest[1 : 3 if rest[1] in _GIT_OPTIONS_WITH_VALUE else 2]
    return rest


def _has_options(given: Sequence[str], wanted: Sequence[str]) -> bool:
    long = {word.partition("=")[0] for word in given if word.startswith("--")}
    letters = {letter for word in given if _is_cluster(word) for letter in word[1:]}
    return all(
        (set(word[1:]) <= letters or word in given) if _is_cluster(word) else word.partition("=")[0] in long
        for word in wanted[1:]
        if word.startswith("-") and word not in ("-", "--")
    )


def _is_cluster(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and word[1] != "-"


def _absolute(pattern: str, root: Path, home: Path) -> str:
    if pattern.startswith("~/"):
        return f"{_quoted(home)}/{pattern[2:]}"
    return pattern if pattern.startswith("/") else f"{_quoted(root)}/{pattern.removeprefix('./')}"


def _quoted(folder: Path) -> str:
    """A folder in a pattern, whose signs mean themselves."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", str(folder).rstrip("/"))


def _expression(pattern: str, flags: int) -> re.Pattern[str]:
    """`**` is any number of folders, `*` and `?` stay in one. A pattern of a folder means what lies in it as well."""
    made: list[str] = []
    for piece in re.findall(r"/\*\*(?=/|$)|\*\*/?|\*|\?|\\.|.", pattern.rstrip("/"), flags=re.DOTALL):
        match piece:
            case "/**":
                made.append("(?:/.*)?")
            case "**" | "**/":
                made.append(".*")
            case "*":
                made.append("[^/]*")
            case "?":
                made.append("[^/]")
            case _:
                made.append(re.escape(piece[-1]))
    return re.compile("".join(made) + "(?:/.*)?", flags | re.DOTALL)
