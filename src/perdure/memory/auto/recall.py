"""Recall: the topics that what the user just typed is about.

It knows words, and how much each place of a topic says about it. It asks no model and no network: it runs before every
answer. It must never tell a topic that the view shows already.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from perdure.guard.plain import one_line
from perdure.kernel.pattern import pattern
from perdure.kernel.prompt import Reminder, memory
from perdure.memory.auto.topics import Topic

MOST = 3
"""Topics for one message: a fourth is about something else."""
BYTES = 4 * 1024
"""Bytes of one: 1,000 tokens, which stay in the conversation."""
NAME, DESCRIPTION, BODY = 3.0, 2.0, 1.0
"""What a word is worth where it stands."""
LEAST = 3.0
"""A word of the name, or three of the body: below that, topics are recalled because of words that stand everywhere."""
COMMON = 0.5
"""A word that more than this share of the topics has tells none of them apart."""
FEW = 4
"""With fewer topics than this no word counts as common."""
DAY = 86_400

_PLAIN = pattern(r"[a-z0-9]{3,}")
_WORD = pattern(r"[^\W_]+")
_WIDE = pattern(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

_EMPTY_WORDS = frozenset(
    (
        "about", "add", "after", "again", "all", "also", "and", "any", "are", "ask", "because", "been", "before", "but",
        "can", "check", "could", "did", "does", "doing", "done", "each", "ever", "file", "find", "first", "for", "from",
        "get", "give", "had", "has", "have", "her", "here", "him", "his", "how", "into", "its", "just", "know", "last",
        "let", "like", "look", "make", "many", "may", "more", "most", "much", "must", "need", "new", "next", "not",
        "now", "off", "one", "only", "other", "our", "out", "over", "please", "put", "ran", "run", "said", "same",
        "see", "she", "should", "show", "some", "still", "sure", "take", "tell", "than", "thank", "that", "the",
        "their", "them", "then", "there", "these", "they", "thing", "think", "this", "those", "time", "too", "two",
        "under", "use", "used", "using", "very", "want", "was", "way", "well", "were", "what", "when", "where", "which",
        "while", "who", "why", "will", "with", "work", "would", "yes", "yet", "you", "your",
    )
)  # fmt: skip


def recall(typed: str, topics: Sequence[Topic], shown: Collection[str], now: float) -> tuple[Reminder, ...]:
    """At most three topics that fit what was typed, the best last, where it stands closest to the question.

    `shown` are the keys of memories that the view tells already.
    """
    asked = words(typed)
    if not asked:
        return ()
    places = [_places(topic) for topic in topics]
    counts = Counter(word for place in places for word in {word for each in place for word in each} & asked)
    telling = {word for word in asked if len(topics) < FEW or counts[word] <= COMMON * len(topics)}
    scored = [
        (_score(telling, place), topic.time, str(topic.path), topic)
        for topic, place in zip(topics, places, strict=True)
    ]
    best = sorted((each for each in scored if each[0] >= LEAST and each[2] not in shown), key=lambda each: each[:3])
    return tuple(memory(path, _told(topic, now)) for _, _, path, topic in best[-MOST:])


def words(text: str) -> frozenset[str]:
    """The words of a text that say something: of three letters or more, without a plural's ending; of Chinese, Japanese
    and Korean, which write no spaces, each two characters that follow one another."""
    if text.isascii():
        # The usual text takes the short way: 200 topics are looked through before every answer.
        return frozenset(_singular(word) for word in set(_PLAIN.findall(text.lower())) - _EMPTY_WORDS)
    runs = set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    pairs = (wide[at : at + 2] for run in runs for wide in _WIDE.findall(run) for at in range(len(wide) - 1))
    narrow = {word for run in runs for word in _WIDE.split(run) if len(word) > 2}
    return frozenset((*pairs, *(_singular(word) for word in narrow - _EMPTY_WORDS)))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _places(topic: Topic) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return (
        words(f"{topic.name} {topic.path.stem}"),
        words(topic.description),
        words(topic.text),
    )


def _score(asked: Collection[str], places: tuple[frozenset[str], frozenset[str], frozenset[str]]) -> float:
    """Each word counts once, where it weighs most."""
    name, description, body = places
    return sum(
        NAME if word in name else DESCRIPTION if word in description else BODY if word in body else 0.0
        for word in asked
    )


def _told(topic: Topic, now: float) -> str:
    text = topic.text
    if len(text.encode()) > BYTES:
        text = text.encode()[:BYTES].decode("utf-8", "ignore")
        text = (text.rpartition("\n")[0] or text).rstrip()
        text += "\n\n[It goes on; read the file for the rest.]"
    days = int((now - topic.time) // DAY)
    since = "a day" if days == 1 else f"{days} days"
    age = f"Written {since} ago: check what it says before you rely on it.\n" if days > 0 else ""
    return f"{one_line(topic.name)}\n{age}\n{text}"
