"""The archive of one session: what left its views is kept before it leaves, and recalled exactly.

It knows originals, the log and the index. It must never decide what leaves a view. The order is blob, index,
acknowledgement; what the log holds already is pointed to and not stored twice. What goes into the index, and what a
search tells, has passed the guard; what is recalled by its handle is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from perdure.archive.blobs import Blobs
from perdure.archive.find import LONGEST_LINE, Hit, Line, lines_with
from perdure.archive.index import Index, Listed, Piece, set_aside
from perdure.archive.rebuild import originals_in
from perdure.archive.recalled import Recalled
from perdure.archive.words import asked, storable
from perdure.guard import Guard, SecretGuard
from perdure.kernel.context import Done, Original, Refused
from perdure.kernel.errors import (
    ArchiveDamaged,
    DiskRefused,
    HandleGone,
    InvalidJson,
    LogDamaged,
    PerdureError,
)
from perdure.kernel.messages import Block, Message, decode_object, encode_json, readable
from perdure.kernel.messages.fields import Fields
from perdure.kernel.messages.persist import block_from_json, block_to_json, message_from_json, message_to_json
from perdure.log import KINDS, Edited, SessionLog

INDEX = "index.sqlite3"

HITS = 8
"""Originals that a search tells."""

LINES = 3
"""Lines of each."""

AROUND = 60
"""Lines before and behind a line that the guard looks at as well: a private key of 4,096 bits has 52."""

WIDTH = 2 * LONGEST_LINE
"""Characters of a line that it looks at, so that none is cut within what is shown."""


GUARD = SecretGuard()
"""What stands between originals and their index unless the host hands in another."""


class Archive:
    """An open archive. May be used from several threads."""

    def __init__(self, folder: Path, log: SessionLog | None, guard: Guard = GUARD) -> None:
        """Open the archive in a folder, or make it; see `open_archive`."""
        self.folder = folder
        self.blobs = Blobs(folder / "blobs")
        self.index = Index(folder / INDEX)
        self._log, self._guard = log, guard
        self.lock = Lock()
        """Held by whoever uses the index."""
        self._tell_again()

    def keep(self, originals: Sequence[Original], now: float) -> Done | Refused:
        """Keep originals, durably when this returns `Done`. The answer to the engine's `Archive`."""
        try:
            with self.lock, self.index.writing():
                for original in originals:
                    self._keep(original, now)
        except PerdureError as error:
            return Refused(reason=str(error))
        return Done()

    def recall(self, name: str) -> Recalled:
        """An original, exactly, by its handle; or a message by its id.

        Raises:
            HandleGone: it was removed, or nothing has that name; asking again is of no use.
            ArchiveDamaged: it is not what was written.
            DiskError: reading failed.
        """
        name = storable(name)
        with self.lock:
            rows = self.index.named(name)
            row = next((row for row in rows if self._is_near(row.entry)), rows[0] if rows else None)
            if row is None:
                return self._message(name)
            if row.gone is not None:
                raise HandleGone(f"the original {name!r} was removed from the archive and will not come back")
            pieces = [piece for _, piece in self.index.pieces_of(row.id)]
            return Recalled(
                handle=name,
                message_id=row.message_id,
                what=row.what,
                tokens=row.tokens,
                time=row.time,
                content=() if row.folded else tuple(block for piece in pieces for block in self._blocks(piece)),
                messages=tuple(self._whole(piece) for piece in pieces) if row.folded else (),
            )

    def search(self, question: str, most: int = HITS) -> tuple[Hit, ...]:
        """Originals of this branch with all the words of a question, else with any, the best first.

        Raises:
            DiskError: reading failed.
        """
        words = asked(question)
        hits: dict[str, Hit] = {}
        with self.lock:
            for number in self.index.search(question):
                if len(hits) == most:
                    break
                piece = self.index.piece_numbered(number)
                if piece is not None and piece.message_id not in hits and self._is_near(piece.entry):
                    hits[piece.message_id] = self._hit(number, piece, words)
        return tuple(hits.values())

    def newest(self, first: int = 0, count: int = 100) -> list[Listed]:
        """The originals that there are, from the newest on, without reading them."""
        with self.lock:
            return self.index.newest(first, count)

    def count(self) -> int:
        """How many originals there are."""
        with self.lock:
            return self.index.count()

    def text_of(self, piece: Piece) -> str:
        """The readable text of a piece, as it is indexed: without secrets."""
        return self._guard.redact(readable(self._blocks(piece)))

    def close(self) -> None:
        """Close it; the log stays open."""
        with self.lock:
            self.index.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, original: Original, now: float) -> None:
        entry = self._entry_of(original.message_id)
        known = next(
            (row for row in self.index.named(original.handle) if row.entry == entry and row.gone is None), None
        )
        # The first copy is the original: a later edit on the same target evicts an edited one.
        if known is not None and not original.messages:
            return
        folded = bool(original.messages)
        parts = self._folded(original.messages) if folded else self._light(original, entry)
        pieces = [self._put(piece, blocks) for piece, blocks in parts]
        if known is not None and [number for number, _ in self.index.pieces_of(known.id)] == pieces:
            return
        row = Listed(
            id=0,
            handle=original.handle,
            entry=entry,
            message_id=original.message_id,
            what=storable(self._guard.redact(original.what)),
            tokens=original.tokens,
            time=now,
            folded=folded,
            gone=None,
        )
        self.index.put(row, pieces)

    def _put(self, piece: Piece, blocks: tuple[Block, ...]) -> int:
        number, new = self.index.piece(piece)
        if new:
            self.index.tell_words(number, self._guard.redact(readable(blocks)))
        return number

    def _tell_again(self) -> None:
        """Tell the words that an index of an older version held; a piece that cannot be read is passed over."""
        untold = self.index.untold()
        if not untold:
            return
        with self.index.writing():
            for number, piece in untold:
                try:
                    text = self.text_of(piece)
                except (ArchiveDamaged, HandleGone, LogDamaged):
                    text = ""
                self.index.tell_words(number, text)

    def _light(self, original: Original, entry: int) -> list[tuple[Piece, tuple[Block, ...]]]:
        """Blocks of one message: those of the log where they are in it as they were, else a blob."""
        message = self._logged(entry)
        places = _places(original.content, message.content) if message is not None else None
        if message is None or places is None:
            blob = self.blobs.put(encode_json({"content": [block_to_json(block) for block in original.content]}))
            piece = Piece(message_id=original.message_id, entry=0, blocks="blob", blob=blob)
        else:
            every = len(places) == len(message.content)
            piece = Piece(
                message_id=original.message_id,
                entry=entry,
                blocks="" if every else ",".join(str(place) for place in places),
            )
        return [(piece, original.content)]

    def _folded(self, messages: Iterable[Message]) -> list[tuple[Piece, tuple[Block, ...]]]:
        """Whole messages, each in the log or in a blob."""
        parts: list[tuple[Piece, tuple[Block, ...]]] = []
        for message in messages:
            entry = self._entry_of(message.id)
            if self._logged(entry) == message:
                piece = Piece(message_id=message.id, entry=entry)
            else:
                blob = self.blobs.put(encode_json({"message": message_to_json(message)}))
                piece = Piece(message_id=message.id, entry=0, blob=blob)
            parts.append((piece, message.content))
        return parts

    def _message(self, name: str) -> Recalled:
        """A message by its id: from the log, or from what a checkpoint folded."""
        message = self._logged(self._entry_of(name))
        if message is None:
            pieces = self.index.pieces_of_message(name)
            message = self._whole(pieces[0][1]) if pieces else None
        if message is None:
            raise HandleGone(
                f"nothing in this session is called {name!r}, and nothing will be: asking again is of no use"
            )
        return Recalled(handle=name, message_id=name, what=f"message {name}", tokens=0, time=None, messages=(message,))

    def _hit(self, number: int, piece: Piece, words: Sequence[str]) -> Hit:
        holder = next(iter(self.index.holders(number)), None)
        own = holder is not None and not holder.folded
        return Hit(
            handle=holder.handle if holder is not None and own else piece.message_id,
            message_id=piece.message_id,
            what=holder.what if holder is not None and own else f"message {piece.message_id}",
            lines=self._told(readable(self._blocks(piece)), words),
        )

    def _told(self, text: str, words: Sequence[str]) -> tuple[Line, ...]:
        """The lines with the words, without secrets, also without those that go over several lines."""
        rows = text.split("\n")
        told: list[Line] = []
        for line in lines_with(text, words, LINES):
            place = line.number - 1
            around = "\n".join(row[:WIDTH] for row in rows[max(0, place - AROUND) : place + AROUND + 1])
            shown = self._guard.redact(rows[place][:WIDTH])[:LONGEST_LINE]
            stands = shown in self._guard.redact(around)
            told.append(replace(line, text=shown if stands else "[secret]"))
        return tuple(told)

    def _blocks(self, piece: Piece) -> tuple[Block, ...]:
        if piece.blob and piece.blocks:
            return self._read(piece.blob).each("content", block_from_json)
        content = self._whole(piece).content
        return tuple(content[int(place)] for place in piece.blocks.split(",")) if piece.blocks else content

    def _whole(self, piece: Piece) -> Message:
        if piece.blob:
            return message_from_json(self._read(piece.blob).object("message"))
        if self._log is None:
            raise ArchiveDamaged(f"the message {piece.message_id!r} is in the session's log; open the archive with it")
        return self._log.message(piece.entry)

    def _read(self, blob: str) -> Fields:
        try:
            return Fields(decode_object(self.blobs.get(blob)), f"the blob {blob!r}")
        except InvalidJson as error:
            raise ArchiveDamaged(f"the blob {blob!r} is damaged: {error}") from error

    def _logged(self, entry: int) -> Message | None:
        if self._log is None or not entry:
            return None
        try:
            return self._log.message(entry)
        except LogDamaged:
            return None

    def _entry_of(self, message_id: str) -> int:
        return 0 if self._log is None else self._log.entry_of(message_id) or 0

    def _is_near(self, entry: int) -> bool:
        """Whether something belongs to the present branch, or to none."""
        return not entry or self._log is None or self._log.on_branch(entry)


