"""Words: how a text is cut into them for the index, and how a question becomes one for it.

It knows scripts. It must never know what an original is. SQLite's tokenizer splits at everything that is no letter or
digit, so that parts of paths and identifiers are found; a run of Chinese, Japanese or Korean, which has no spaces, it
would take for one word. Such runs are told to it as overlapping pairs.
"""

from __future__ import annotations

from perdure.kernel.pattern import pattern

_RUN = pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = pattern(r"\w+")

MOST_WORDS = 24
"""Words of a question that are looked for."""


def indexed(text: str) -> str:
    """The text as the index is given it."""
    text = storable(text)
    return text if text.isascii() else _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)


def storable(text: str) -> str:
    """The text without what is no character: a lone surrogate has no place in an index. The original keeps it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def asked(question: str) -> list[str]:
    """The words of a question, as the index knows them, each once."""
    words: list[str] = []
    for word in _WORD.findall(indexed(question).replace("_", " ").lower()):
        if word not in words:
            words.append(word)
    return words[:MOST_WORDS]


def query(words: list[str], joined: str) -> str:
    """The words as a question to FTS5, `joined` by AND or OR. One letter of a script without spaces begins a pair."""
    return f" {joined} ".join(f'"{word}"*' if len(word) == 1 and _RUN.match(word) else f'"{word}"' for word in words)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[place : place + 2] for place in range(len(run) - 1)]
