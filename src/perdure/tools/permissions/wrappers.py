"""Commands that run other commands, and what they run.

It knows the words of `env`, `timeout`, `xargs`, `find -exec`, `sh -c`, `sudo` and their like. It must never know
whether something may run. Where a wrapper has options that it does not know, it says so instead of a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perdure.kernel.value import value
from perdure.tools.permissions.known import name_of
from perdure.tools.permissions.shell import Word


@value
class Wrapped:
    """A command among the words of another."""

    words: tuple[Word, ...]
    assigned: tuple[Word, ...] = ()
    """Assignments that `env` makes."""
    transparent: bool = True
    """The outer command does nothing of its own."""
    more: bool = False
    """It gets further words that are not in the text."""


@value
class Shell:
    """A text that a shell runs."""

    text: Word


Inner: TypeAlias = Wrapped | Shell | str
"""A string says why it cannot be told what runs."""


@value
class _Options:
    """How a wrapper's own words end."""

    alone: str = ""
    """Letters of options without a value."""
    valued: str = ""
    """Letters of options that take one, joined or as the next word."""
    long: tuple[str, ...] = ()
    """Long options that take none, or theirs after an equals sign."""
    operands: int = 0
    """Words of its own behind the options."""
    transparent: bool = True
    more: bool = False


_WRAPPERS: Mapping[str, _Options] = {
    "nohup": _Options(),
    "builtin": _Options(),
    "command": _Options(alone="p"),
    "time": _Options(alone="pvaq", valued="fo"),
    "exec": _Options(alone="cl", valued="a"),
    "setsid": _Options(alone="cfw", long=("--ctty", "--fork", "--wait")),
    "nice": _Options(valued="n", alone="0123456789", long=("--adjustment",)),
    "ionice": _Options(valued="cn", alone="t", long=("--class", "--classdata", "--ignore")),
    "stdbuf": _Options(valued="ioe", long=("--input", "--output", "--error")),
    "timeout": _Options(
        alone="fpv",
        valued="ks",
        long=("--foreground", "--preserve-status", "--verbose", "--kill-after", "--signal"),
        operands=1,
    ),
    "xargs": _Options(
        alone="0rtxp",
        valued="aEIdLnPs",
        long=("--null", "--no-run-if-empty", "--verbose", "--max-args", "--max-procs", "--replace", "--delimiter"),
        more=True,
    ),
    "sudo": _Options(alone="AbEHiknPSs", valued="gupCT", transparent=False),
    "doas": _Options(alone="Lns", valued="uC", transparent=False),
}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh", "rbash"})
_OPAQUE = frozenset(
    {
        "coproc",
        "watch",
        "parallel",
        "script",
        "ssh",
        "su",
        "flock",
        "strace",
        "ltrace",
        "chroot",
        "unshare",
        "nsenter",
        "busybox",
    }
    | {
        "toybox",
        "runuser",
        "systemd-run",
        "at",
        "batch",
        "expect",
        "gdb",
        "entr",
        "chrt",
        "taskset",
        "setarch",
        "firejail",
    }
    | {"bwrap", "pkexec", "proot", "fakeroot", "dbus-run-session", "xvfb-run", "start-stop-daemon", "capsh", "prlimit"}
)
CHANGES_NAMES = frozenset(
    {"alias", "unalias", "enable", "hash", "shopt", "complete", "bind", "trap", "eval", "source", ".", "let", "read"}
    | {"mapfile", "readarray", "declare", "typeset", "local", "readonly", "unset", "getopts", "export"}
) - {"eval", "trap", "source", ".", "export"}
"""Builtins by which a later word no longer means what it says."""


def unwrap(words: tuple[Word, ...]) -> tuple[Inner, ...]:
    """What a command runs besides itself; nothing for most."""
    name, rest = name_of(words[0].text), words[1:]
    if name == "env":
        return _env(rest)
    if name in _SHELLS:
        return _shell(rest)
    if name == "eval":
        if all(word.known and not word.home for word in rest):
            return (Shell(text=Word(text=" ".join(word.text for word in rest))),)
        return ("what `eval` runs is only known when it runs",)
    if name == "trap":
        return (Shell(text=rest[0]),) if rest and not rest[0].text.startswith("-") else ()
    if name == "find":
        return _find(rest)
    if name == "git":
        return _git(rest)
    if name in ("test", "[", "printf") and any("[" in word.text and len(word.text) > 1 for word in _behind_v(rest)):
        return ("it evaluates the subscript of a variable",)
    if name == "command" and rest and re.fullmatch(r"-[pvV]*[vV][pvV]*", rest[0].text):
        return ()
    if name in _OPAQUE:
        return (f"`{name}` runs what it is told", *_tails(rest))
    options = _WRAPPERS.get(name)
    return _behind(name, options, rest) if options is not None else ()


