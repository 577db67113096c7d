"""The ledger: every edit that was ever made, in order, and which of them are in force.

It knows edits. It must never know a transcript's content. Like the transcript it only grows: an edit is overruled by a
later one on the same target, or taken back by a `Revert`, and is never removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import overload

from perdure.kernel.context.edits import (
    LIGHT_EDITS,
    AnyCheckpoint,
    Attempt,
    Checkpoint,
    ClearThinking,
    ClearToolInput,
    ClearToolResult,
    Commit,
    Edit,
    LightEdit,
    NativeCheckpoint,
    PrefixChange,
    ReduceOutput,
    Revert,
    TrimText,
    target_of,
)
from perdure.kernel.errors import InvalidMessage


class Ledger(Sequence[Edit]):
    """An immutable, append-only sequence of edits with unique ids."""

    __slots__ = ("_edits", "_in_force")

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        """Hold these edits.

        Raises:
            InvalidMessage: two edits share an id, or an edit was planned before the one in front of it.
        """
        self._edits = tuple(edits)
        self._in_force: InForce | None = None
        _check_order(self._edits)

    def append(self, *edits: Edit) -> Ledger:
        """A ledger with these edits at its end; this one stays as it is."""
        longer = Ledger((*self._edits, *edits))
        if all(isinstance(edit, Attempt | PrefixChange) for edit in edits):
            longer._in_force = self._in_force
        elif self._in_force is not None and all(
            isinstance(edit, (*LIGHT_EDITS, Attempt, PrefixChange)) for edit in edits
        ):
            longer._in_force = self._in_force.lightened(edits)
        return longer

    @property
    def in_force(self) -> InForce:
        """What the edits together say, worked out once."""
        if self._in_force is None:
            self._in_force = InForce(self._edits)
        return self._in_force

    @property
    def next_number(self) -> int:
        """What the id of the next edit counts as: behind the last one's, also where some before it were never durable,
        so that a ledger that is read again after a restart never gives an id twice."""
        last = self._edits[-1].id[1:] if self._edits else ""
        return max(len(self._edits), int(last) + 1 if last.isdecimal() else 0)

    def find(self, edit_id: str) -> Edit | None:
        """The edit with this id, or None."""
        return next((edit for edit in self._edits if edit.id == edit_id), None)

    def __len__(self) -> int:
        return len(self._edits)

    @overload
    def __getitem__(self, index: int) -> Edit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Edit, ...]: ...
    def __getitem__(self, index: int | slice) -> Edit | tuple[Edit, ...]:
        return self._edits[index]

    def __iter__(self) -> Iterator[Edit]:
        return iter(self._edits)

    def __eq__(self, other: object) -> bool:
        return self._edits == other._edits if isinstance(other, Ledger) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(edit.id for edit in self._edits))

    def __repr__(self) -> str:
        return f"Ledger({len(self._edits)} edits)"


class InForce:
    """The edits in force: what `render` needs to know of a ledger."""

    __slots__ = ("checkpoint", "committed", "lights", "reverted")

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.reverted: frozenset[str] = frozenset(edit.edit_id for edit in edits if isinstance(edit, Revert))
        """Ids of edits that were taken back."""
        self.lights: Mapping[str, Mapping[str, LightEdit]] = self._lights(edits)
        """By message id, then by the place within the message."""
        checkpoints = [edit for edit in edits if isinstance(edit, Checkpoint | NativeCheckpoint) and self._stands(edit)]
        self.checkpoint: AnyCheckpoint | None = checkpoints[-1] if checkpoints else None
        """The newest checkpoint that was not taken back."""
        commits = {edit.edit_id for edit in edits if isinstance(edit, Commit)}
        self.committed: AnyCheckpoint | None = next(
            (edit for edit in reversed(checkpoints) if not edit.provisional or edit.id in commits), None
        )
        """The newest checkpoint that is a baseline."""

    def lightened(self, edits: Sequence[Edit]) -> InForce:
        """What is in force with these light edits behind: the same as found anew, in the time of what is new."""
        more = copy(self)
        more.lights = {**self.lights, **more._lights(edits, self.lights)}
        return more

    def _stands(self, edit: Edit) -> bool:
        return edit.id not in self.reverted

    def _lights(
        self, edits: Sequence[Edit], before: Mapping[str, Mapping[str, LightEdit]] = MappingProxyType({})
    ) -> dict[str, dict[str, LightEdit]]:
        """The light edits among these by message, and with them what was known `before` of the same messages."""
        lights: dict[str, dict[str, LightEdit]] = {}
        for edit in edits:
            match edit:
                case ReduceOutput() | ClearToolResult() | ClearToolInput() | TrimText():
                    if self._stands(edit):
                        _put(lights, before, edit)
                case ClearThinking():
                    # A Revert never brings thinking back: its signature is bound to a prefix that has moved on.
                    _put(lights, before, edit)
                case _:
                    pass
        return lights


def _put(
    lights: dict[str, dict[str, LightEdit]], before: Mapping[str, Mapping[str, LightEdit]], edit: LightEdit
) -> None:
    message_id, place = target_of(edit)
    if message_id not in lights:
        lights[message_id] = dict(before.get(message_id, {}))
    lights[message_id][place] = edit


def _check_order(edits: Sequence[Edit]) -> None:
    seen: set[str] = set()
    at = 0
    for edit in edits:
        if edit.id in seen:
            raise InvalidMessage(f"the ledger has two edits with the id {edit.id!r}")
        if edit.reason.at < at:
            raise InvalidMessage(
                f"the edit {edit.id!r} was planned at {edit.reason.at} messages, behind one planned at {at}"
            )
        seen.add(edit.id)
        at = edit.reason.at
