"""No secret reaches the search index, nor what a search tells; what is recalled by its handle is exact."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from perdure.archive import Archive, collect, open_archive
from perdure.archive.archive import GUARD, INDEX
from perdure.kernel.context import Original
from perdure.kernel.messages import Message, ToolResult
from perdure.log import create_log, open_log
from perdure.testing.made_up_secrets import make_secrets

NOW = 1_790_000_000.0
SECRET = "ghp_q7Rk2mZ9tLw4Vx8Yb3Nc6Hd1Js5Pf0GaTe2U"
TEXT = f"# deployment notes\nexport GITHUB_TOKEN={SECRET}\ndone"
WHAT = f"bash git push https://x:{SECRET}@example.org/a.git"


def original(text: str, number: int = 1) -> Original:
    block = ToolResult(tool_use_id=f"t{number}", content=text)
    return Original(handle=f"h{number}", message_id=f"m{number}", what=WHAT, tokens=9, content=(block,))


def whole_index(archive: Archive) -> bytes:
    archive.close()
    return b"".join(path.read_bytes() for path in archive.folder.glob(f"{INDEX}*"))


def test_what_is_recalled_has_its_secret_and_what_is_searched_has_not(tmp_path: Path) -> None:
    with open_archive(None, tmp_path) as archive:
        archive.keep([original(TEXT)], NOW)
        (hit,) = archive.search("deployment export")

        assert original(TEXT).content == archive.recall("h1").content
        assert () == archive.search(SECRET)
        assert SECRET not in f"{hit!r} {archive.newest()!r}"
        assert "export GITHUB_TOKEN=[secret]" in [line.text for line in hit.lines]


@pytest.mark.parametrize("seed", range(3))
def test_no_made_up_secret_that_the_guard_knows_is_in_the_files_of_the_index(seed: int, tmp_path: Path) -> None:
    with open_archive(None, tmp_path) as archive:
        made = [one for one in make_secrets(seed, each=1) if one.secret not in GUARD.redact(one.text)]
        archive.keep([original(one.text, number) for number, one in enumerate(made, 1)], NOW)
        held = whole_index(archive)

    assert 100 < len(made)
    assert [] == [one.kind for one in made if one.secret.lower().encode() in held.lower()]


def test_an_index_that_version_1_made_forgets_the_secrets_in_it(tmp_path: Path) -> None:
    block = ToolResult(tool_use_id="t1", content=TEXT)
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(Message(id="m1", role="user", content=(block,), provenance="tool"), NOW)
        archive.keep([original(TEXT)], NOW)
        place = archive.folder / INDEX
    with sqlite3.connect(place) as base:
        base.execute("INSERT INTO words (words) VALUES ('delete-all')")
        base.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (TEXT,))
        base.execute("ALTER TABLE pieces DROP COLUMN told")
        base.execute("PRAGMA user_version = 1")
    base.close()

    with open_log(tmp_path / "s.jsonl") as log, open_archive(log) as archive:
        assert () == archive.search(SECRET)
        assert ["h1"] == [hit.handle for hit in archive.search("deployment")]
        assert TEXT == archive.recall("h1").text


class Stricter:
    """A guard that has learned one more word."""

    def refuse(self, text: str) -> None: ...

    def redact(self, text: str, source: str = "") -> str:
        return text.replace("deployment", "[secret]")


def test_a_guard_that_learned_more_takes_no_wrong_words_out(tmp_path: Path) -> None:
    with open_archive(None, tmp_path) as archive:
        archive.keep([original("deployment needle", 1)], NOW)
    with open_archive(None, tmp_path, Stricter()) as archive:
        archive.keep([original("another needle", 2)], NOW + 100)
        collect(archive, NOW + 200, before=NOW + 50)

        assert ["h2"] == [hit.handle for hit in archive.search("needle")]
        assert () == archive.search("deployment")


def test_no_line_of_a_private_key_is_told(tmp_path: Path) -> None:
    body = "\n".join(f"MIIEvQ{number:02}needle" + "aB3xQ9zL" * 6 for number in range(40))
    text = f"the needle thread\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    with open_archive(None, tmp_path) as archive:
        archive.keep([original(text)], NOW)
        (hit,) = archive.search("needle")

        assert ["the needle thread", "[secret]", "[secret]"] == [line.text for line in hit.lines]
