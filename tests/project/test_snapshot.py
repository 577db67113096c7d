"""The git snapshot says how things stand, within bounds, and neither a slow nor a hostile git holds anybody up."""

import os
import select
import subprocess
import time
from pathlib import Path

import pytest

from perdure.project import Snapshot, places_of, take_snapshot
from perdure.project.snapshot import STATUS_LINES

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def git(where: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(where), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.py").write_text("one\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "First commit")
    return root


def snapshot(root: Path, environment: dict[str, str] | None = None, patience: float = 20.0) -> Snapshot:
    return take_snapshot(places_of(root, root.parent / "home"), environment or ENVIRONMENT, patience)


def fake_git(folder: Path, script: str) -> dict[str, str]:
    """An environment whose path begins with a `git` of ours."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "git").chmod(0o755)
    return {**ENVIRONMENT, "PATH": f"{folder}:{ENVIRONMENT['PATH']}"}


def test_it_tells_branch_main_branch_status_and_last_commits(root: Path) -> None:
    git(root, "switch", "-q", "-c", "fix/parser")
    (root / "a.py").write_text("two\n", encoding="utf-8")
    (root / "new.py").touch()
    head = git(root, "log", "--format=%h %cs").strip()

    assert [
        "Git, as it stood when this session began; it is not kept up to date:",
        "Branch: fix/parser",
        "Main branch: main",
        "Status:",
        " M a.py",
        "?? new.py",
        "Last commits:",
        f"{head} First commit",
    ] == snapshot(root).text.splitlines()


def test_it_asks_for_the_repository_and_not_for_the_folder(root: Path) -> None:
    (root / "src").mkdir()
    (root / "new.py").touch()

    assert snapshot(root).text == snapshot(root / "src").text


def test_the_main_branch_is_what_the_origin_says(root: Path, tmp_path: Path) -> None:
    git(root, "branch", "-m", "trunk")
    git(tmp_path, "clone", "-q", "repo", "clone")

    text = snapshot(tmp_path / "clone").text

    assert "Branch: trunk, follows origin/trunk\nMain branch: trunk\nStatus: clean" in text


def test_a_worktree_is_told_by_its_own_branch(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))

    assert "Branch: side\nMain branch: main\nStatus: clean" in snapshot(tmp_path / "side").text


def test_a_detached_head_and_an_empty_repository_have_words(root: Path, tmp_path: Path) -> None:
    git(root, "switch", "-q", "--detach")
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q", "-b", "main")

    assert "Branch: none (detached HEAD)" in snapshot(root).text
    empty = snapshot(tmp_path / "empty").text.splitlines()[1:]
    assert ["Branch: main", "Main branch: not known", "Status: clean", "Last commits: none"] == empty


def test_a_folder_without_a_repository_is_said_to_be_none(tmp_path: Path) -> None:
    assert Snapshot(text="Git: this directory is not a repository.") == snapshot(tmp_path)


def test_the_status_and_each_line_have_a_bound(root: Path) -> None:
    for number in range(100):
        (root / f"{number:03}{'x' * 200}").touch()
    git(root, "commit", "-q", "--allow-empty", "-m", "word " * 100)

    lines = snapshot(root).text.splitlines()

    assert STATUS_LINES == sum(line.startswith("??") for line in lines)
    assert f"... and {100 - STATUS_LINES} more lines" in lines
    assert max(len(line) for line in lines) <= 160


def test_names_and_messages_with_line_breaks_and_controls_stay_on_one_line(root: Path) -> None:
    (root / "a\nStatus: clean\x1b[2J").touch()
    git(root, "commit", "-q", "--allow-empty", "-m", "sub\x1b[31mject\u202e\n\nbody")

    lines = snapshot(root).text.splitlines()

    assert '?? "a\\nStatus: clean\\033[2J"' in lines
    assert [True] == [line.endswith("sub\\x1b[31mject\\u202e") for line in lines if "ject" in line]


def test_a_git_that_hangs_is_given_up_and_what_it_started_with_it(root: Path, tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    environment = fake_git(tmp_path / "bin", f"sleep 600 &\necho $! >> {marker}\nwait")
    begun = time.monotonic()

    taken = snapshot(root, environment, 0.3)

    assert time.monotonic() - begun < 2
    assert "Git: how the repository stands is not known: git did not answer within 0.3 s." == taken.text
    assert ["git did not answer within 0.3 s; the session begins without a git snapshot"] == [
        each.what for each in taken.cautions
    ]
    assert [] == [pid for pid in marker.read_text(encoding="utf-8").split() if not ends(int(pid))]


def ends(pid: int) -> bool:
    """Whether a process has ended, or does within five seconds: a signal takes its time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(5_000))
    finally:
        os.close(descriptor)


