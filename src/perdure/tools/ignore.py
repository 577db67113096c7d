"""What git ignores, and patterns of paths as git writes them.

It knows `.gitignore` files (gitignore(5)). It must never start git: a folder need not be a repository.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from perdure.guard.reading import read_file
from perdure.kernel.value import value

LARGEST = 500_000
"""Bytes of a file of patterns."""


@value
class Rule:
    """One pattern."""

    match: re.Pattern[str]
    """Of a path relative to the folder that the rule is from."""
    base: str
    """That folder, relative to where the walk began: `` or `sub/`."""
    back: bool
    """Whether it takes back that something is ignored (`!`)."""
    folders: bool
    """Whether it holds for folders alone."""
    above: str = ""
    """Where the walk began, relative to the rule's folder, for a rule from further up: `src/app/`."""


def rules_in(folder: Path, base: str) -> tuple[Rule, ...]:
    """The rules that a folder brings, in their order."""
    found: list[Rule] = []
    for name in (".git/info/exclude", ".gitignore"):
        reading = read_file(folder / name, limit=LARGEST)
        for line in reading.text.split("\n") if reading is not None else ():
            rule = _rule(line, base)
            if rule is not None:
                found.append(rule)
    return tuple(found)


def is_ignored(path: str, folder: bool, rules: Sequence[Rule]) -> bool:
    """Whether a path below the start of a walk is ignored; the last rule that matches decides."""
    for rule in reversed(rules):
        if rule.folders and not folder:
            continue
        if path.startswith(rule.base) and rule.match.fullmatch(rule.above + path[len(rule.base) :]):
            return not rule.back
    return False


def pattern_of(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression over relative paths. Without a slash it holds for names in any folder.

    Raises:
        re.error: a class of characters that makes no sense.
    """
    anchored = "/" in glob.rstrip("/")
    body = _translated(glob.strip("/"))
    return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL)


def _rule(line: str, base: str) -> Rule | None:
    text = re.sub(r"(?<!\\)[ \t\r]+$", "", line)
    if not text or text.startswith("#"):
        return None
    back = text.startswith("!")
    text = text[1:] if back else text
    try:
        match = pattern_of(text.removeprefix("\\") if text[:2] in ("\\!", "\\#") else text)
    except re.error:
        return None
    return Rule(match=match, base=base, back=back, folders=text.endswith("/"))


def _translated(glob: str) -> str:
    out, at, open_braces = "", 0, 0
    while at < len(glob):
        letter = glob[at]
        if glob.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
            continue
        if glob.startswith("**", at):
            out, at = out + ".*", at + 2
            continue
        if letter == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out, at = out + "[" + ("^/" + inside[1:] if inside[0] in "!^" else inside) + "]", end + 1
            continue
        if letter == "\\" and at + 1 < len(glob):
            out, at = out + re.escape(glob[at + 1]), at + 2
            continue
        if letter == "{" and "}" in glob[at:]:
            out, open_braces = out + "(?:", open_braces + 1
        elif letter == "}" and open_braces:
            out, open_braces = out + ")", open_braces - 1
        elif letter == "," and open_braces:
            out += "|"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter))
        at += 1
    return out + ")" * open_braces