def open_archive(log: SessionLog | None, folder: Path | None = None, guard: Guard = GUARD) -> Archive:
    """The archive of a session, beside its log; or, without a log, one of its own in `folder`.

    The guard keeps secrets out of the search index and of what a search tells. Where the index of a session is missing
    or damaged, it is made anew from the log.

    Raises:
        ArchiveDamaged: the index is damaged, and there is no log to make it from.
        DiskError: it cannot be opened.
    """
    if folder is None:
        if log is None:
            raise ArchiveDamaged("an archive needs a session log or a folder")
        folder = folder_of(log.path)
    if log is None:
        return Archive(folder, None, guard)
    try:
        archive = Archive(folder, log, guard)
        if archive.count() or not any(row.kind == KINDS[Edited] for row in log.branch()):
            return archive
    except ArchiveDamaged:
        set_aside(folder / INDEX)
        archive = Archive(folder, log, guard)
    originals = originals_in(log)
    answer = archive.keep(originals, log.header.created) if originals else Done()
    if isinstance(answer, Refused):
        archive.close()
        raise DiskRefused(f"the index of {str(folder)!r} cannot be made anew: {answer.reason}")
    return archive


def carry_over(archive: Archive, fork: Archive) -> None:
    """Give a fork what only the archive of its session holds; what its log holds it has already.

    Raises:
        DiskRefused: it could not be kept.
    """
    for row in archive.index.oldest_in_blobs():
        found = archive.recall(row.handle)
        original = Original(
            handle=row.handle,
            message_id=row.message_id,
            what=row.what,
            tokens=row.tokens,
            content=found.content,
            messages=found.messages,
        )
        answer = fork.keep([original], row.time)
        if isinstance(answer, Refused):
            raise DiskRefused(f"an original could not be carried over: {answer.reason}")


def folder_of(log: Path) -> Path:
    """Where the archive of a log lies."""
    return log.with_suffix(".archive")


def _places(blocks: Sequence[Block], content: Sequence[Block]) -> list[int] | None:
    """Where the blocks stand in a message; None where one of them is not in it."""
    places: list[int] = []
    for block in blocks:
        first = places[-1] + 1 if places else 0
        place = next((place for place in range(first, len(content)) if content[place] == block), None)
        if place is None:
            return None
        places.append(place)
    return places
