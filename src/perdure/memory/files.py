"""Memory in plain files, which people can read and edit with their own tools.

    ROOT/TENANT/USER/memories/...   the files, 0600 in folders of 0700
    ROOT/TENANT/USER/scratch/       where a file is written before it takes its place
    ROOT/TENANT/USER/lock           held while something is changed
    ROOT/TENANT/USER/provenance     which files are not the model's own words alone

It knows layout and order of writes. It must never know commands or their words. A reader needs no lock, since a file
changes in one step; writers of one principal follow one another, whichever process they are in. A kill between two
steps leaves the old file or the new one. An editor that knows nothing of the lock may still be overwritten if it saves
in the instant between our check and our rename.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from threading import Event

from perdure.kernel.errors import MemoryPathRefused, StoreUnreachable
from perdure.kernel.messages import Provenance, decode_object, encode_json
from perdure.kernel.value import value
from perdure.memory.descriptors import FOLDER, Folder, descend, make_way, put, refused
from perdure.memory.path import MemoryPath, fold
from perdure.memory.principal import Principal, require
from perdure.memory.store import (
    BY_NAME,
    Caps,
    Entry,
    Kept,
    changed,
    check_count,
    check_move,
    encoded,
    least_trusted,
    not_found,
    taken,
    version_of,
)

MEMORIES = "memories"
SCRATCH = "scratch"
LOCK = "lock"
PROVENANCE = "provenance"
PATIENCE = 20.0
"""Seconds that a writer waits for others: a write takes milliseconds, so this one waits for a stopped process."""


@value
class FileStore:
    """A store in a folder of this machine."""

    root: Path
    """Made when it is missing. It is the host's word: links in it and above it are followed."""
    caps: Caps = field(default_factory=Caps)

    def read(self, principal: Principal | None, path: MemoryPath) -> Kept | None:
        """The file at a path; None where there is none."""
        with self._open(require(principal)) as home:
            return self._read(home, path)

    def files(self, principal: Principal | None, path: MemoryPath) -> tuple[Entry, ...] | None:
        """All files below a folder, sorted by path; links, devices and shared files are no files."""
        with self._open(require(principal)) as home, ExitStack() as stack:
            if home is None:
                return () if path.is_root else None
            folder = descend(home, (MEMORIES, *path.names[:-1]), stack)
            if folder is not None and not path.is_root:
                kind = folder.kind(path.names[-1])
                folder = descend(folder, path.names[-1:], stack) if kind and stat.S_ISDIR(kind) else None
            if folder is None:
                return () if path.is_root else None
            return tuple(sorted(walk(folder, path), key=lambda entry: entry.path.names))

    def write(
        self,
        principal: Principal | None,
        path: MemoryPath,
        text: str,
        *,
        expected: str | None,
        provenance: Provenance = "assistant",
    ) -> None:
        """Put a text at a path, if the file there is still the one that the writer saw."""
        data = encoded(text, path, self.caps)
        if path.is_root:
            raise MemoryPathRefused(f"{str(path)!r} is the folder of all memories: name a file in it")
        with self._locked(require(principal)) as home, ExitStack() as stack:
            found = self._read(home, path)
            if expected is not None and (found is None or found.version != expected):
                raise changed(path)
            if found is None:
                self._check_new(home, path)
            elif expected is None:
                raise taken(path)
            before = found.provenance if found else "user"
            self._mark(home, path, least_trusted(before, provenance))
            scratch = stack.enter_context(home.make(SCRATCH))
            folder = make_way(home, (MEMORIES, *path.names[:-1]), stack)
            put(data, path.names[-1], scratch=scratch, folder=folder)

    def delete(self, principal: Principal | None, path: MemoryPath) -> None:
        """Remove a file, or a folder with all that is in it, in one step."""
        if path.is_root:
            raise MemoryPathRefused(f"{str(path)!r} itself cannot be deleted: delete what is in it")
        with self._locked(require(principal)) as home, ExitStack() as stack:
            folder = self._parent(home, path, stack)
            scratch = stack.enter_context(home.make(SCRATCH))
            clear(scratch)
            try:
                os.rename(path.names[-1], "old", src_dir_fd=folder.descriptor, dst_dir_fd=scratch.descriptor)
                os.fsync(folder.descriptor)
            except OSError as error:
                raise refused(error) from error
            clear(scratch)
            prune(home, path)
            self._unmark(home, path)

    def rename(self, principal: Principal | None, old: MemoryPath, new: MemoryPath) -> None:
        """Move a file or a folder, in one step."""
        check_move(old, new)
        with self._locked(require(principal)) as home, ExitStack() as stack:
            source = self._parent(home, old, stack)
            if old == new or new.key != old.key or new.names[:-1] != old.names[:-1]:
                self._check_free(home, new)
            marks = read_marks(home)
            moved: dict[MemoryPath, Provenance] = {
                MemoryPath(names=new.names + place.names[len(old.names) :]): mark
                for place, mark in marks.items()
                if place.inside(old)
            }
            write_marks(home, {**marks, **moved})
            target = make_way(home, (MEMORIES, *new.names[:-1]), stack)
            try:
                os.rename(old.names[-1], new.names[-1], src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)
                os.fsync(target.descriptor)
                os.fsync(source.descriptor)
            except OSError as error:
                raise refused(error) from error
            prune(home, old)
            self._unmark(home, old)

    @contextmanager
    def _open(self, principal: Principal) -> Generator[Folder | None]:
        """The principal's home; None where nothing was ever written."""
        with ExitStack() as stack:
            try:
                root = stack.enter_context(Folder(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)))
            except FileNotFoundError:
                yield None
                return
            except OSError as error:
                raise refused(error) from error
            yield descend(root, (directory_of(principal.tenant), directory_of(principal.user)), stack)

    @contextmanager
    def _locked(self, principal: Principal) -> Generator[Folder]:
        """The principal's home, made where it is missing, with its lock held."""
        with ExitStack() as stack:
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
                root = stack.enter_context(Folder(os.open(self.root, FOLDER & ~os.O_NOFOLLOW)))
            except OSError as error:
                raise refused(error) from error
            home = make_way(root, (directory_of(principal.tenant), directory_of(principal.user)), stack)
            try:
                lock = os.open(
                    LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=home.descriptor
                )
            except OSError as error:
                raise refused(error) from error
            stack.callback(os.close, lock)
            wait_for(lock)
            yield home

    def _read(self, home: Folder | None, path: MemoryPath) -> Kept | None:
        if home is None or path.is_root:
            return None
        with ExitStack() as stack:
            folder = descend(home, (MEMORIES, *path.names[:-1]), stack)
            kind = folder.kind(path.names[-1]) if folder else None
            if folder is None or kind is None or stat.S_ISDIR(kind):
                return None
            data = folder.read(path.names[-1], self.caps.file_bytes * 4)
        if data is None:
            return None
        text = data.decode("utf-8", errors="replace")
        return Kept(text=text, version=version_of(text), provenance=read_marks(home).get(path, "assistant"))

    def _parent(self, home: Folder, path: MemoryPath, stack: ExitStack) -> Folder:
        """The folder in which something plain stands under the path's last name."""
        folder = descend(home, (MEMORIES, *path.names[:-1]), stack)
        kind = folder.kind(path.names[-1]) if folder else None
        if folder is None or kind is None:
            raise not_found(path)
        if not stat.S_ISDIR(kind):
            # Opens it, and so refuses what is no plain file.
            folder.read(path.names[-1], 0)
        return folder

    def _check_new(self, home: Folder, path: MemoryPath) -> None:
        self._check_free(home, path)
        with ExitStack() as stack:
            folder = descend(home, (MEMORIES,), stack)
            check_count(count_files(folder) if folder else 0, self.caps)

    def _check_free(self, home: Folder, path: MemoryPath) -> None:
        """Nothing stands at the path, and no name on its way differs from one that is there in case alone."""
        with ExitStack() as stack:
            folder: Folder | None = descend(home, (MEMORIES,), stack)
            for place, name in enumerate(path.names, start=1):
                if folder is None:
                    return
                kind = folder.kind(name)
                if has_twin(folder, name) or (
                    kind is not None and (place == len(path.names) or not stat.S_ISDIR(kind))
                ):
                    raise taken(MemoryPath(names=path.names[:place]))
                below = folder.folder(name) if kind is not None else None
                folder = stack.enter_context(below) if below else None

    def _mark(self, home: Folder, path: MemoryPath, provenance: Provenance) -> None:
        """Note a file's provenance before it is written: a kill in between leaves a mark too much, never too few."""
        marks: dict[MemoryPath, Provenance] = {**read_marks(home)}
        if marks.get(path, "assistant") != provenance:
            marks[path] = provenance
            write_marks(home, marks)

    def _unmark(self, home: Folder, path: MemoryPath) -> None:
        marks = read_marks(home)
        left: dict[MemoryPath, Provenance] = {place: mark for place, mark in marks.items() if not place.inside(path)}
        if left != marks:
            write_marks(home, left)


