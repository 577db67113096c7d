"""JSON and lines of JSON: all keys to a depth, long arrays as first and last items, long strings clipped.

It knows JSON values and the names under which programs report trouble. It must never know whose values they are. What
it writes is to be read, not parsed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from perdure.kernel.context.entry.ends import clip, draft_ends
from perdure.kernel.context.entry.kind import Draft
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json
from perdure.kernel.value import value

_TROUBLE = frozenset(
    ("error", "errors", "exception", "stack", "stacktrace", "traceback", "failure", "failures", "fault")
)
"""Keys whose presence with a value makes an item worth showing."""

_STATE = frozenset(
    (
        "status",
        "state",
        "level",
        "severity",
        "code",
        "ok",
        "success",
        "conclusion",
        "exit_code",
        "exitCode",
        "type",
    )
)
"""Keys whose rare values make an item worth showing."""

_KEPT = frozenset((*_TROUBLE, *_STATE, "message", "msg", "reason", "detail", "id", "name", "total", "next", "cursor"))
"""Keys that stay where an object has more keys than are shown."""

_BRIEF = ("id", "key", "number", "name", "title", "path", "file", "url", "status", "state", "level", "error", "message")
"""Keys that name an item which is not shown."""

_BRIEF_CELL = 60
"""Characters of a value in the line that names an item."""

_SEEN_DEPTH = 2
"""Levels of arrays whose items count when two texts are compared."""

_FLAT = 140
"""Characters of a value that is written on one line."""

_DEEPEST = 24
"""Levels that are followed even where there is room for more: hostile nesting ends here."""


@value
class _Detail:
    """How much of each value is shown."""

    depth: int
    items: int
    """Of one array, in full."""
    briefs: int
    """Further items of one array, by name alone."""
    keys: int
    """Of one object."""
    string: int
    """Characters of one string."""


_DETAILS = tuple(
    _Detail(depth=depth, items=items, briefs=briefs, keys=keys, string=string)
    for depth, items, briefs, keys, string in (
        (1, 1, 0, 4, 40),
        (2, 2, 0, 8, 40),
        (3, 2, 4, 12, 50),
        (4, 2, 10, 16, 60),
        (5, 2, 20, 20, 80),
        (6, 2, 40, 30, 100),
        (6, 4, 10, 30, 100),
        (8, 3, 40, 40, 120),
        (8, 3, 80, 30, 100),
        (8, 6, 20, 40, 120),
        (8, 9, 20, 60, 160),
        (10, 13, 20, 60, 160),
        (10, 18, 30, 80, 200),
        (12, 25, 40, 80, 300),
        (12, 25, 40, 100, 600),
        (12, 40, 80, 100, 200),
        (12, 40, 80, 100, 1_200),
        (14, 64, 100, 120, 240),
        (14, 100, 200, 160, 120),
        (14, 160, 300, 200, 160),
        (_DEEPEST, 260, 400, 300, 400),
        (_DEEPEST, 400, 800, 600, 100),
        (_DEEPEST, 800, 1_600, 1_200, 2_000),
    )
)
"""From the poorest to the richest, although with other strengths: many are tried, and of those which fit the one that
shows most items wins, then the longest."""


_USUAL = 5
"""The detail that is tried first; poorer ones serve where neither it nor richer ones fit."""

_MISSES = 3
"""Details that may be too rich, one after the other, before the search ends."""


class _Full(Exception):
    """There is no room for the next line."""


def draft_json(text: str) -> Draft:
    """One JSON value; text that only looks like JSON keeps its ends."""
    try:
        value = decode_json(text)
    except InvalidJson:
        return draft_ends(text)
    return draft_value(value)


def draft_value(value: Json) -> Draft:
    """One value that was decoded before."""
    return _Pages(value).richest


def draft_ndjson(text: str) -> Draft:
    """A JSON value on each line: the first, the last and the odd ones; a line that is no JSON counts as text."""
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        # One array decodes ten times faster than a value per line.
        values = decode_json(f"[{','.join(lines)}]")
    except InvalidJson:
        values = [_line_value(line) for line in lines]
    return draft_value(values)


def _line_value(line: str) -> Json:
    try:
        return decode_json(line)
    except InvalidJson:
        return line


class _Pages:
    """Renderings of one value: each is made once, however often a draft is asked for another room."""

    def __init__(self, value: Json) -> None:
        self._value = value
        self._odd = _OddItems()
        self._written: dict[_Detail, tuple[int, str]] = {}
        self._too_long: dict[_Detail, int] = {}

    def richest(self, room: int) -> str:
        """The text that shows most; the poorest one, whatever its length, where none fits."""
        best: tuple[int, int, str] | None = None
        misses = 0
        for detail in _DETAILS[_USUAL:]:
            page = self._page(detail, room)
            if page is None:
                misses += 1
                if misses > _MISSES:
                    break
            elif best is None or (page[0], len(page[1])) >= best[:2]:
                best = (page[0], len(page[1]), page[1])
        if best is not None:
            return best[2]
        poorer = (page[1] for detail in reversed(_DETAILS[:_USUAL]) if (page := self._page(detail, room)))
        return next(poorer, "") or _Page(_DETAILS[0], 10**9, self._odd).write(self._value)

    def _page(self, detail: _Detail, room: int) -> tuple[int, str] | None:
        """How many outer items a rendering shows, and the rendering, if it fits."""
        known = self._written.get(detail)
        if known is None:
            if room <= self._too_long.get(detail, 0):
                return None
            page = _Page(detail, room, self._odd)
            try:
                written = page.write(self._value)
            except _Full:
                self._too_long[detail] = room
                return None
            known = self._written[detail] = (page.seen, written)
        return known if len(known[1]) <= room else None


class _Page:
    """One rendering, which gives up as soon as it is longer than its room."""

    def __init__(self, detail: _Detail, room: int, odd: _OddItems) -> None:
        self.detail = detail
        self.odd = odd
        self.left = room
        self.seen = 0
        """Items of outer arrays, shown or named."""
        self.lines: list[str] = []

    def write(self, value: Json) -> str:
        self._value("", value, 0, "")
        return "\n".join(self.lines)

    def _add(self, line: str) -> None:
        self.left -= len(line) + 1
        if self.left < 0:
            raise _Full
        self.lines.append(line)

    def _value(self, label: str, value: Json, depth: int, ending: str) -> None:
        indent = " " * depth
        flat = self._flat(value, _FLAT, depth)
        if flat is not None:
            self._add(f"{indent}{label}{flat}{ending}")
        elif isinstance(value, dict):
            self._object(label, value, depth, ending)
        elif isinstance(value, list):
            self._array(label, value, depth, ending)
        else:
            self._add(f"{indent}{label}{self._scalar(value)}{ending}")

    def _object(self, label: str, value: JsonObject, depth: int, ending: str) -> None:
        indent = " " * depth
        if depth >= self.detail.depth:
            keys = clip(", ".join(list(value)[: self.detail.keys]), 200)
            self._add(f"{indent}{label}{{… {len(value):,} keys: {keys}}}{ending}")
            return
        self._add(f"{indent}{label}{{")
        omitted = 0
        shown = _kept_keys(value, self.detail.keys)
        for key, item in value.items():
            if key in shown:
                omitted = self._omitted(omitted, "keys", depth + 1)
                self._value(f"{_encode(clip(key, 200))}: ", item, depth + 1, ",")
            else:
                omitted += 1
        self._omitted(omitted, "keys", depth + 1)
        self._add(f"{indent}}}{ending}")

    def _array(self, label: str, value: Sequence[Json], depth: int, ending: str) -> None:
        indent = " " * depth
        if depth >= self.detail.depth:
            self._add(f"{indent}{label}[… {len(value):,} items]{ending}")
            return
        keys = _columns(value)
        count = f" {len(value):,} items" if keys or len(value) > self.detail.items else ""
        columns = f", as rows of: {clip(' | '.join(keys), 400)}" if keys else ""
        self._add(f"{indent}{label}[{count}{columns}")
        reached = 0
        briefs = self.detail.briefs
        for place in (*self._kept_items(value), len(value)):
            briefs -= self._skipped(value[reached:place], briefs, depth + 1)
            if place < len(value):
                self._item(keys, value[place], depth + 1)
            reached = place + 1
        self._add(f"{indent}]{ending}")

    def _kept_items(self, value: Sequence[Json]) -> Sequence[int]:
        """Items that are shown: two thirds of the room for the first and last, and odd ones from anywhere."""
        count, most = len(value), self.detail.items
        if count <= most:
            return range(count)
        head = max(1, most // 2)
        tail = max(1, most // 4)
        return sorted({*range(head), *range(count - tail, count), *self.odd.of(value)[: max(1, most // 3)]})

    def _skipped(self, items: Sequence[Json], most: int, depth: int) -> int:
        """Items that are not shown, by name as far as they have one; how many were named."""
        named = [brief for item in items[:most] if (brief := self._brief(item))]
        if len(named) < min(len(items), most):
            named = []
        if named:
            self._add(f"{' ' * depth}[… {len(items):,} items omitted, among them:]")
        else:
            self._omitted(len(items), "items", depth)
        for brief in named:
            self._add(f"{' ' * depth}- {brief}")
        self.seen += len(named) if depth <= _SEEN_DEPTH else 0
        return len(named)

    def _brief(self, item: Json) -> str:
        if not isinstance(item, dict):
            return ""
        cells = [item[key] for key in _BRIEF if item.get(key)]
        return " | ".join(clip(_encode(cell), _BRIEF_CELL) for cell in cells if isinstance(cell, str | int))

    def _item(self, keys: Sequence[str], item: Json, depth: int) -> None:
        self.seen += depth <= _SEEN_DEPTH
        row = self._row(keys, item, depth) if keys and isinstance(item, dict) else None
        if row is None:
            self._value("", item, depth, ",")
        else:
            self._add(f"{' ' * depth}{row}")

    def _row(self, keys: Sequence[str], item: JsonObject, depth: int) -> str | None:
        """The values alone, where they are short and the keys are those of the heading."""
        if tuple(item) != tuple(keys):
            return None
        cells: list[str] = []
        for cell in item.values():
            flat = self._flat(cell, 2 * _FLAT, depth + 1)
            if flat is None:
                return None
            cells.append(flat)
        return " | ".join(cells)

    def _omitted(self, count: int, what: str, depth: int) -> int:
        if count:
            self._add(f"{' ' * depth}[… {count:,} {what} omitted]")
        return 0

    def _flat(self, value: Json, width: int, depth: int) -> str | None:
        """The value on one line, or None where that would be long or would leave something out."""
        if isinstance(value, dict):
            if depth >= _DEEPEST:
                return "{…}" if value else "{}"
            items = ((f"{_encode(key)}: ", item) for key, item in value.items())
            return self._flat_all(items, "{}", width, depth)
        if isinstance(value, list):
            if depth >= _DEEPEST:
                return "[…]" if value else "[]"
            if len(value) > self.detail.items and len(value) > 8:
                return None
            return self._flat_all((("", item) for item in value), "[]", width, depth)
        written = self._scalar(value)
        return written if len(written) <= max(width, self.detail.string + 40) else None

    def _flat_all(self, items: Iterator[tuple[str, Json]], brackets: str, width: int, depth: int) -> str | None:
        parts: list[str] = []
        left = width - 2
        for label, item in items:
            flat = self._flat(item, left, depth + 1) if left > 0 else None
            if flat is None:
                return None
            left -= len(label) + len(flat) + 2
            if left < 0:
                return None
            parts.append(label + flat)
        return brackets[0] + ", ".join(parts) + brackets[1]

    def _scalar(self, value: Json) -> str:
        if isinstance(value, str):
            return _encode(clip(value, self.detail.string))
        return clip(_encode(value), self.detail.string)


def _encode(value: Json) -> str:
    return encode_json(value).decode("utf-8")


def _columns(value: Sequence[Json]) -> tuple[str, ...]:
    """The keys of objects that all look like the first one, where that is worth a heading."""
    first = value[0]
    if len(value) < 3 or not isinstance(first, dict) or not 1 < len(first) <= 40:
        return ()
    keys = tuple(first)
    sample = value[:50]
    alike = sum(isinstance(item, dict) and tuple(item) == keys for item in sample)
    return keys if alike * 10 >= len(sample) * 8 else ()


def _kept_keys(value: Mapping[str, Json], most: int) -> frozenset[str]:
    """Keys that are shown: the first, the last, and those that may report trouble."""
    if len(value) <= most:
        return frozenset(value)
    keys = list(value)
    told = [key for key in keys if key.lower() in _KEPT][:most]
    half = max(1, most // 2)
    return frozenset((*told, *keys[:half], *keys[-half:]))


class _OddItems:
    """Which items of an array differ from their neighbours in what matters, worked out once for each array."""

    def __init__(self) -> None:
        self._known: dict[int, list[int]] = {}

    def of(self, value: Sequence[Json]) -> list[int]:
        """Places of objects that report trouble, and then of those whose state is rare among the others.

        Arrays are told apart by identity: they belong to one decoded value, which lives as long as its draft.
        """
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = _odd(value)
        return found


def _odd(value: Sequence[Json]) -> list[int]:
    objects = [(place, item) for place, item in enumerate(value) if isinstance(item, dict)]
    troubled = [
        place for place, item in objects if not _TROUBLE.isdisjoint(item) and any(item.get(key) for key in _TROUBLE)
    ]
    rare: list[int] = []
    first = objects[0][1] if objects else {}
    for key in sorted(_STATE.intersection(first)):
        given = [(place, state) for place, item in objects if isinstance(state := item.get(key), str | int)]
        counts = Counter(cast("list[str | int]", [state for _, state in given]))
        few = max(1, len(given) // 50)
        if len(counts) * 4 < len(given):
            rare.extend(place for place, state in given if counts[state] <= few)
    # Where every other item has an error, having one says nothing.
    return [*(troubled if len(troubled) * 4 <= len(value) else troubled[:3]), *rare]
