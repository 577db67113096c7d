"""What stands around an output: the few lines that a harness prints before and after it, or the JSON that carries it.

It knows how outputs are wrapped. It must never know what is inside: each body is reduced by its own kind, and what was
around it (exit code, times, ids) stays.
"""

from __future__ import annotations

from perdure.kernel.context.entry.classify import kind_of_body
from perdure.kernel.context.entry.ends import draft_ends
from perdure.kernel.context.entry.json_text import draft_value
from perdure.kernel.context.entry.kind import Draft, Kind
from perdure.kernel.context.entry.reducers import REDUCERS
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, decode_json
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

_OPENING = pattern(
    r"(?:[^\n]{0,200}\n){0,8}?(?:Output:|<output>|<stdout>)[ ]{0,4}\n(?:Total output lines: \d{1,9}\n\n?)?"
    r"|Here's the result of running [^\n]{1,300}:\n"
)
_CLOSING = pattern(
    r"\[(?:The command|Current working|Python interpreter|Command )[^\n]{0,300}\]$|</\w{1,20}>$"
    r"|(?:Command )?[Ee]xit(?:ed with)? code:? -?\d{1,5}$|\s*$"
)
_CLOSING_LINES = 6

_INSIDE = 3
"""Levels of JSON that are looked through for the text which it carries."""

_MOSTLY = 0.6
"""The share of the whole from which a text in JSON is what the output really is."""


@value
class Wrapped:
    """A body, and the lines before and after it."""

    opening: str
    body: str
    closing: str


def unwrap(text: str) -> Wrapped:
    """Separate what a harness printed around an output from the output."""
    found = _OPENING.match(text[:4_000])
    start = found.end() if found else 0
    end = len(text)
    for _ in range(_CLOSING_LINES):
        line_start = text.rfind("\n", start, end)
        if line_start < 0 or end - line_start > 400 or not _CLOSING.match(text[line_start + 1 : end]):
            break
        end = line_start
    return Wrapped(opening=text[:start].rstrip("\n"), body=text[start:end], closing=text[end:].strip("\n"))


def kind_of_output(text: str, hint: str = "") -> Kind:
    """The kind of an output; `hint` is the call's description, such as `read src/app.py` or `bash pytest -q`.

    Cheap: a bounded sample is looked at, and the number of line ends counted.
    """
    return kind_of_body(unwrap(text).body, hint)


def draft_of(text: str, hint: str) -> tuple[Kind, Draft]:
    """The kind of an output and its draft, wrapping kept."""
    wrapped = unwrap(text)
    kind = kind_of_body(wrapped.body, hint)
    kind, draft = _of_json(wrapped.body) if kind == "json" else (kind, REDUCERS[kind](wrapped.body))
    return kind, _within(wrapped.opening, draft, wrapped.closing)


def _within(opening: str, draft: Draft, closing: str) -> Draft:
    """The draft between two texts, which yield where they would take more than a third of the room."""
    around = len(opening) + len(closing) + 2
    if around == 2:
        return draft

    def fill(room: int) -> str:
        if around * 3 > room:
            return draft(room)
        return "\n".join(part for part in (opening, draft(room - around), closing) if part)

    return fill


def _of_json(text: str) -> tuple[Kind, Draft]:
    """JSON as JSON; or, where it does little more than carry one text, that text as what it is, behind the rest."""
    try:
        value = decode_json(text)
    except InvalidJson:
        return "prose", draft_ends(text)
    found = _longest(value, _INSIDE)
    if found is None or len(found[1]) < _MOSTLY * len(text) or found[1].count("\n") < 5:
        return "json", draft_value(value)
    path, inner = found
    kind = kind_of_body(inner)
    draft = REDUCERS[kind](inner)
    frame = draft_value(_without(value, path))
    name = ".".join(map(str, path))

    def fill(room: int) -> str:
        head = frame(room // 4)
        return f"{head}\n{name}:\n{draft(room - len(head) - len(name) - 3)}"

    return kind, fill


def _longest(value: Json, depth: int) -> tuple[tuple[str | int, ...], str] | None:
    """The longest string and the way to it."""
    if isinstance(value, str):
        return (), value
    if depth == 0 or not isinstance(value, dict | list):
        return None
    parts = value.items() if isinstance(value, dict) else enumerate(value[:20])
    found = (((key, *inner[0]), inner[1]) for key, item in parts if (inner := _longest(item, depth - 1)))
    return max(found, key=lambda given: len(given[1]), default=None)


def _without(value: Json, path: tuple[str | int, ...]) -> Json:
    """The value, with a pointer in the place of the text that follows it."""
    if not path:
        return "(below)"
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        copy: JsonObject = {key: _without(item, rest) if key == step else item for key, item in value.items()}
        return copy
    if isinstance(value, list):
        return [_without(item, rest) if place == step else item for place, item in enumerate(value)]
    return value