def has_twin(folder: Folder, name: str) -> bool:
    """Whether a folder holds a name that differs from this one in case alone."""
    folded = fold(name)
    return any(other != name and fold(other) == folded for other in folder.names())


def walk(folder: Folder, path: MemoryPath) -> Iterator[Entry]:
    """The plain files below a folder. What the store has not made is passed over."""
    with os.scandir(folder.descriptor) as found:
        entries = list(found)
    for entry in entries:
        place = MemoryPath(names=(*path.names, entry.name))
        if entry.is_dir(follow_symlinks=False):
            below = folder.folder(entry.name)
            if below is not None:
                with below:
                    yield from walk(below, place)
        elif entry.is_file(follow_symlinks=False):
            state = entry.stat(follow_symlinks=False)
            if state.st_nlink == 1:
                yield Entry(path=place, size=state.st_size)


def count_files(folder: Folder) -> int:
    """How many files there are below a folder, by their names alone."""
    with os.scandir(folder.descriptor) as found:
        entries = list(found)
    count = sum(entry.is_file(follow_symlinks=False) for entry in entries)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            below = folder.folder(entry.name)
            if below is not None:
                with below:
                    count += count_files(below)
    return count


def clear(scratch: Folder) -> None:
    """Remove what a delete has put aside, or a killed one left."""
    kind = scratch.kind("old")
    try:
        if kind is not None and stat.S_ISDIR(kind):
            shutil.rmtree("old", dir_fd=scratch.descriptor)
        elif kind is not None:
            os.unlink("old", dir_fd=scratch.descriptor)
    except OSError as error:
        raise refused(error) from error