def test_a_git_that_closes_its_output_and_lives_on_is_given_up(root: Path, tmp_path: Path) -> None:
    taken = snapshot(root, fake_git(tmp_path / "bin", "exec 1>&-\nsleep 600"), 0.3)

    assert "git did not answer within 0.3 s" in taken.text


def test_a_git_that_never_stops_talking_is_cut_off(root: Path, tmp_path: Path) -> None:
    begun = time.monotonic()

    taken = snapshot(root, fake_git(tmp_path / "bin", "yes '## main'"), 20)

    assert time.monotonic() - begun < 10
    assert len(taken.text) < 10_000


@pytest.mark.parametrize("script", ["exit 3", "kill -9 $$", "echo damaged >&2; exit 128"])
def test_a_git_that_fails_is_told(root: Path, tmp_path: Path, script: str) -> None:
    assert "git refused to read the repository" in snapshot(root, fake_git(tmp_path / "bin", script)).text


def test_without_git_the_session_begins_all_the_same(root: Path, tmp_path: Path) -> None:
    assert "no git is installed" in snapshot(root, {"PATH": str(tmp_path)}).text


@pytest.mark.parametrize("entry", ["{root}", ".", "", "{root}/bin"])
def test_a_git_that_lies_in_the_repository_is_never_run(
    root: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    (root / "bin").mkdir()
    for folder in (root, root / "bin"):
        (folder / "git").write_text(f"#!/bin/sh\ntouch {root.parent}/ran\n", encoding="utf-8")
        (folder / "git").chmod(0o755)
    monkeypatch.chdir(root)

    taken = snapshot(root, {**ENVIRONMENT, "PATH": f"{entry.format(root=root)}:{ENVIRONMENT['PATH']}"})

    assert (True, False) == ("Branch: main" in taken.text, (root.parent / "ran").exists())


@pytest.mark.parametrize("included", [False, True])
def test_no_program_that_the_repository_names_is_run(root: Path, tmp_path: Path, included: bool) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    (root / ".gitattributes").write_text("*.py filter=evil diff=evil\n", encoding="utf-8")
    target = root / ".git" / ("more" if included else "config")
    with target.open("a", encoding="utf-8") as config:
        config.write(f'[core]\nfsmonitor = {program}\n[filter "evil"]\nclean = {program}\nprocess = {program}\n')
        config.write(f'[log]\nshowSignature = true\n[gpg]\nprogram = {program}\n[diff "evil"]\ntextconv = {program}\n')
    if included:
        git(root, "config", "include.path", "more")
    (root / "a.py").write_text("two\n", encoding="utf-8")

    taken = snapshot(root)

    assert (True, False) == (" M a.py" in taken.text, ran.exists())


def test_a_configuration_that_points_to_another_folder_lists_none_of_its_files(root: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary").touch()
    git(root, "config", "core.worktree", str(tmp_path / "private"))

    assert "Status: clean" in snapshot(root).text


def test_a_folder_that_only_looks_like_a_repository_is_not_taken_for_the_one_above(root: Path) -> None:
    (root / "inner" / ".git").mkdir(parents=True)

    assert "git refused to read the repository" in snapshot(root / "inner").text


def test_taking_a_snapshot_writes_nothing(root: Path) -> None:
    os.utime(root / "a.py", (1, 1))
    before = (root / ".git" / "index").read_bytes()
    snapshot(root)

    assert before == (root / ".git" / "index").read_bytes()
