"""Rows of a whole sweep: on disk, in the order of trials and sessions, so that a folder of any size fits into memory.

It knows where each row lies and which few are asked for in full. It must never compute a figure. Of a row, memory holds
sixteen bytes; of each trial's longest session the size over time, and of its ten dearest sessions the dearest moments.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Sequence
from types import TracebackType

from perdure.kernel.messages import Json, JsonObject, decode_json, encode_json

DEAREST = 10
"""Sessions of a trial whose dearest moments are kept: the ten dearest of all are among them."""


class Rows:
    """Rows, added in any order and given in one. Close it, or use it in a `with`."""

    def __init__(self, labels: Sequence[str]) -> None:
        """For trials of these names, in their order."""
        # Closed by `close`, which may come long after the block that made it.
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._places: dict[str, array[int]] = {label: array("Q") for label in labels}
        self._starts: dict[str, array[int]] = {label: array("Q") for label in labels}
        self._longest: dict[str, tuple[JsonObject, int]] = {}
        self._dearest: dict[str, list[tuple[JsonObject, int]]] = {}
        self._end = 0

    def __enter__(self) -> Rows:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closed, whatever happened."""
        self.close()

    def close(self) -> None:
        """The rows on disk are gone."""
        self._file.close()

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, self._starts.values()))

    def add(self, place: int, rows: Sequence[JsonObject]) -> None:
        """The rows of the file that stands at `place` in the order of files."""
        for row in sorted(rows, key=lambda row: str(row["file"])):
            label = str(row["label"])
            self._places[label].append(place)
            self._starts[label].append(self._end)
            self._notice(label, row, self._end)
            data = encode_json({**row, "curve": [], "worst": []}) + b"\n"
            self._file.seek(self._end)
            self._file.write(data)
            self._end += len(data)

    def __iter__(self) -> Iterator[JsonObject]:
        """All of them, each trial's behind those of the one before."""
        for label in self._starts:
            yield from self.of(label)

    def of(self, label: str) -> Iterator[JsonObject]:
        """Those of one trial, in the order of files."""
        places, starts = self._places[label], self._starts[label]
        whole = self._whole(label)
        for at in sorted(range(len(starts)), key=places.__getitem__):
            self._file.seek(starts[at])
            row = decode_json(self._file.readline())
            if isinstance(row, dict):
                yield {**row, **whole.get(starts[at], {})}

    def notable(self) -> list[JsonObject]:
        """Those of which more than figures is held, in the order of all."""
        return [row for row in self if row["curve"] or row["worst"]]

    def _whole(self, label: str) -> dict[int, JsonObject]:
        """What is held of some rows of a trial beyond their figures, by where they start."""
        found: dict[int, JsonObject] = {}
        if label in self._longest:
            row, start = self._longest[label]
            found[start] = {"curve": row["curve"]}
        for row, start in self._dearest.get(label, ()):
            found[start] = {**found.get(start, {}), "worst": row["worst"]}
        return found

    def _notice(self, label: str, row: JsonObject, start: int) -> None:
        longest = self._longest.get(label)
        if longest is None or _by_length(row) < _by_length(longest[0]):
            self._longest[label] = row, start
        dearest = self._dearest.setdefault(label, [])
        dearest.append((row, start))
        dearest.sort(key=lambda one: _by_price(one[0]))
        del dearest[DEAREST:]


def _by_length(row: JsonObject) -> tuple[float, str, str]:
    """The longest first; names decide between equals, since files are done in any order."""
    return -_figure(row["requests"]), str(row.get("path")), str(row["file"])


def _by_price(row: JsonObject) -> tuple[float, str, str]:
    return -_highest(row), str(row.get("path")), str(row["file"])


def _highest(row: JsonObject) -> float:
    worst = row["worst"]
    first = worst[0] if isinstance(worst, list) and worst else None
    return _figure(first["units"]) if isinstance(first, dict) else 0.0


def _figure(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
