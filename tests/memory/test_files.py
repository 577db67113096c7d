"""The store in files keeps every contract of stores, survives being killed, and stays inside its folder."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from perdure.kernel.errors import MemoryFault, StoreUnreachable
from perdure.memory import FileStore, Principal, parse_path
from perdure.memory.store import version_of
from perdure.testing.memory_store import CAPS, MEMORY_STORE_CONTRACTS, Contract

ANA = Principal(tenant="acme", user="ana")
NOTES = parse_path("/memories/notes.md")


@pytest.mark.parametrize("contract", MEMORY_STORE_CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_store_in_files_keeps_the_contract(contract: Contract, tmp_path: Path) -> None:
    contract(FileStore(root=tmp_path / "store", caps=CAPS))


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    store = FileStore(root=tmp_path / "store")
    before = os.umask(0)
    try:
        store.write(ANA, parse_path("/memories/a/b.md"), "private", expected=None, provenance="web")
    finally:
        os.umask(before)
    modes = {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
        for path in [tmp_path / "store", *tmp_path.glob("store/**/*")]
    }

    assert {(True, 0o700), (False, 0o600)} == modes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("A", "b")),
        (("a", "../b"), ("a", "b")),
        (("x/y", "z"), ("x", "y/z")),
        (("=" + "0" * 40, "b"), ("a", "b")),
        (("a\\", "b"), ("a", "b")),
        (("..", "b"), (".", "b")),
    ],
)
def test_names_of_tenants_and_users_never_meet_on_disk(
    one: tuple[str, str], other: tuple[str, str], tmp_path: Path
) -> None:
    store = FileStore(root=tmp_path / "store")
    store.write(Principal(tenant=one[0], user=one[1]), NOTES, "private", expected=None)

    assert () == store.files(Principal(tenant=other[0], user=other[1]), parse_path("/memories"))
    assert ["store"] == [path.name for path in tmp_path.iterdir()]


def planted(tmp_path: Path) -> dict[str, Callable[[Path], object]]:
    """What somebody with access to the folder may have put under a name."""
    canary = tmp_path / "canary"
    return {
        "a link to a file": lambda place: place.symlink_to(canary),
        "a link to a folder": lambda place: place.symlink_to(tmp_path / "outside"),
        "a link to nothing": lambda place: place.symlink_to(tmp_path / "nothing"),
        "a link to itself": lambda place: place.symlink_to(place.name),
        "a hard link": lambda place: place.hardlink_to(canary),
        "a pipe": os.mkfifo,
        "a device": lambda place: os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 3)),
    }


PLANTED = tuple(planted(Path()))
ACTS: dict[str, Callable[[FileStore, str], object]] = {
    "read": lambda store, place: store.read(ANA, parse_path(place)),
    "read below": lambda store, place: store.read(ANA, parse_path(f"{place}/canary")),
    "write": lambda store, place: store.write(ANA, parse_path(place), "gone", expected=None),
    "write below": lambda store, place: store.write(ANA, parse_path(f"{place}/canary"), "gone", expected=None),
    "list": lambda store, place: store.files(ANA, parse_path(f"{place}/x")),
    "delete": lambda store, place: store.delete(ANA, parse_path(place)),
    "delete below": lambda store, place: store.delete(ANA, parse_path(f"{place}/canary")),
    "rename from": lambda store, place: store.rename(ANA, parse_path(place), parse_path("/memories/got")),
    "rename to": lambda store, place: store.rename(ANA, NOTES, parse_path(f"{place}/canary")),
}


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.parametrize("act", ACTS)
def test_what_was_planted_in_the_store_leads_nowhere(act: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("alive")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "canary").write_text("alive")
    store = FileStore(root=tmp_path / "store")
    store.write(ANA, NOTES, "notes", expected=None)
    memories = tmp_path / "store/acme/ana/memories"
    planted(tmp_path)[what](memories / "planted")

    with pytest.raises(MemoryFault) as refused:
        ACTS[act](store, "/memories/planted")

    assert str(tmp_path) not in str(refused.value)
    assert ["alive", "alive"] == [(tmp_path / place).read_text() for place in ("canary", "outside/canary")]
    assert ["canary"] == [path.name for path in (tmp_path / "outside").iterdir()]
    assert ["/memories/notes.md"] == [str(entry.path) for entry in store.files(ANA, parse_path("/memories")) or ()]


def test_a_link_in_a_folder_goes_with_it_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "canary").write_text("alive")
    store = FileStore(root=tmp_path / "store")
    store.write(ANA, parse_path("/memories/a/b.md"), "x", expected=None)
    (tmp_path / "store/acme/ana/memories/a/link").symlink_to(tmp_path / "outside")

    store.delete(ANA, parse_path("/memories/a"))

    assert "alive" == (tmp_path / "outside" / "canary").read_text()
    assert () == store.files(ANA, parse_path("/memories"))


def test_a_folder_that_becomes_a_link_at_any_moment_leads_nowhere(tmp_path: Path) -> None:
    """One thread exchanges the folder for a link and back, as fast as it can; the other reads and writes below it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.md").write_text("alive")
    store = FileStore(root=tmp_path / "store")
    path = parse_path("/memories/a/notes.md")
    store.write(ANA, path, "0", expected=None)
    folder = tmp_path / "store/acme/ana/memories/a"
    stop = Event()

    def exchange() -> None:
        away = folder.with_name("b")
        while not stop.is_set():
            # A write may have made the folder anew in between; then a step is left out.
            for step in (
                lambda: folder.rename(away),
                lambda: folder.symlink_to(outside),
                folder.unlink,
                lambda: away.rename(folder),
            ):
                with suppress(OSError):
                    step()

    attacker = Thread(target=exchange, daemon=True)
    attacker.start()
    read: set[str] = set()
    try:
        for number in range(400):
            # What is in the way of the exchange is refused or not there: both are answers.
            with suppress(MemoryFault):
                seen = store.read(ANA, path)
                if seen is not None:
                    read.add(seen.text)
                    store.write(ANA, path, f"{number}", expected=seen.version)
    finally:
        stop.set()
        attacker.join(10)

    assert "alive" == (outside / "notes.md").read_text()
    assert ["notes.md"] == [entry.name for entry in outside.iterdir()]
    assert "alive" not in read
    kept = store.read(ANA, path)
    assert kept is not None
    assert kept.text.isdigit()


