"""Which statement of the user's corrects which earlier one.

It knows values, topics and the words of a correction. It must never drop a statement: it only tells what is no longer
in force. It is careful, since a rule that is wrongly called superseded is a rule lost: without a word of correction two
statements must be alike in everything but the value.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import groupby

from perdure.kernel.context.checkpoint.cues import corrects
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value

LOOK_BACK = 16
"""Earlier statements that share a word and are looked at, the newest first; it keeps the search linear."""

LONGEST_CORRECTION = 240
"""Characters; who corrects something says so briefly, and reports of a change are long."""

_WORD = pattern(r"[A-Za-z][A-Za-z'’]*|[\u4e00-\u9fff]+")
_VALUE = pattern(
    r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|「[^」\n]{1,80}」"
    r"|[\w.+-]+@[\w.-]+|(?:[A-Za-z_][\w-]*[./-])*[A-Za-z_]*\d[\w.:/-]*\s?%?"
    r"|[一二两三四五六七八九十百千万]+(?=秒|分钟|小时|天|周|个|次|条|行|位|页|台|份|倍)"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|"
    r"hundred)\b",
    re.IGNORECASE,
)
_NUMBER = pattern(
    r"[\d.,]+\s?(?:%|[a-z]{1,4})?|[一二两三四五六七八九十百千万]+|[a-z]+(?:teen|ty)|two|three|four|five|six|"
    r"seven|eight|nine|ten"
)
_DIGITS = pattern(r"\d+")
_LETTERS = pattern(r"[a-z]+")
_REPLACED = (
    pattern(
        r"\b(?:instead of|rather than|no longer|replac(?:e|es|ing)|not(?= .{2,60}\bbut\b))"
        r"\s+(?P<old>(?:[^,.;，。；]|\.(?=\S)){2,60})",
        re.IGNORECASE,
    ),
    pattern(
        r"\b(?:from|chang(?:e|ed)(?! of)|switch(?:ed)?|moved?|renamed?)\s+(?P<old>(?:[^,.;]|"
        r"\.(?=\S)){2,60}?)\s+(?:to|with|into)\b",
        re.IGNORECASE,
    ),
    pattern(
        r"(?:不是|不用|不再用|而不是|别用|从)(?P<old>[^，。；]{1,30}?)(?=，|,|而是|了|改成|改为|换成|换到|改用|。|$)"
    ),
)
_REVOKED = pattern(
    r"\b(?:no longer|any ?more|forget (?:about|what|the|that)|scratch (?:that|the)|ignore (?:what|the|my)|"
    r"never mind|drop the|"
    r"lift(?:ed)?|no need)\b|不再|不用再|取消|作废|不需要再|算了",
    re.IGNORECASE,
)
_EMPTY = frozenset(
    (
        "a", "an", "the", "this", "that", "these", "those", "it", "its",
        "is", "are", "was", "were", "be", "been", "to", "of", "in",
        "on", "at", "by", "for", "from", "with", "as", "and", "or",
        "but", "so", "if", "then", "than", "not", "no", "do", "does",
        "did", "don't", "dont", "will", "would", "should", "must", "can", "could",
        "may", "might", "shall", "have", "has", "had", "i", "you", "we",
        "he", "she", "they", "me", "us", "my", "your", "our", "their",
        "please", "now", "instead", "actually", "use", "using", "used", "make", "made",
        "let", "just", "also", "only", "always", "never", "any", "all", "every",
        "each", "new", "old", "one", "want", "need", "like", "get", "set",
        "keep", "go", "change", "changed", "switch", "switched", "correction", "wait", "sorry",
        "rather", "longer",
    )
)  # fmt: skip


@value
class Statement:
    """A passage that may correct or be corrected."""

    message_id: str
    text: str


@value
class Correction:
    """The index of a statement that is no longer in force, and the index of the one that holds instead."""

    old: int
    new: int


@record()
class _Read:
    """What was read out of one statement."""

    words: frozenset[str]
    values: frozenset[str]
    shapes: frozenset[str]
    negated: bool
    corrects: bool
    revokes: bool
    replaced: tuple[str, ...]


@record()
class _Index:
    """Which statements hold a word or a value, in order."""

    by_word: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    by_shape: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))

    def add(self, position: int, read: _Read) -> None:
        for word in read.words:
            self.by_word[word].append(position)
        for shape in read.shapes:
            self.by_shape[shape].append(position)


def corrections(statements: Iterable[Statement], *, settled: int = 0) -> Iterator[Correction]:
    """What each statement corrects, in order. The first `settled` ones correct nothing: that was found earlier."""
    reads: list[_Read] = []
    index = _Index()
    gone: set[int] = set()
    for _, message in groupby(enumerate(statements), key=lambda numbered: numbered[1].message_id):
        first = len(reads)
        for position, statement in message:
            read = _read(statement.text)
            reads.append(read)
            may_correct = position >= settled and _is_spoken(statement.text)
            for old in _corrected(read, index, reads) if may_correct else ():
                if old not in gone:
                    gone.add(old)
                    yield Correction(old=old, new=position)
        for position in range(first, len(reads)):
            index.add(position, reads[position])


def _is_spoken(text: str) -> bool:
    """Whether it is a plain sentence: an item of a list, a heading or a long report tells of changes and makes none."""
    return len(text) <= LONGEST_CORRECTION and (text[0].isalnum() or text[0] in "\"'`“「")


def _corrected(new: _Read, index: _Index, reads: list[_Read]) -> Iterator[int]:
    if not (new.values or new.replaced or new.revokes):
        return
    for position in _candidates(new, index):
        if _is_corrected(reads[position], new):
            yield position
            if not new.replaced and not new.revokes:
                return
    if new.corrects and new.values and len(new.words) <= 1:
        yield from _latest_alike(new, index, reads)


def _candidates(new: _Read, index: _Index) -> list[int]:
    found: set[int] = set()
    for word in new.words:
        found.update(index.by_word.get(word, ())[-LOOK_BACK:])
    for shape in new.shapes:
        found.update(index.by_shape.get(shape, ())[-LOOK_BACK:])
    for phrase in new.replaced:
        words, values = _read_parts(phrase)
        for part in (*words, *map(_shape, values)):
            found.update((*index.by_word.get(part, ())[-LOOK_BACK:], *index.by_shape.get(part, ())[-LOOK_BACK:]))
    return sorted(found, reverse=True)


def _is_corrected(old: _Read, new: _Read) -> bool:
    shared = old.words & new.words
    if any(_is_replaced(old, phrase, shared) for phrase in new.replaced):
        return True
    if new.revokes and shared and len(shared) * 5 >= len(old.words) * 3:
        return True
    if not _values_differ(old, new):
        return False
    if new.corrects:
        return len(shared) >= max(1, min(len(old.words), len(new.words)) // 2)
    return len(shared) >= 2 and old.negated == new.negated and len(shared) / len(old.words | new.words) >= 0.75


def _latest_alike(new: _Read, index: _Index, reads: list[_Read]) -> Iterator[int]:
    """A bare "no, 9090 instead" speaks of the newest value of its shape."""
    shapes = [positions[-1] for shape in new.shapes if (positions := index.by_shape.get(shape))]
    if shapes and _values_differ(reads[max(shapes)], new):
        yield max(shapes)


def _values_differ(old: _Read, new: _Read) -> bool:
    """Whether both name a value of one shape, and not the same."""
    if old.shapes.isdisjoint(new.shapes):
        return False
    fresh, stale = new.values - old.values, old.values if new.negated else old.values - new.values
    return not {_shape(value) for value in fresh}.isdisjoint(_shape(value) for value in stale)


def _is_replaced(old: _Read, phrase: str, shared: frozenset[str]) -> bool:
    """Whether a statement is about what another one calls replaced: it names it, and little else or a shared topic."""
    words, values = _read_parts(phrase)
    if values:
        return values <= old.values
    if not words:
        return False
    return words <= old.words and (bool(shared - words) or len(old.words - words) <= 1)


def _read(text: str) -> _Read:
    words, values = _read_parts(text)
    replaced = tuple(match["old"].strip() for pattern in _REPLACED for match in pattern.finditer(text))
    dropped = {value for phrase in replaced for value in _read_parts(phrase)[1]}
    values = (values - dropped) or values
    return _Read(
        words=words,
        values=values,
        shapes=frozenset(map(_shape, values)),
        negated=re.search(r"\b(?:never|not|no|don['’]?t)\b|不|别|禁止", text, re.IGNORECASE) is not None,
        corrects=corrects(text),
        revokes=_REVOKED.search(text) is not None,
        replaced=replaced,
    )


def _read_parts(text: str) -> tuple[frozenset[str], frozenset[str]]:
    values = frozenset(match.group().strip('`"“” .:,').lower() for match in _VALUE.finditer(text))
    return frozenset(_words(_VALUE.sub(" ", text))), values - {""}


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if "\u4e00" <= word[0] <= "\u9fff":
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        elif word not in _EMPTY and len(word) > 1:
            yield word.removesuffix("s") if len(word) > 3 else word


def _shape(value: str) -> str:
    """What kind of value it is: two values of one shape can stand for one another."""
    if _NUMBER.fullmatch(value):
        return "number"
    return _LETTERS.sub("a", _DIGITS.sub("0", value)) if _DIGITS.search(value) else "name"
