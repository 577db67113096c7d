"""What any memory store must do: contracts, each a function that takes a fresh store.

    @pytest.mark.parametrize("contract", MEMORY_STORE_CONTRACTS, ids=lambda contract: contract.__name__)
    def test_my_store_keeps_every_contract(contract, my_store):
        contract(my_store)

It knows the protocol. It must never know a store. A contract that is broken raises `AssertionError`, or the error that
the store should not have raised. The store handed in must be empty, with the caps `CAPS`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TypeAlias

from perdure.kernel.errors import (
    MemoryChanged,
    MemoryFault,
    MemoryFull,
    MemoryNotFound,
    MemoryPathRefused,
    MemoryTaken,
    NoPrincipal,
)
from perdure.memory.path import MemoryPath, parse_path
from perdure.memory.principal import Principal
from perdure.memory.store import Caps, MemoryStore, version_of

Contract: TypeAlias = Callable[[MemoryStore], None]

CAPS = Caps(file_bytes=4_096, files=20)
ANA = Principal(tenant="acme", user="ana")
BEN = Principal(tenant="acme", user="ben")
OTHER = Principal(tenant="globex", user="ana")
ROOT = parse_path("/memories")
NOTES = parse_path("/memories/notes.md")
DEEP = parse_path("/memories/a/b/c.md")


def text_at(store: MemoryStore, path: MemoryPath, principal: Principal = ANA) -> str | None:
    """What is kept at a path."""
    found = store.read(principal, path)
    return found.text if found else None


def paths(store: MemoryStore, path: MemoryPath = ROOT, principal: Principal = ANA) -> list[str]:
    """The files below a path."""
    return [str(entry.path) for entry in store.files(principal, path) or ()]


def expect(condition: bool, claim: str) -> None:
    """Break the contract unless the claim holds; also where Python runs without assertions."""
    if not condition:
        raise AssertionError(claim)


def refuses(error: type[MemoryFault], act: Callable[[], object], claim: str) -> None:
    """The act must raise this error."""
    try:
        act()
    except error:
        return
    raise AssertionError(claim)


def what_is_written_is_read(store: MemoryStore) -> None:
    """Content comes back equal, whatever characters it has."""
    for text in ("", "one", "one\r\ntwo\n\n", "naïve 漢字 🙂 \u2028 \x1b[0m", "x" * 4_096):
        seen = store.read(ANA, NOTES)
        store.write(ANA, NOTES, text, expected=seen.version if seen else None)
        expect(text_at(store, NOTES) == text, "a text did not come back as it was")
        found = store.read(ANA, NOTES)
        expect(found is not None and found.version == version_of(text), "a version is not that of its content")


def an_empty_store_has_a_root_and_nothing_else(store: MemoryStore) -> None:
    """To look at nothing is no error."""
    expect(store.files(ANA, ROOT) == (), "the root of an empty store is not an empty folder")
    expect(store.files(ANA, parse_path("/memories/a")) is None, "a folder without files is there")
    expect(store.read(ANA, NOTES) is None, "a file is there that nobody wrote")


def folders_are_there_for_their_files(store: MemoryStore) -> None:
    """They come and go with them."""
    store.write(ANA, DEEP, "deep", expected=None)
    expect(paths(store) == ["/memories/a/b/c.md"], "a file in a folder is not listed")
    expect(paths(store, parse_path("/memories/a")) == ["/memories/a/b/c.md"], "a folder does not list its files")
    expect(store.read(ANA, parse_path("/memories/a")) is None, "a folder can be read as a file")
    expect(store.files(ANA, DEEP) is None, "a file can be listed as a folder")
    store.delete(ANA, DEEP)
    expect(store.files(ANA, parse_path("/memories/a")) is None, "a folder stays when its last file goes")


def an_update_that_would_be_lost_is_refused(store: MemoryStore) -> None:
    """A write names what it saw."""
    store.write(ANA, NOTES, "first", expected=None)
    store.write(ANA, NOTES, "second", expected=version_of("first"))
    refuses(MemoryChanged, lambda: store.write(ANA, NOTES, "third", expected=version_of("first")), "an update was lost")
    refuses(MemoryTaken, lambda: store.write(ANA, NOTES, "third", expected=None), "a file was replaced unseen")
    store.delete(ANA, NOTES)
    refuses(MemoryChanged, lambda: store.write(ANA, NOTES, "x", expected=version_of("second")), "a file came back")
    expect(store.files(ANA, ROOT) == (), "a refused write left something behind")


def of_writers_at_once_one_wins(store: MemoryStore) -> None:
    """Each of eight adds its line until it is in; none may be missing."""
    store.write(ANA, NOTES, "", expected=None)

    def add(line: str) -> None:
        while True:
            seen = store.read(ANA, NOTES)
            if seen is None:
                return
            try:
                store.write(ANA, NOTES, f"{seen.text}{line}\n", expected=seen.version)
            except MemoryChanged:
                continue
            return

    writers = [Thread(target=add, args=(str(number),), daemon=True) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    lines = sorted((text_at(store, NOTES) or "").split())
    expect(lines == [str(number) for number in range(8)], "an update that was acknowledged is lost")


def nobody_sees_what_is_anothers(store: MemoryStore) -> None:
    """Neither another user of the tenant, nor the same name elsewhere."""
    store.write(ANA, NOTES, "private", expected=None)
    for other in (BEN, OTHER):
        expect(store.read(other, NOTES) is None, "a file can be read by another principal")
        expect(store.files(other, ROOT) == (), "a file is listed for another principal")
        refuses(MemoryNotFound, lambda other=other: store.delete(other, NOTES), "another principal deleted a file")
        refuses(
            MemoryNotFound,
            lambda other=other: store.rename(other, NOTES, DEEP),
            "another principal moved a file",
        )
        store.write(other, NOTES, "their own", expected=None)
        store.delete(other, NOTES)
    expect(text_at(store, NOTES) == "private", "another principal changed a file")


def without_a_principal_there_is_nothing(store: MemoryStore) -> None:
    """None means nothing, not everything."""
    store.write(ANA, NOTES, "private", expected=None)
    for act in (
        lambda: store.read(None, NOTES),
        lambda: store.files(None, ROOT),
        lambda: store.write(None, NOTES, "x", expected=None),
        lambda: store.delete(None, NOTES),
        lambda: store.rename(None, NOTES, DEEP),
    ):
        refuses(NoPrincipal, act, "a store answered nobody")


def the_root_stays(store: MemoryStore) -> None:
    """It is neither deleted, nor moved, nor written."""
    store.write(ANA, NOTES, "kept", expected=None)
    refuses(MemoryPathRefused, lambda: store.delete(ANA, ROOT), "the root was deleted")
    refuses(MemoryPathRefused, lambda: store.rename(ANA, ROOT, DEEP), "the root was moved")
    refuses(MemoryPathRefused, lambda: store.rename(ANA, NOTES, ROOT), "the root was replaced")
    refuses(MemoryPathRefused, lambda: store.write(ANA, ROOT, "x", expected=None), "the root was written")
    expect(paths(store) == ["/memories/notes.md"], "a refused command changed something")


def names_that_differ_in_case_alone_are_one(store: MemoryStore) -> None:
    """Some file systems take them for one, and there one would replace the other."""
    store.write(ANA, DEEP, "deep", expected=None)
    for twin in ("/memories/A/b/d.md", "/memories/a/B", "/memories/a/b/C.md"):
        refuses(
            MemoryTaken,
            lambda twin=twin: store.write(ANA, parse_path(twin), "x", expected=None),
            "a name that differs in case alone was taken",
        )
    store.rename(ANA, DEEP, parse_path("/memories/a/b/C.md"))
    expect(paths(store) == ["/memories/a/b/C.md"], "a name could not change its case")


def a_file_is_no_folder_and_a_folder_no_file(store: MemoryStore) -> None:
    """A path is one or the other."""
    store.write(ANA, DEEP, "deep", expected=None)
    below = parse_path("/memories/a/b/c.md/d.md")
    refuses(MemoryTaken, lambda: store.write(ANA, below, "x", expected=None), "a file became a folder")
    refuses(
        MemoryTaken, lambda: store.write(ANA, parse_path("/memories/a"), "x", expected=None), "a folder was written"
    )
    expect(paths(store) == ["/memories/a/b/c.md"], "a refused write changed something")


def a_rename_moves_all_and_replaces_nothing(store: MemoryStore) -> None:
    """Folders with all that is in them."""
    store.write(ANA, DEEP, "deep", expected=None)
    store.write(ANA, NOTES, "notes", expected=None)
    refuses(MemoryTaken, lambda: store.rename(ANA, DEEP, NOTES), "a file was replaced by a rename")
    refuses(MemoryTaken, lambda: store.rename(ANA, NOTES, NOTES), "a file was renamed to itself")
    refuses(MemoryNotFound, lambda: store.rename(ANA, parse_path("/memories/no"), DEEP), "nothing was renamed")
    missing = parse_path("/memories/new/place.md")
    refuses(MemoryNotFound, lambda: store.rename(ANA, parse_path("/memories/no"), missing), "nothing was renamed")
    expect(store.files(ANA, parse_path("/memories/new")) is None, "a failed rename left a folder behind")
    inside = parse_path("/memories/a/inside")
    refuses(
        MemoryPathRefused, lambda: store.rename(ANA, parse_path("/memories/a"), inside), "a folder moved into itself"
    )
    store.rename(ANA, parse_path("/memories/a"), parse_path("/memories/z/y"))
    expect(paths(store) == ["/memories/notes.md", "/memories/z/y/b/c.md"], "a folder was not moved whole")


def a_delete_takes_all_that_is_below(store: MemoryStore) -> None:
    """And nothing else."""
    store.write(ANA, DEEP, "deep", expected=None)
    store.write(ANA, parse_path("/memories/ab/c.md"), "beside", expected=None)
    store.delete(ANA, parse_path("/memories/a"))
    refuses(MemoryNotFound, lambda: store.delete(ANA, parse_path("/memories/a")), "nothing was deleted")
    expect(paths(store) == ["/memories/ab/c.md"], "a delete took too much or too little")


def caps_hold(store: MemoryStore) -> None:
    """On the size of a file and on their number."""
    large = "x" * (CAPS.file_bytes + 1)
    refuses(MemoryFull, lambda: store.write(ANA, NOTES, large, expected=None), "a file exceeds its cap")
    for number in range(CAPS.files):
        store.write(ANA, parse_path(f"/memories/{number}"), "x", expected=None)
    refuses(MemoryFull, lambda: store.write(ANA, NOTES, "x", expected=None), "there are too many files")
    store.write(ANA, parse_path("/memories/0"), "changed", expected=version_of("x"))
    store.write(BEN, NOTES, "another's", expected=None)


def what_cannot_be_stored_everywhere_is_refused(store: MemoryStore) -> None:
    """A zero character, half of a pair."""
    for text in ("a\0b", "a\ud800b"):
        refuses(MemoryFault, lambda text=text: store.write(ANA, NOTES, text, expected=None), "it was kept")
    expect(store.files(ANA, ROOT) == (), "a refused write left something behind")


def the_least_trusted_source_stays(store: MemoryStore) -> None:
    """What the web wrote into a file is not washed off by an edit or a rename."""
    store.write(ANA, DEEP, "from a page", expected=None, provenance="web")
    store.write(ANA, DEEP, "from a page, noted", expected=version_of("from a page"))
    store.rename(ANA, parse_path("/memories/a"), parse_path("/memories/z"))
    moved = parse_path("/memories/z/b/c.md")
    found = store.read(ANA, moved)
    expect(found is not None and found.provenance == "web", "a provenance was washed off")
    store.delete(ANA, moved)
    store.write(ANA, moved, "my own", expected=None)
    found = store.read(ANA, moved)
    expect(found is not None and found.provenance == "assistant", "a provenance outlived its file")


MEMORY_STORE_CONTRACTS: tuple[Contract, ...] = (
    what_is_written_is_read,
    an_empty_store_has_a_root_and_nothing_else,
    folders_are_there_for_their_files,
    an_update_that_would_be_lost_is_refused,
    of_writers_at_once_one_wins,
    nobody_sees_what_is_anothers,
    without_a_principal_there_is_nothing,
    the_root_stays,
    names_that_differ_in_case_alone_are_one,
    a_file_is_no_folder_and_a_folder_no_file,
    a_rename_moves_all_and_replaces_nothing,
    a_delete_takes_all_that_is_below,
    caps_hold,
    what_cannot_be_stored_everywhere_is_refused,
    the_least_trusted_source_stays,
)
"""Every contract."""
