"""Files are read, changed and written as the model means it, or not at all, and a refusal says what to do next."""

from __future__ import annotations

import asyncio
import os
import stat
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.agent.ports import Result
from perdure.kernel.messages import Image, Json, Text, encode_json
from perdure.tools import edit, read, write
from perdure.tools.actions import Harmless, Offered, ReadPath, WritePath
from perdure.tools.edit import Edit, applied
from perdure.tools.failed import ToolFailed
from perdure.tools.seen import Seen
from perdure.tools.workspace import Workspace

NOW = 1_790_000_000.0


class Desk:
    """The three tools over one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = Workspace(cwd=root, roots=(root,), home=root, environment={}, kept=root)
        self.seen = Seen(lambda: NOW)
        tools = (read.offered, edit.offered, write.offered)
        self.tools: dict[str, Offered] = {
            offered.tool.definition.name: offered for offered in (make(self.workspace, self.seen) for make in tools)
        }

    def blocks(self, name: str, **given: Json) -> Result:
        async def call() -> Result:
            made = self.tools[name].tool.run(given)
            assert not isinstance(made, (str, tuple))
            return await made

        return asyncio.run(call())

    def says(self, name: str, **given: Json) -> str:
        said = self.blocks(name, **given)
        assert isinstance(said, str)
        return said

    def fails(self, name: str, **given: Json) -> str:
        with pytest.raises(ToolFailed) as failed:
            self.blocks(name, **given)
        return str(failed.value)

    def put(self, name: str, content: bytes | str) -> Path:
        path = self.root / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def change(old: str, new: str) -> list[Json]:
    return [{"old_string": old, "new_string": new}]


# ---------------------------------------------------------------------------------------------------------------- read


def test_a_file_is_shown_with_the_numbers_of_its_lines(desk: Desk) -> None:
    desk.put("a.py", "one\n\ttwo\n\nfour")

    assert "1\tone\n2\t\ttwo\n3\t\n4\tfour" == desk.says("read", path="a.py")


def test_a_part_says_where_it_stands_and_where_to_go_on(desk: Desk) -> None:
    desk.put("a.txt", "".join(f"line {n}\n" for n in range(1, 11)))

    assert "3\tline 3\n4\tline 4\n[a.txt: lines 3-4 of 10; go on with offset 5.]" == desk.says(
        "read", path="a.txt", offset=3, limit="2"
    )
    assert "has 10 lines; there is no line 11" in desk.fails("read", path="a.txt", offset=11)


def test_the_parts_of_a_long_file_make_up_all_of_it(desk: Desk) -> None:
    desk.put("long", "".join(f"{n} {'x' * (n % 90)}\n" for n in range(1, 5_001)))
    rows: list[str] = []
    while len(rows) < 5_000:
        *part, _ = [*desk.says("read", path="long", offset=len(rows) + 1).split("\n"), ""]
        rows += [row for row in part if "\t" in row]

    assert [f"{n}\t{n} {'x' * (n % 90)}" for n in range(1, 5_001)] == rows


def test_a_line_without_an_end_takes_no_more_room_than_any_other(desk: Desk) -> None:
    desk.put("big.js", b"x" * 3_000_000 + b"\nend\n")
    said = desk.says("read", path="big.js")

    assert len(said) < 3_000
    assert said.endswith("2\tend")


def test_an_empty_file_is_said_to_be_empty(desk: Desk) -> None:
    desk.put("none", "")

    assert "[none is empty.]" == desk.says("read", path="none")


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"\xef\xbb\xbfhi\n", "1\thi\n[f: a byte order mark, which edit keeps.]"),
        ("né\n".encode("utf-16"), "1\tné\n[f: in utf-16-le.]"),
        (b"caf\xe9\n", "1\tcafé\n[f: in cp1252.]"),
        (b"a\r\nb\r\n", "1\ta\n2\tb\n[f: lines end with CRLF, which edit keeps.]"),
        ("gr\u00fc\u00df".encode() * 9 + b"\xff\n", "1\t" + "gr\u00fc\u00df" * 9 + "\ufffd"),
        (b"\x1b[31mred\n", "1\t\ufffd[31mred"),
    ],
)
def test_text_is_shown_whatever_its_encoding(desk: Desk, content: bytes, shown: str) -> None:
    desk.put("f", content)

    assert shown == desk.says("read", path="f")


def test_a_binary_file_is_refused_with_what_it_is(desk: Desk) -> None:
    desk.put("db", b"SQLite format 3\0" + bytes(100))

    assert "'db' is binary (a SQLite database, 116 bytes)" in desk.fails("read", path="db")


def test_a_picture_comes_as_one(desk: Desk) -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + bytes(40)
    desk.put("shot.png", data)
    text, picture = desk.blocks("read", path="shot.png")

    assert isinstance(text, Text)
    assert isinstance(picture, Image)
    assert "[shot.png: image/png, 640 x 480, 64 bytes]" == text.text
    assert data == b64decode(str(picture.source["data"]))


def test_a_picture_that_no_provider_takes_is_refused(desk: Desk) -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    desk.put("wide.png", head + (9_000).to_bytes(4, "big") + (4).to_bytes(4, "big"))
    desk.put("heavy.png", head + bytes(read.PICTURE))

    assert "8,000 pixels a side" in desk.fails("read", path="wide.png")
    assert "too large" in desk.fails("read", path="heavy.png")


def test_a_notebook_is_shown_as_cells(desk: Desk) -> None:
    cell: Json = {
        "cell_type": "code",
        "source": ["x = 1\n", "x"],
        "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["1"], "image/png": "eA=="}}],
    }
    desk.put("n.ipynb", encode_json({"cells": [cell, {"cell_type": "markdown", "source": "# Title"}]}))

    assert (
        "1\t[cell 1: code]\n2\tx = 1\n3\tx\n4\t[output of cell 1]\n5\t1 [image/png]\n6\t[cell 2: markdown]\n7\t# Title"
        == desk.says("read", path="n.ipynb")
    )
    assert "Python script" in desk.fails("edit", path="n.ipynb", edits=change("x = 1\nx", "y"))


def test_the_pages_of_a_pdf_are_text(desk: Desk) -> None:
    desk.put("d.pdf", pdf("Hello pages"))

    assert "[d.pdf: pages 1-1 of 1.]\n--- page 1 ---\nHello pages" == desk.says("read", path="d.pdf")
    assert "there is no page 2" in desk.fails("read", path="d.pdf", offset=2)
    desk.put("broken.pdf", b"%PDF-1.7 nothing")
    assert "cannot be read" in desk.fails("read", path="broken.pdf")


def test_what_cannot_be_read_is_told_with_the_next_step(desk: Desk) -> None:
    desk.put("config.toml", "x")
    (desk.root / "sub").mkdir()
    os.mkfifo(desk.root / "pipe")
    (desk.root / "loop").symlink_to("loop")
    (desk.root / "lost").symlink_to("nowhere")

    assert "Near it: " in desk.fails("read", path="confg.toml")
    assert "Near it: " in desk.fails("read", path="Config.yaml")
    assert "no folder 'sbu' on the way" in desk.fails("read", path="sbu/x/y.py")
    assert "a folder" in desk.fails("read", path="sub")
    assert "a named pipe" in desk.fails("read", path="pipe")
    assert "circle of links" in desk.fails("read", path="loop")
    assert "a link to 'nowhere'" in desk.fails("read", path="lost")
    assert "leads through a file" in desk.fails("read", path="config.toml/x")
    assert "no NUL" in desk.fails("read", path="a\0b")
    assert "surrogate" in desk.fails("read", path="a\ud800b")
    assert "path is empty" in desk.fails("read", path="  ")
    assert "needs the parameter `path`" in desk.fails("read")
    assert "has no parameter `lines`" in desk.fails("read", path="x", lines=3)
    assert "must be a string, not" in desk.fails("read", path=7)
    assert "cannot be used: " in desk.fails("read", path="n" * 400)


def test_a_file_that_nobody_may_read_is_told_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("secret", "x")

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError

    monkeypatch.setattr("os.open", refuse)

    assert "'" + str(desk.root / "secret") + "' cannot be used: permission denied." == desk.fails("read", path="secret")


def test_a_name_is_found_in_the_form_that_the_disk_has(desk: Desk) -> None:
    desk.put("cafe\u0301 at 9\u202fam.txt", "found")

    assert "1\tfound" == desk.says("read", path="caf\u00e9 at 9 am.txt")


def test_names_of_other_harnesses_and_a_tilde_are_understood(desk: Desk) -> None:
    desk.put("日本.txt", "x")

    assert "1\tx" == desk.says("read", file_path="~/日本.txt")


def test_calls_tell_which_file_they_touch(desk: Desk) -> None:
    assert (ReadPath(path=desk.root / "x"),) == desk.tools["read"].actions({"path": "x"})
    assert (WritePath(path=desk.root / "x"),) == desk.tools["write"].actions({"path": "x", "content": ""})
    assert (WritePath(path=desk.root / "x"),) == desk.tools["edit"].actions({"path": "x", "edits": change("a", "b")})
    assert (Harmless(),) == desk.tools["edit"].actions({"path": "x\0"})


# ---------------------------------------------------------------------------------------------------------------- edit


def test_edits_apply_in_order_and_the_diff_is_shown(desk: Desk) -> None:
    path = desk.put("a.py", "".join(f"line {n}\n" for n in range(1, 30)))
    desk.says("read", path="a.py")
    said = desk.says("edit", path="a.py", edits=[*change("line 12\n", "twelve\n"), *change("twelve", "dozen")])

    assert "dozen\n" in path.read_text()
    assert (
        "--- a.py\n+++ a.py\n@@ -9,7 +9,7 @@\n line 9\n line 10\n line 11\n"
        "-line 12\n+dozen\n line 13\n line 14\n line 15" == said
    )


def test_no_edit_applies_unless_all_do(desk: Desk) -> None:
    path = desk.put("a", "one two\ntwo\n")
    desk.says("read", path="a")

    assert "Edit 2: old_string was not found" in desk.fails(
        "edit", path="a", edits=[*change("one", "1"), *change("9", "")]
    )
    assert "occurs 2 times (lines 1, 2)" in desk.fails("edit", path="a", edits=change("two", "2"))
    assert "empty" in desk.fails("edit", path="a", edits=change("", "2"))
    assert "the same" in desk.fails("edit", path="a", edits=change("two", "two"))
    assert "one two\ntwo\n" == path.read_text()


def test_an_edit_may_be_given_alone_or_as_json_in_a_string(desk: Desk) -> None:
    path = desk.put("a", "x x\n")
    desk.says("read", path="a")
    desk.says("edit", path="a", old_string="x", new_string="y", replace_all="true")
    desk.says("edit", path="a", edits='[{"old_string": "y y", "new_string": "z"}]')

    assert "z\n" == path.read_text()


def test_what_was_nearly_right_is_shown(desk: Desk) -> None:
    desk.put("a.py", "def f():\n    return \u201ca\u201d\n")
    desk.says("read", path="a.py")

    assert "Lines 1-2 differ in white space" in desk.fails(
        "edit", path="a.py", edits=change('def f():\n\treturn "a"', "x")
    )
    assert "Leave out the line numbers" in desk.fails("edit", path="a.py", edits=change("1\tdef f():", "x"))
    assert "Nearest is line 1" in desk.fails("edit", path="a.py", edits=change("def g():", "x"))


def test_a_file_is_not_changed_unread_nor_after_somebody_else_changed_it(desk: Desk) -> None:
    path = desk.put("a", "one\n")
    unread = desk.fails("edit", path="a", edits=change("one", "two"))
    desk.says("read", path="a")
    path.write_text("one!\n")
    stale = desk.fails("edit", path="a", edits=change("one", "two"))
    desk.says("read", path="a")
    desk.seen.forget([path])
    folded = desk.fails("edit", path="a", edits=change("one", "two"))

    assert "not read 'a'" in unread
    assert "changed on disk" in stale
    assert "summarized" in folded
    assert "one!\n" == path.read_text()


def test_a_touch_that_changes_nothing_stops_no_edit(desk: Desk) -> None:
    path = desk.put("a", "one\n")
    desk.says("read", path="a")
    os.utime(path, (1, 1))
    desk.says("edit", path="a", edits=change("one", "two"))

    assert "two\n" == path.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nnew\r\nc\r\n"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\nnew\n"),
        ("\ufeffa\nb\n".encode("utf-16-le"), "\ufeffa\nB\nnew\n".encode("utf-16-le")),
        (b"a\xe9\nb\n", b"a\xe9\nB\nnew\n"),
        ("\u00fc\u00fc".encode() + b"\xff\nb\n", "\u00fc\u00fc".encode() + b"\xff\nB\nnew\n"),
        (b"a\nb", b"a\nB\nnew"),
    ],
)
def test_everything_but_the_edit_stays_byte_for_byte(desk: Desk, before: bytes, after: bytes) -> None:
    path = desk.put("f", before)
    desk.says("read", path="f")
    desk.says("edit", path="f", edits=change("b", "B\nnew"))

    assert after == path.read_bytes()


def test_a_character_that_the_encoding_lacks_is_refused(desk: Desk) -> None:
    path = desk.put("f", b"caf\xe9\n")
    desk.says("read", path="f")

    assert "has no '\u2192'" in desk.fails("edit", path="f", edits=change("caf", "\u2192"))
    assert b"caf\xe9\n" == path.read_bytes()


def test_mode_links_and_second_names_of_a_file_stay(desk: Desk) -> None:
    path = desk.put("run.sh", "one\n")
    path.chmod(0o751)
    (desk.root / "link").symlink_to("run.sh")
    other = desk.put("twin", "one\n")
    (desk.root / "twin2").hardlink_to(other)
    for name in ("link", "twin2"):
        desk.says("read", path=name)
        desk.says("edit", path=name, edits=change("one", "two"))

    assert (desk.root / "link").is_symlink()
    assert ["two\n", "two\n"] == [path.read_text(), other.read_text()]
    assert 0o751 == stat.S_IMODE(path.stat().st_mode)
    assert [] == list(desk.root.glob(".perdure-*"))


@given(st.text("ab\n", max_size=30), st.text("ab\n", min_size=1, max_size=4), st.text("xy\n", max_size=4))
def test_an_edit_is_what_replace_does_in_either_kind_of_line(text: str, old: str, new: str) -> None:
    wanted = text.replace(old, new)
    if old not in text or old == new:
        return
    crlf = text.replace("\n", "\r\n")
    change = Edit(old=old, new=new, everywhere=True)

    assert wanted == applied(text, [change])
    if "\n" in text:
        assert wanted.replace("\n", "\r\n") == applied(crlf, [change])


# --------------------------------------------------------------------------------------------------------------- write


def test_a_new_file_is_written_with_its_folders(desk: Desk) -> None:
    said = desk.says("write", path="a/b/c.txt", content="one\ntwo")

    assert "Wrote a/b/c.txt, a new file of 2 lines." == said
    assert "one\ntwo" == (desk.root / "a/b/c.txt").read_text()


def test_a_file_is_written_over_only_when_it_was_seen_in_full(desk: Desk) -> None:
    path = desk.put("a", "1\n2\n3\n4\n")
    unread = desk.fails("write", path="a", content="x")
    desk.says("read", path="a", limit=2)
    half = desk.fails("write", path="a", content="x")
    desk.says("read", path="a", offset=3)
    desk.says("write", path="a", content="1\n2\nx\n")
    desk.says("write", path="a", content="again\n")

    assert "not read" in unread
    assert "only lines 1-2 of the 4" in half
    assert "again\n" == path.read_text()


def test_a_file_written_over_keeps_its_kind_of_line(desk: Desk) -> None:
    path = desk.put("a", b"1\r\n2\r\n")
    desk.says("read", path="a")
    desk.says("write", path="a", content="x\ny\n")

    assert b"x\r\ny\r\n" == path.read_bytes()


def test_a_folder_or_a_pipe_is_not_written_over(desk: Desk) -> None:
    (desk.root / "sub").mkdir()
    desk.put("file", "x")

    assert "a folder" in desk.fails("write", path="sub", content="x")
    assert "leads through a file" in desk.fails("write", path="file/x", content="x")


def test_what_was_touched_last_is_listed_first(desk: Desk) -> None:
    one, two = desk.put("one", "1"), desk.put("two", "2")
    desk.says("read", path="one")
    desk.says("read", path="two")
    desk.says("edit", path="one", edits=change("1", "I"))

    assert ((one, "modified", NOW), (two, "read", NOW)) == desk.seen.recent()


def pdf(text: str) -> bytes:
    """A PDF of one page that says this."""
    shows = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(shows)}>>stream\n{shows}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = "%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Root 1 0 R/Size 6>>\nstartxref\n{len(out)}\n%%EOF\n"
    return (out + end).encode()
