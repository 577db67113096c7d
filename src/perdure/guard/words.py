"""Secrets that only what stands around them gives away: passwords, keys without a shape, and addresses with a login.

It knows the words that announce a secret in code, configuration, logs and prose, and what stands in a secret's place
without being one: placeholders, names of variables, references. It must never look for shapes: `shapes` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from math import log2

from perdure.guard.finding import Finding
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

_WORD = pattern(r"pass|pwd")
_NAME = pattern(
    r"(?:pass(?:word|wd|phrase|code|wort)|pwd|secret|token|credential|"
    r"(?:api|access|auth|account|signing|encryption|master|service|private|license|shared|ssh|deploy)[_ .-]?key)"
    r"[a-z0-9_-]{0,20}"
)
"""What announces a secret, in a text in lower case. The other patterns say how the value follows it."""

_QUOTED = pattern(
    r"[\"'`]?\]?\s{0,3}(?::\s?(?:str|String|string)\s?=|:=|=>|=|:|,)\s{0,3}"
    r"(?:[rbuRBU]{0,2})(?P<quote>[\"'`])(?P<secret>[^\"'`\s]{6,200})(?P=quote)"
)
_BARE = pattern(
    r"\s?(?:=|:)\s{0,2}(?P<secret>[^\s\"'`<>,;(){}\[\]&]{8,200})(?=[\s,;)\]}\"'`&]|\Z)",
)
_FLAG = pattern(r"\s{1,3}(?P<quote>[\"']?)(?P<secret>[^\s\"'<>$(){}]{8,200})(?P=quote)")
_PROSE = pattern(
    r"(?:[^\n.:;=\"'`]{0,50}?)\s(?:is|was|to|are|reads|=)(?: now| still)?:?\s{1,2}"
    r"[\"'`“‘«(]?(?P<secret>[^\s\"'`“”‘’«»()<>,]{8,120})"
)
_IS_FLAG = pattern(r"(?:^|\s)--?[\w-]{0,30}\Z")
_HEADER = pattern(
    r"(?:authorization|x-api-key|x-auth-token|api-key|private-token)[\"']?\]?\s?[:=]\s?[\"']?"
    r"(?:(?:bearer|basic|token|apikey)\s+)?(?P<secret>[A-Za-z0-9+/_.~=-]{16,2000})",
    re.IGNORECASE,
)
_BEARER = pattern(r"\bbearer\s+(?P<secret>[A-Za-z0-9+/_.~=-]{20,2000})", re.IGNORECASE)
_LOGIN = pattern(r"://[^\s:/@\"'<>]{0,80}:(?P<secret>[^\s/@\"'<>]{3,200})@[\w.\[-]", re.IGNORECASE)
_NETRC = pattern(r"\b(?:login|user)\s+\S{1,80}\s+password\s+(?P<secret>\S{6,200})", re.IGNORECASE)
_CURL = pattern(r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?[\w.@-]{1,80}:(?P<secret>[^\s\"']{6,200})")
_ODBC = pattern(r"(?:;|\s|\")(?:password|pwd)=(?P<secret>[^;\s\"']{6,200})(?:;|\"|'|$)", re.IGNORECASE | re.MULTILINE)

_PLACEHOLDER = pattern(
    r"x{3,}|\*{3,}|\.{3}|…|<|>|\$\{?|\{\{?|%[({sd]|your|example|sample|dummy|fake|redact|placeholder|change.?me|"
    r"replace|insert|todo|hidden|secret.?here|my.?(?:secret|password|token|key)|foo|bar\b|not.?set|unset|"
    r"^\[secret|^(?:none|null|true|false|undefined|optional|required|string|bearer|basic)|getenv|environ|process\.env|vault:|"
    r"^(?:password|passwd|secret|token|test|abc|123)[\w-]{0,4}$|os\.|self\.|config\.|settings\.|secrets\.",
    re.IGNORECASE,
)
_CODE = pattern(
    r"[A-Za-z_]\w*(?:(?:\.|->|::|\[)[A-Za-z_]\w*\]?)+|[A-Za-z_]\w*\(.*|[\\^|][bdswBDSW(\[].*|/[\w./*-]*|\.+/\S*"
)
"""What is code or a path rather than a value."""


@value
class Announced:
    """A way of announcing a secret."""

    pattern: re.Pattern[str]
    bits: float
    """Entropy that a value must have, in bits per character."""
    kind: str = ""
    """Empty: `password` or `key or token`, by the word that announces it."""
    needles: tuple[str, ...] = ()
    """In lower case; one of them occurs in whatever the pattern matches."""


NAMED: tuple[Announced, ...] = (
    Announced(pattern=_QUOTED, bits=2.5),
    Announced(pattern=_BARE, bits=2.9),
    Announced(pattern=_PROSE, bits=2.7),
)
"""How a value follows the name of a secret."""
FLAG = Announced(pattern=_FLAG, bits=2.9)
"""How it follows a name that is an option of a command."""

BEFORE = 100
"""Characters before a needle that are looked at."""
REACH = 2_400
"""Characters behind one: the longest header that a server takes whole is not much longer."""

_HEADERS = ("authorization", "api-key", "x-auth-token", "private-token")

ANNOUNCED: tuple[Announced, ...] = (
    Announced(kind="authorization", needles=_HEADERS, pattern=_HEADER, bits=3.0),
    Announced(kind="authorization", needles=("bearer",), pattern=_BEARER, bits=3.0),
    Announced(kind="connection string", needles=("://",), pattern=_LOGIN, bits=1.5),
    Announced(kind="password", needles=(" password ",), pattern=_NETRC, bits=2.5),
    Announced(kind="password", needles=("curl ",), pattern=_CURL, bits=2.5),
    Announced(kind="connection string", needles=("password=", "pwd="), pattern=_ODBC, bits=2.5),
)
"""What needs no name, or has one that says more."""


@value
class WordDetector:
    """Finds secrets by the words that announce them, in time that grows with the text and the number of such words."""

    ways: tuple[Announced, ...] = field(default=ANNOUNCED)

    def find(self, text: str) -> Iterable[Finding]:
        """Every announced value that looks like a secret and not like a stand-in for one."""
        lower = text.lower()
        # Lower case may be longer (İ), and then places do not agree; such a text is searched as it is.
        searched = lower if len(lower) == len(text) else text
        yield from _named(searched, text)
        for way in self.ways:
            for start, end in _windows(searched, way.needles):
                for match in way.pattern.finditer(text, start, end):
                    yield from _finding(way, match, "")


def _windows(text: str, needles: tuple[str, ...]) -> list[tuple[int, int]]:
    """The parts of lines, in order and apart, in which a needle stands."""
    windows: list[tuple[int, int]] = []
    for place in sorted(place for needle in needles for place in _places(needle, text)):
        start = max(text.rfind("\n", max(0, place - BEFORE), place) + 1, place - BEFORE, 0)
        newline = text.find("\n", place, place + REACH)
        end = newline if newline >= 0 else min(len(text), place + REACH)
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(end, windows[-1][1]))
        else:
            windows.append((start, end))
    return windows


def _places(needle: str, text: str) -> Iterator[int]:
    place = text.find(needle)
    while place >= 0:
        yield place
        place = text.find(needle, place + len(needle))


def _named(searched: str, text: str) -> Iterator[Finding]:
    for name in _NAME.finditer(searched):
        for way in NAMED:
            match = way.pattern.match(text, name.end())
            if match is not None:
                yield from _finding(way, match, name.group())
        before = max(0, name.start() - 40)
        if text.find("-", before, name.start()) >= 0 and _IS_FLAG.search(text, before, name.start()):
            match = _FLAG.match(text, name.end())
            if match is not None:
                yield from _finding(FLAG, match, name.group())


def _finding(way: Announced, match: re.Match[str], name: str) -> Iterator[Finding]:
    secret = match["secret"].rstrip(".,;:!?")
    if is_secret(secret, way, name):
        place = match.start("secret")
        yield Finding(kind=way.kind or _kind(name), start=place, end=place + len(secret))


def is_secret(value: str, way: Announced, name: str) -> bool:
    """Whether a value is one that a person or a machine made up to be secret."""
    if _PLACEHOLDER.search(value) or _CODE.fullmatch(value):
        return False
    if way.pattern is _LOGIN:
        return len(value) >= 4 and value.lower() not in {"password", "passwd", "pass", "secret", "port", "user"}
    if entropy(value) < way.bits:
        return False
    password = _WORD.match(name) is not None or way.kind in {"password", "connection string"}
    return _is_chosen(value) if password else _is_drawn(value)


def entropy(value: str) -> float:
    """Shannon entropy of a text's own characters, in bits per character."""
    total = len(value)
    return -sum(count / total * log2(count / total) for count in map(value.count, set(value)))


def _is_chosen(value: str) -> bool:
    """A password: letters, and digits or signs among them. Words joined by one sign are a name, not a password."""
    letters = any(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    signs = sum(not character.isalnum() and character not in "_-./:" for character in value)
    return letters and (digits >= 1 or signs >= 1) and re.fullmatch(r"[A-Za-z_.-]+\d?", value) is None


def _is_drawn(value: str) -> bool:
    """A key or token: long enough, and mixed as only chance mixes."""
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return len(value) >= 16 and digits >= 3 and letters >= 3 and (digits >= 6 or re.search(r"[a-z]{9}", value) is None)


def _kind(name: str) -> str:
    return "password" if _WORD.match(name) else "key or token"
