"""A session's log: created, opened, appended to, forked.

It knows entries, their tree and who may write. It must never know what a session makes of them: no entry is judged
here, and none is ever changed. An append returns when it is durable; until then the entry does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from threading import Lock

from perdure.kernel.context import Edit
from perdure.kernel.errors import DiskError, InvalidJson, LogDamaged
from perdure.kernel.messages import Message, decode_json, decode_object
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record
from perdure.log.durable import DurableFile, create, open_for_reading, open_for_writing
from perdure.log.entries import KINDS, Edited, Payload, Said, from_json, kind_of_payload, to_json
from perdure.log.line import VERSION, Entry, Header, Origin, header_line, line_of
from perdure.log.scan import Row, Scan, path_to, scan

ID_BYTES = 512
"""Bytes of a message's payload that are read to learn its id."""

_ID = pattern(rb'\{"id":("(?:[^"\\]|\\.)*")')


class SessionLog:
    """One open log. Appends may come from several threads; one process writes at a time."""

    def __init__(self, file: DurableFile, found: Scan, *, writable: bool) -> None:
        """Take over an open file that was scanned."""
        if found.header is None and not found.rows:
            raise LogDamaged(f"{str(file.path)!r} is no session log, or breaks off in its first line")
        self.header = found.header or Header(session=file.path.stem, created=0.0)
        self.damage = found.damage
        """Lines that are not what was written. Where there are any, the log is open for reading only."""
        self.torn = found.torn
        """Bytes of an entry that a crash cut off and that was never acknowledged: left out, and cut when writing."""
        self.writable = writable and not found.damage
        self._file = file
        self._rows = found.rows
        self._last = max(found.rows, default=0)
        self._leaf: int | None = next(reversed(found.rows), None)
        self._branch: _Branch | None = None
        self._lock = Lock()

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def leaf(self) -> int | None:
        """The entry that the next one follows: after opening, the one written last."""
        return self._leaf

    def append(self, payload: Payload, time: float) -> Entry:
        """Write an entry behind the leaf, whose place it takes. When this returns, the entry is durable.

        Raises:
            LogDamaged: the log is open for reading only.
            DiskError: it could not be written; nothing of it is in the log.
        """
        with self._lock:
            if not self.writable:
                raise LogDamaged(f"{str(self.path)!r} is open for reading only; fork the session to go on")
            entry = Entry(
                id=self._last + 1,
                parent=self._leaf,
                kind=kind_of_payload(payload),
                time=time,
                payload=to_json(payload),
            )
            self._write(entry)
            if self._branch is not None:
                self._branch.entries.add(entry.id)
                if isinstance(payload, Said):
                    self._branch.messages[payload.message.id] = entry.id
            return entry

    def append_message(self, message: Message, time: float) -> Entry:
        """Write one message of the transcript.

        Raises:
            DiskError: as `append`.
        """
        return self.append(Said(message=message), time)

    def append_edits(self, edits: tuple[Edit, ...], time: float) -> Entry:
        """Write edits that were planned together, as one entry: after a crash all of them are there, or none.

        Raises:
            DiskError: as `append`.
        """
        return self.append(Edited(edits=edits), time)

    def go_to(self, entry: int | None) -> None:
        """Let the next entry follow this one: a branch begins. None goes back to before the first entry.

        Raises:
            LogDamaged: there is no such entry.
        """
        with self._lock:
            if entry is not None and entry not in self._rows:
                raise LogDamaged(f"{str(self.path)!r} has no entry {entry}")
            self._leaf = entry
            self._branch = None

    def rows(self) -> tuple[Row, ...]:
        """Every entry in the order of the file, of all branches, without its payload."""
        return tuple(self._rows.values())

    def branch(self, leaf: int | None = None) -> list[Row]:
        """The entries from the first one to `leaf`, or to the present leaf."""
        return path_to(self._leaf if leaf is None else leaf, self._rows)

    def payload(self, entry: int) -> Payload:
        """What an entry says.

        Raises:
            LogDamaged: there is no such entry, or it cannot be read any more.
            DiskError: reading failed.
        """
        row = self._rows.get(entry)
        if row is None:
            raise LogDamaged(f"{str(self.path)!r} has no entry {entry}")
        try:
            return from_json(row.kind, decode_object(self._file.read(row.start, row.size)))
        except InvalidJson as error:
            raise LogDamaged(f"the entry {entry} of {str(self.path)!r} cannot be read: {error}") from error

    def payloads(self, leaf: int | None = None) -> Iterator[tuple[Row, Payload]]:
        """The entries from the first one to `leaf`, or to the present leaf, with what they say."""
        for row in self.branch(leaf):
            yield row, self.payload(row.id)

    def entry_of(self, message_id: str) -> int | None:
        """The entry on the present branch that holds a message; None where there is none."""
        with self._lock:
            return self._known().messages.get(message_id)

    def on_branch(self, entry: int) -> bool:
        """Whether an entry lies on the present branch."""
        with self._lock:
            return entry in self._known().entries

    def message(self, entry: int) -> Message:
        """The message that an entry holds.

        Raises:
            LogDamaged: it holds none, or cannot be read.
        """
        payload = self.payload(entry)
        if not isinstance(payload, Said):
            raise LogDamaged(f"the entry {entry} of {str(self.path)!r} holds no message")
        return payload.message

    def close(self) -> None:
        """Close the file, so that another process may write."""
        with self._lock:
            self.writable = False
            self._file.close()

    def __enter__(self) -> SessionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _known(self) -> _Branch:
        """The present branch, walked once."""
        if self._branch is None:
            known = _Branch()
            for row in self.branch():
                known.entries.add(row.id)
                if row.kind == KINDS[Said]:
                    known.messages[self._message_id(row)] = row.id
            self._branch = known
        return self._branch

    def _message_id(self, row: Row) -> str:
        """The id of a message, which opens its payload, without decoding the rest."""
        found = _ID.match(self._file.read(row.start, min(row.size, ID_BYTES)))
        if found is None:
            return self.message(row.id).id
        value = decode_json(found[1])
        return value if isinstance(value, str) else ""

    def _write(self, entry: Entry) -> None:
        line = line_of(entry)
        start = self._file.append(line)
        opening = line.index(b',"payload":') + len(b',"payload":')
        self._rows[entry.id] = Row(
            entry.id,
            entry.parent,
            entry.kind,
            entry.time,
            len(self._rows) + 2,
            start + opening,
            len(line) - opening - 2,
        )
        self._last, self._leaf = entry.id, entry.id