def _behind(name: str, options: _Options, rest: Sequence[Word]) -> tuple[Inner, ...]:
    place = 0
    while place < len(rest) and rest[place].text.startswith("-") and len(rest[place].text) > 1:
        text = rest[place].text
        place += 1
        if text == "--":
            break
        taken = _taken(text, options)
        if taken is None:
            return (f"an option of `{name}` is not known: what it runs cannot be told", *_tails(rest))
        place += taken
    words = tuple(rest[place + options.operands :])
    if any(not word.known for word in rest[:place]):
        return (f"an option of `{name}` is only known when it runs",)
    if not words:
        return ()
    return (Wrapped(words=words, transparent=options.transparent, more=options.more),)


def _taken(text: str, options: _Options) -> int | None:
    """How many further words an option takes; None where it is not known."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        return 0 if name in options.long and (equals or name not in ("--kill-after", "--signal")) else None
    for number, letter in enumerate(text[1:], 1):
        if letter in options.valued:
            return 1 if number == len(text) - 1 else 0
        if letter not in options.alone:
            return None
    return 0


def _env(rest: Sequence[Word]) -> tuple[Inner, ...]:
    place = 0
    while place < len(rest) and rest[place].text.startswith("-"):
        text = rest[place].text
        place += 1
        if text in ("-u", "--unset"):
            place += 1
        elif text not in ("-", "-i", "-0", "--ignore-environment", "--null", "--") and not text.startswith("--unset="):
            return (f"`env {text.partition('=')[0]}` runs what cannot be told", *_tails(rest))
    assigned: list[Word] = []
    while place < len(rest) and re.match(r"[A-Za-z_]\w*=", rest[place].text):
        assigned.append(rest[place])
        place += 1
    if place >= len(rest):
        return ()
    return (Wrapped(words=tuple(rest[place:]), assigned=tuple(assigned)),)


def _shell(rest: Sequence[Word]) -> tuple[Inner, ...]:
    for place, word in enumerate(rest):
        text = word.text
        if not word.known:
            return ("what a shell runs is only known when it runs",)
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", text):
            following = next((one for one in rest[place + 1 :] if not re.match(r"[-+][A-Za-z]", one.text)), None)
            return (Shell(text=following),) if following is not None else ("a shell is given nothing to run",)
        if text in ("-o", "+o", "-O", "+O") or text.startswith("--"):
            if text in ("--version", "--help"):
                return ()
            return ("options of a shell change what it runs",)
        if re.fullmatch(r"[-+][A-Za-z]+", text) and "s" not in text and "i" not in text:
            continue
        if text.startswith("-"):
            break
        return ()
    return ("a shell runs what it reads from its input",)


def _find(rest: Sequence[Word]) -> tuple[Inner, ...]:
    found: list[Inner] = []
    place = 0
    while place < len(rest):
        if rest[place].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next(
                (
                    number
                    for number in range(place + 1, len(rest))
                    if rest[number].text == ";" or (rest[number].text == "+" and rest[number - 1].text == "{}")
                ),
                None,
            )
            if end is None or end == place + 1:
                found.append("what `find` runs cannot be told")
                break
            found.append(Wrapped(words=tuple(rest[place + 1 : end]), transparent=False))
            place = end
        place += 1
    return tuple(found)


def _git(rest: Sequence[Word]) -> tuple[Inner, ...]:
    """Commands of git that run what they are told (git 2.50: rebase, bisect, submodule, filter-branch)."""
    texts = [word.text for word in rest]
    if "rebase" in texts:
        found: list[Inner] = []
        for number, text in enumerate(texts):
            if text in ("-x", "--exec"):
                found.extend(Shell(text=word) for word in rest[number + 1 : number + 2])
            elif text.startswith("--exec="):
                found.append(Shell(text=Word(text=text[7:], known=rest[number].known)))
        return tuple(found)
    if "bisect" in texts and "run" in texts:
        behind = tuple(rest[texts.index("run") + 1 :])
        return (Wrapped(words=behind, transparent=False),) if behind else ()
    if "submodule" in texts and "foreach" in texts:
        behind = tuple(word for word in rest[texts.index("foreach") + 1 :] if word.text != "--recursive")
        return (
            Shell(text=Word(text=" ".join(word.text for word in behind), known=all(word.known for word in behind))),
        )
    return ("`git filter-branch` runs what it is told",) if "filter-branch" in texts else ()


def _behind_v(rest: Sequence[Word]) -> Sequence[Word]:
    place = next((number for number, word in enumerate(rest) if word.text == "-v"), len(rest))
    return rest[place + 1 : place + 2]


def _tails(rest: Sequence[Word]) -> tuple[Wrapped, ...]:
    """Everything that could be the inner command, for denials to look at."""
    starts = [place for place, word in enumerate(rest) if word.text and not word.text.startswith("-")][:6]
    return tuple(Wrapped(words=tuple(rest[place:]), transparent=False) for place in starts)