WRITER = """
import sys
from pathlib import Path
from perdure.memory import FileStore, Principal, parse_path
from perdure.memory.store import version_of

store = FileStore(root=Path(sys.argv[1]))
ana = Principal(tenant="acme", user="ana")
path = parse_path("/memories/notes.md")
number = 0
while True:
    seen = store.read(ana, path)
    number += 1
    text = f"{number}\\n" * 2000
    store.write(ana, path, text, expected=seen.version if seen else None, provenance="tool")
    print(number, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 4, 13])
def test_a_writer_that_is_killed_leaves_a_whole_file_and_a_usable_store(lines: int, tmp_path: Path) -> None:
    """Killed while it writes on; what it acknowledged last, or the next, is there, whole."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(lines)][-1]
    writer.send_signal(signal.SIGKILL)
    acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    writer.wait(10)
    writer.stdout.close()
    store = FileStore(root=tmp_path)
    kept = store.read(ANA, NOTES)

    assert kept is not None
    assert 2000 == len(kept.text.split())
    assert set(kept.text.split()) <= {str(acknowledged), str(acknowledged + 1)}
    assert 1 == len(set(kept.text.split()))
    store.write(ANA, NOTES, "afterwards", expected=kept.version)


def test_a_disk_that_is_full_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(root=tmp_path)
    store.write(ANA, NOTES, "before", expected=None)
    seen = store.read(ANA, NOTES)
    assert seen is not None

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StoreUnreachable, match="No space left"):
            store.write(ANA, NOTES, "after", expected=seen.version)

    assert seen == store.read(ANA, NOTES)


def test_a_write_that_takes_only_part_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(root=tmp_path)
    write = os.write

    def three_at_most(descriptor: int, data: bytes) -> int:
        return write(descriptor, bytes(data[:3]))

    monkeypatch.setattr(os, "write", three_at_most)

    store.write(ANA, NOTES, "a longer text", expected=None)

    found = store.read(ANA, NOTES)
    assert found is not None
    assert "a longer text" == found.text


def test_a_file_that_is_replaced_while_it_is_opened_is_read_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(root=tmp_path)
    store.write(ANA, NOTES, "old", expected=None)
    real, looked = os.fstat, 0

    def replaced_first(descriptor: int) -> os.stat_result:
        nonlocal looked
        looked += 1
        if looked == 1:
            store.write(ANA, NOTES, "new", expected=version_of("old"))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", replaced_first)
    found = store.read(ANA, NOTES)

    assert found is not None
    assert "new" == found.text
