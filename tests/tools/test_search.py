"""Files are found by name and by content, without what git ignores, within bounds, with ripgrep and without it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.kernel.messages import Json
from perdure.tools import glob, grep
from perdure.tools.actions import Offered, ReadPath
from perdure.tools.failed import ToolFailed
from perdure.tools.walk import walk
from perdure.tools.workspace import Workspace

RIPGREP = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
FILES = {
    ".gitignore": "*.log\n/build/\n!keep.log\nnode_modules\n",
    ".git/config": "needle\n",
    ".hidden": "needle\n",
    "a.py": "one\nNeedle two\nthree\n",
    "build/out.py": "needle\n",
    "src/build/in.py": "needle\r\nx\nneedle again\n",
    "src/.gitignore": "/gen\n",
    "src/gen/made.py": "needle\n",
    "src/日本.ts": "needle\n",
    "x.log": "needle\n",
    "keep.log": "needle\n",
    "web/node_modules/m/i.js": "needle\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, (name, text) in enumerate(FILES.items()):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        os.utime(path, (1_000 + number, 1_000 + number))
    (tmp_path / "data.bin").write_bytes(b"\0\1needle\n")
    (tmp_path / "ring").symlink_to(tmp_path)
    return tmp_path


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(cwd=root, roots=(root,), home=root, environment={}, kept=root)


@pytest.fixture(params=["ripgrep", "our own"])
def search(request: pytest.FixtureRequest, workspace: Workspace) -> Offered:
    assert RIPGREP is not None
    return grep.offered(workspace, RIPGREP if request.param == "ripgrep" else None)


def says(offered: Offered, **given: Json) -> str:
    async def call() -> str:
        made = offered.tool.run(given)
        assert not isinstance(made, (str, tuple))
        said = await made
        assert isinstance(said, str)
        return said

    return asyncio.run(call())


def test_lines_are_found_with_path_and_number(search: Offered) -> None:
    said = says(search, pattern="needle").split("\n")

    assert [
        ".hidden:1:needle", "keep.log:1:needle", "src/build/in.py:1:needle", "src/build/in.py:3:needle again",
        "src/日本.ts:1:needle",
    ] == sorted(said)  # fmt: skip


def test_lines_around_modes_case_and_globs(search: Offered) -> None:
    assert "a.py:1-one\na.py:2:Needle two\na.py:3-three" == says(
        search, pattern="^needle", path="a.py", context=1, ignore_case=True
    )
    assert "src/build/in.py:2" == says(search, pattern="needle", mode="count", glob="*.py")
    assert ["src/build/in.py", "src/日本.ts"] == sorted(
        says(search, pattern="needle", mode="files", path="src").split("\n")
    )
    assert "[Nothing matches.]" == says(search, pattern="nowhere")


def test_an_ignored_folder_that_is_named_is_searched(search: Offered) -> None:
    assert "build/out.py:1:needle" == says(search, pattern="needle", path="build")


def test_files_that_may_hold_credentials_are_left_out_and_named_until_they_are_asked_for(
    search: Offered, root: Path
) -> None:
    (root / "src" / ".env").write_text("needle=hidden\n")
    (root / "src" / ".env.example").write_text("needle=made-up\n")

    found, named = says(search, pattern="needle", path="src"), says(search, pattern="needle", path="src/.env")

    assert "needle=made-up" in found
    assert "hidden" not in found
    assert "credentials: src/.env." in found
    assert "needle=hidden" in named


def test_a_long_answer_is_bounded(search: Offered, root: Path) -> None:
    (root / "many").write_text("same\n" * 500 + "same" * 1_000 + "\n")
    said = says(search, pattern="same", path="many", limit=10).split("\n")

    assert ["many:10:same", "[10 of 501 lines. Narrow the search, or use mode files or count.]"] == said[-2:]
    assert len(says(search, pattern="(same){100}")) < 600


def test_what_makes_no_sense_is_told(search: Offered) -> None:
    with pytest.raises(ToolFailed, match="The search failed"):
        says(search, pattern="(")
    with pytest.raises(ToolFailed, match="There is nothing at"):
        says(search, pattern="x", path="nowhere")
    with pytest.raises(ToolFailed, match="without NUL"):
        says(search, pattern="x\0")


def test_an_expression_that_takes_for_ever_is_ended(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "evil").write_text("a" * 40 + "\n")
    monkeypatch.setattr(grep, "SECONDS", 0.5)

    assert "was ended. Narrow it.]" in says(grep.offered(workspace, None), pattern="(a+)+b", path="evil")


def test_globs_find_files_the_latest_first(workspace: Workspace) -> None:
    offered = glob.offered(workspace)

    assert "src/build/in.py\na.py" == says(offered, pattern="*.py")
    assert "src/日本.ts\nsrc/build/in.py" == says(offered, pattern="src/**/*.{py,ts}")
    assert "src/日本.ts" == says(offered, pattern="[!a-z]*.ts", path="src")
    assert "build/out.py" == says(offered, pattern="*.py", path="build")
    assert "[No file has such a name.]" == says(offered, pattern="*.rs")
    with pytest.raises(ToolFailed, match="a file, no folder"):
        says(offered, pattern="*", path="a.py")


def test_a_tree_shows_folders_links_and_what_is_ignored(workspace: Workspace, root: Path) -> None:
    said = says(glob.offered_ls(workspace), path=str(root), depth=1).split("\n")[1:]

    assert [
        "  .gitignore", "  .hidden", "  a.py", "  build/ (ignored)", "  data.bin", "  keep.log", f"  ring -> {root}",
        "  src/", "  web/", "  x.log (ignored)",
    ] == said  # fmt: skip


def test_calls_tell_where_they_look(workspace: Workspace, root: Path) -> None:
    assert (ReadPath(path=root / "src"),) == glob.offered(workspace).actions({"pattern": "*", "path": "src"})
    assert (ReadPath(path=root),) == grep.offered(workspace, None).actions({"pattern": "x"})


@pytest.mark.parametrize(
    "rules",
    [
        "*.py\n!/a.py",
        "src",
        "src/*\n!src/build",
        "**/in.py",
        "src/**/made.py",
        "/a.*",
        "[ab].py",
        "\\!x\n#c\n a.py\na.py  ",
        "b?ild/",
    ],
)
def test_what_is_ignored_is_what_git_ignores(root: Path, rules: str) -> None:
    shutil.rmtree(root / ".git")
    (root / ".gitignore").write_text(rules)
    run = ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=off"]
    subprocess.run([*run, "init", "-q"], cwd=root, check=True)
    told = subprocess.run(
        [*run, "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, check=True, capture_output=True
    )
    ours = {found.path for found in walk(root) if not found.folder and not found.ignored}

    assert {name for name in told.stdout.decode().split("\0") if name} == ours