def create_log(path: Path, session: str, time: float) -> SessionLog:
    """Begin a session, in a file that did not exist.

    Raises:
        DiskError: there is such a file already, or it cannot be made.
    """
    return _born(path, header_line(Header(session=session, created=time)))


def open_log(path: Path) -> SessionLog:
    """Open a session for writing; for reading only, where lines of it are damaged (see `SessionLog.damage`).

    What a crash left of an entry that was never acknowledged is cut off, and told in `SessionLog.torn`.

    Raises:
        LogLocked: another process writes it.
        LogTooNew: a newer version wrote it.
        LogDamaged: nothing of it can be read.
        DiskError: it cannot be opened.
    """
    file = open_for_writing(path)
    try:
        found = scan(file.read(0, file.size))
        log = SessionLog(file, found, writable=True)
        if log.writable and found.torn:
            file.cut(found.end)
        elif log.writable and found.unended:
            file.append(b"\n")
        return log
    except (DiskError, InvalidJson):
        file.close()
        raise


def read_log(path: Path) -> SessionLog:
    """Open a session for reading, also while another process writes it.

    Raises:
        LogTooNew: a newer version wrote it.
        LogDamaged: nothing of it can be read.
        DiskError: it cannot be opened.
    """
    file = open_for_reading(path)
    try:
        return SessionLog(file, scan(file.read(0, file.size)), writable=False)
    except DiskError:
        file.close()
        raise


def fork_log(log: SessionLog, path: Path, session: str, time: float) -> SessionLog:
    """A session of its own that begins with the branch of another one up to its leaf. Entries keep their ids.

    The other one is only read: another process may be writing it, and lines of it may be damaged.

    Raises:
        DiskError: there is such a file already, or it cannot be made.
    """
    branch = log.branch()
    origin = Origin(session=log.header.session, entry=branch[-1].id if branch else 0)
    lines = [header_line(Header(session=session, created=time, version=VERSION, origin=origin))]
    parent: int | None = None
    for row in branch:
        payload = to_json(log.payload(row.id))
        lines.append(line_of(Entry(id=row.id, parent=parent, kind=row.kind, time=row.time, payload=payload)))
        parent = row.id
    return _born(path, b"".join(lines))


def _born(path: Path, data: bytes) -> SessionLog:
    file = create(path, data)
    return SessionLog(file, scan(data), writable=True)


@record()
class _Branch:
    """What lies between the first entry and the leaf."""

    entries: set[int] = field(default_factory=set[int])
    messages: dict[str, int] = field(default_factory=dict[str, int])
    """The entry of each message, by the message's id."""