def prune(home: Folder, path: MemoryPath) -> None:
    """Remove the folders above a path that are empty now, since a folder is there for its files."""
    for depth in range(len(path.names) - 1, 0, -1):
        with ExitStack() as stack:
            folder = descend(home, (MEMORIES, *path.names[: depth - 1]), stack)
            if folder is None:
                continue
            try:
                os.rmdir(path.names[depth - 1], dir_fd=folder.descriptor)
            except OSError:
                # Not empty: then those above are not either.
                return


def read_marks(home: Folder) -> Mapping[MemoryPath, Provenance]:
    """The provenance of the files that are not the model's own words alone."""
    data = home.read(PROVENANCE, 1 << 24)
    if not data:
        return {}
    named = decode_object(data)
    return {
        MemoryPath(names=tuple(place.split("/"))): BY_NAME[mark]
        for place, mark in named.items()
        if isinstance(mark, str) and mark in BY_NAME
    }


def write_marks(home: Folder, marks: Mapping[MemoryPath, Provenance]) -> None:
    """Keep the provenance of files, whole and durably."""
    if marks == read_marks(home):
        return
    data = encode_json({place.relative: mark for place, mark in marks.items() if mark != "assistant"})
    with home.make(SCRATCH) as scratch:
        put(data, PROVENANCE, scratch=scratch, folder=home)


def wait_for(lock: int) -> None:
    """Take the lock, as soon as whoever has it is done; a dead process has none.

    Raises:
        StoreUnreachable: somebody kept it for too long.
    """
    pause, waited, never = 0.0005, 0.0, Event()
    while waited < PATIENCE:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            never.wait(pause)
            waited += pause
            pause = min(2 * pause, 0.02)
        except OSError as error:
            raise refused(error) from error
        else:
            return
    raise StoreUnreachable("another process has kept the memory store locked for too long: end it, then try again")


def directory_of(name: str) -> str:
    """The folder of a tenant or user: the name itself where every system keeps it apart, else a hash."""
    plain = len(name) <= 64 and all("a" <= letter <= "z" or "0" <= letter <= "9" or letter in "-_" for letter in name)
    # The sign in front of a hash is in no plain name.
    return name if plain else "=" + sha256(name.encode()).hexdigest()[:40]
