"""What a command would do: each program that it runs, behind wrappers and inside substitutions too, and each file
that it names.

It knows wrappers, the folder that a command works in, and which words may be files. It asks `paths` where they lead. It
must never know a rule, and never run anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from perdure.kernel.pattern import pattern
from perdure.kernel.value import record
from perdure.tools.permissions.effects import Effect, Reach, Ruinous, Run, Touch, Unclear
from perdure.tools.permissions.known import (
    ELSEWHERE,
    hazard_of,
    is_quiet,
    name_of,
    operands_to_judge,
    reads_below,
    searches_here,
)
from perdure.tools.permissions.paths import SINKS, Ground, touch_of, touches_of
from perdure.tools.permissions.shell import Redirect, Simple, Word, read_script
from perdure.tools.permissions.wrappers import CHANGES_NAMES, Inner, Shell, Wrapped, unwrap

DEEPEST = 8
"""Commands inside commands that are looked into."""
MOST = 400
"""Simple commands of one text."""

_INERT = pattern(r"(LANG|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CI|COLUMNS|LINES|TERM|PYTHONDONTWRITEBYTECODE|DEBUG)$")
_PRIVATE = pattern(r"(?!.*proxy)[a-z_][a-z0-9_]*$")
_NUMBERS = frozenset({"$?", '"$?"', "$#", '"$#"', "$$", '"$$"', "$!", '"$!"'})
_BOMB = pattern(r"([\w:.]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&")
_DISKS = pattern(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|dm-|md\d)")
_SOCKET = pattern(r"/dev/(?:tcp|udp)/([^/]+)/")
"""What bash connects to (bash 5.2, "Redirections")."""
_FORMATS = pattern(r"(mkfs(\..+)?|mke2fs|wipefs|blkdiscard|mkswap)$")
_FILTERS = pattern(r"(^| )-(?!delete|depth|xdev|mount|noleaf)[a-z]")
_REMOVES = frozenset({"rm", "chmod", "chown", "chgrp", "shred", "mv"})


def effects_of(command: str, cwd: Path, ground: Ground) -> tuple[Effect, ...]:
    """Everything that a command would do. Raises nothing, whatever the text is."""
    looking = _Looking(ground=ground, start=cwd, places=[cwd])
    if _BOMB.search(command):
        looking.add(Ruinous(why="it starts itself over and over, until the machine stands still"))
    looking.script(command, 0)
    return tuple(dict.fromkeys(looking.effects))


@record()
class _Looking:
    """What was found so far."""

    ground: Ground
    start: Path
    places: list[Path]
    """Folders that the command may be in by now."""
    effects: list[Effect] = field(default_factory=list[Effect])
    commands: int = 0

    def add(self, effect: Effect) -> None:
        self.effects.append(effect)

    def unclear(self, why: str) -> None:
        self.add(Unclear(why=why))

    def script(self, text: str, depth: int) -> None:
        if depth > DEEPEST:
            self.unclear("it has commands in too many other commands")
            return
        script = read_script(text)
        for why in script.unclear:
            self.unclear(why)
        for part in script.parts:
            match part:
                case Redirect(target=target, writes=writes):
                    self.redirect(target, writes=writes)
                case Simple():
                    self.simple(part, depth)

    def redirect(self, target: Word, *, writes: bool) -> None:
        if not target.known or target.pattern:
            self.unclear("the file that it redirects to is only known when it runs")
            return
        for path in self.paths(target, target.text):
            if str(path) in SINKS:
                continue
            if (matched := _SOCKET.match(str(path))) is not None:
                self.add(Reach(host=matched[1].lower()))
                continue
            if writes and _DISKS.match(str(path)):
                self.add(Ruinous(why="it writes over a whole disk"))
            self.add(touch_of(path, "write" if writes else "read", self.ground))

    def simple(self, simple: Simple, depth: int) -> None:
        self.commands += 1
        if self.commands > MOST:
            self.unclear(f"it has more than {MOST} commands")
            return
        for _name, value in simple.assigned:
            if value.tilde or value.home or value.text.startswith("/"):
                self.named(value, changes=False)
        told = tuple(
            f"{name}={value.text}"
            for name, value in simple.assigned
            if not (_INERT.match(name) or (_PRIVATE.match(name) and not simple.words))
        )
        words = tuple(_numbered(word) for word in simple.words)
        if not words:
            if told:
                self.add(Run(words=told, hazard="a variable that other programs obey"))
            return
        name = words[0]
        if not name.known or name.pattern or name.tilde or name.home or not name.text.strip():
            self.unclear("the name of a command is only known when it runs")
            self.add(Run(words=(*told, *(word.text for word in words))))
            return
        self.command(words, told, depth, repeated=simple.repeated)

    def command(self, words: tuple[Word, ...], told: tuple[str, ...], depth: int, *, repeated: bool) -> None:
        name = name_of(words[0].text)
        if name in CHANGES_NAMES:
            self.unclear(f"`{name}` changes what names mean, or what runs later")
        inner = unwrap(words)
        for one in inner:
            self.inner(one, told, depth)
        if any(isinstance(one, Wrapped) and one.transparent for one in inner):
            return
        if inner and isinstance(inner[0], Shell) and not told:
            return
        self.program(words, told)
        if name in ("cd", "pushd", "popd"):
            self.go(name, words, repeated=repeated)

    def inner(self, one: Inner, told: tuple[str, ...], depth: int) -> None:
        match one:
            case Shell(text=text) if text.known and not text.home and not told:
                self.script(text.text, depth + 1)
            case Shell():
                self.unclear("what a shell runs is only known when it runs")
            case Wrapped(words=words, more=more):
                if more:
                    self.unclear("some of its arguments are only known when it runs")
                assigned = tuple((word.text.partition("=")[0], Word(text=word.text)) for word in one.assigned)
                more_told = tuple(
                    word.text
                    for word, (name, _value) in zip(one.assigned, assigned, strict=True)
                    if not _INERT.match(name)
                )
                if depth > DEEPEST:
                    self.unclear("it has commands in too many other commands")
                elif not words[0].known or words[0].pattern or words[0].tilde or words[0].home:
                    self.unclear("the name of a command is only known when it runs")
                    self.add(Run(words=tuple(word.text for word in words)))
                else:
                    self.command(words, (*told, *more_told), depth + 1, repeated=False)
            case str():
                self.unclear(one)

    def program(self, words: tuple[Word, ...], told: tuple[str, ...]) -> None:
        texts = tuple(word.text for word in words)
        quiet = is_quiet(texts) and not told
        hazard = hazard_of(texts)
        name = name_of(texts[0])
        if name == "git" and self.places != [self.start]:
            quiet, hazard = False, hazard or ELSEWHERE
        self.add(Run(words=(*told, *texts), quiet=quiet, hazard=hazard))
        judged = operands_to_judge(texts)
        # `operands_to_judge` leaves words out and never changes one, so that each is found by going through in order.
        following = iter(words[1:])
        before = len(self.effects)
        for text in judged:
            word = next(one for one in following if one.text == text)
            self.named(word, changes=not quiet)
        if name == "ln":
            self.link(tuple(word for word in words[1:] if not word.text.startswith("-")))
        if reads_below(texts):
            self.deepen(before, here=searches_here(texts, judged))
        self.ruin(name, words)

    def link(self, words: tuple[Word, ...]) -> None:
        """A link leads on from the folder that it lies in, not from the one that the command works in."""
        for word in words[:-1]:
            if word.known and words[-1].known and not word.text.startswith("/") and "\0" not in word.text:
                for link in self.paths(words[-1], words[-1].text):
                    for folder in (link, link.parent):
                        self.add(touch_of(folder / word.text, "named", self.ground, changes=True))

    def deepen(self, start: int, *, here: bool) -> None:
        """Of the paths that a command named, everything below is read as well."""
        for number, effect in enumerate(self.effects[start:], start):
            if isinstance(effect, Touch):
                self.effects[number] = replace(effect, deep=True)
        for place in self.places if here else ():
            self.add(replace(touch_of(place, "read", self.ground), deep=True))

    def named(self, word: Word, *, changes: bool) -> None:
        """A word that may be a file."""
        if not word.known:
            self.unclear("an argument is only known when it runs")
            return
        if word.tilde and re.match(r"~[-\d]", word.text):
            self.unclear("the folder from before is only known when it runs")
            return
        for text in _file_parts(word):
            for path in self.paths(word, text):
                if not word.pattern:
                    self.add(touch_of(path, "named", self.ground, changes=changes))
                    continue
                found = touches_of(path, "named", self.ground, changes=changes)
                if found is None:
                    self.unclear("a pattern stands for very many files")
                for touch in found or ():
                    self.add(touch)

    def paths(self, word: Word, text: str) -> list[Path]:
        """What a word means in each folder that the command may be in."""
        if "\0" in text or len(text) > 4_096:
            return []
        if word.home == "HOME":
            return [Path(f"{self.ground.home}{text}")]
        if word.home == "PWD":
            return [Path(f"{place}{text}") for place in self.places]
        if word.tilde and text.startswith("~"):
            user, _, rest = text[1:].partition("/")
            if user == "+":
                return [place / rest for place in self.places]
            # Another user's home: some folder that is nobody's root.
            return [self.ground.home / rest if not user else Path("/home") / f"{user}" / rest]
        return [place / text for place in self.places]

    def go(self, name: str, words: tuple[Word, ...], *, repeated: bool) -> None:
        target = words[1:]
        if (
            name != "cd"
            or repeated
            or len(target) > 1
            or any(not word.known or word.pattern or word.text.startswith("-") for word in target)
        ):
            self.unclear("the folder that it goes to is only known when it runs")
            return
        went = self.paths(target[0], target[0].text) if target else [self.ground.home]
        self.places = list(dict.fromkeys([*self.places, *went]))[:32]
        if len(self.places) == 32:
            self.unclear("it goes to very many folders")

    def ruin(self, name: str, words: tuple[Word, ...]) -> None:
        short = name.rsplit("/", 1)[-1].lower()
        texts = [word.text for word in words[1:]]
        if _FORMATS.match(short):
            self.add(Ruinous(why="it makes a disk empty"))
        if short == "dd" and any(text.startswith("of=") and _DISKS.match(text[3:]) for text in texts):
            self.add(Ruinous(why="it writes over a whole disk"))
        if short == "find" and "-delete" in texts and not _FILTERS.search(" ".join(texts)):
            for word in words[1:]:
                if word.known and not word.text.startswith("-"):
                    self.ruined(word)
        recursive = any(re.match(r"-[A-Za-z]*[rR]|--rec", text) for text in texts)
        if short in _REMOVES and (recursive or short == "mv"):
            targets = words[1:-1] if short == "mv" else words[1:]
            for word in targets:
                if word.known and not word.text.startswith("-"):
                    self.ruined(word)

    def ruined(self, word: Word) -> None:
        text = word.text[:-2] or "/" if word.pattern and word.text.endswith("/*") else word.text
        for path in self.paths(word, text):
            real = touch_of(path, "named", self.ground).path
            lost = (self.ground.home, *self.ground.roots)
            inside_only = word.pattern and real in self.ground.roots and real != self.ground.home
            if not inside_only and any(one.is_relative_to(real) for one in lost):
                self.add(Ruinous(why="it would take away a home directory, a whole project, or all there is"))


def _numbered(word: Word) -> Word:
    return Word(text="0") if not word.known and word.text in _NUMBERS else word


def _file_parts(word: Word) -> Sequence[str]:
    """What of a word may be a path: all of it, and what follows an equals sign or the letter of an option."""
    text = word.text
    if word.home:
        return (text,)
    if "://" in text and not text.startswith(("file:", "-")):
        return ()
    parts: list[str] = [] if text.startswith("-") else [text]
    name, equals, value = text.partition("=")
    if equals and value:
        parts.append(value)
    if text.startswith("-") and not equals:
        found = re.search(r"/|~|\.", text)
        if found is not None and text[found.start() :] != "/":
            parts.append(text[found.start() :])
        if len(text) > 3 and text[1] != "-":
            parts.append(text[2:])
    if text.startswith("file:"):
        parts.append(re.sub(r"^file:/*", "/", text))
    # What git and scp take: a revision or a host, and a path.
    if ":" in text and not re.search(r"\s", text):
        parts.extend(text.split(":")[1:])
    # What curl and its like take for the file that holds the value.
    parts.extend(part[1:] for part in tuple(parts) if part.startswith("@"))
    return [part for part in parts if part and not (part == name and not equals and part == "--")]
