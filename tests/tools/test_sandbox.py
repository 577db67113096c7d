"""The sandbox: what is mounted over what, and that nothing runs outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perdure.tools.failed import ToolFailed
from perdure.tools.sandbox import Walls, confining, inside, trouble, walls_of


def program(folder: Path, text: str) -> Path:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_what_is_kept_and_hidden_lies_upon_what_can_be_written() -> None:
    walls = Walls(
        writable=(Path("/p"),),
        kept=(Path("/p/.git/hooks"),),
        hidden_folders=(Path("/h/.ssh"),),
        hidden_files=(Path("/p/k"),),
    )

    argv = inside("bwrap", walls, ("sh", "-c", "ls"), Path("/p"))

    mounts = [argv[number + 1 : number + 3] for number, word in enumerate(argv) if word in ("--bind", "--ro-bind")]
    assert [("/", "/"), ("/p", "/p"), ("/p/.git/hooks", "/p/.git/hooks"), ("/dev/null", "/p/k")] == mounts
    assert argv[-6:] == ("--chdir", "/p", "--", "sh", "-c", "ls")
    assert argv.index("/h/.ssh") > argv.index("/p/.git/hooks")


@pytest.mark.parametrize("network", [True, False])
def test_the_network_is_there_only_where_it_is_wanted(network: bool) -> None:
    argv = inside("bwrap", Walls(writable=(), network=network), ("true",), Path("/"))

    assert network == ("--unshare-net" not in argv)


def test_only_what_is_there_is_mounted(tmp_path: Path) -> None:
    for name in ("p/.git/hooks", "h/.ssh", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "h/.netrc").touch()
    (tmp_path / "p/link").symlink_to(tmp_path / "other")

    walls = walls_of((tmp_path / "p", tmp_path / "gone"), tmp_path / "h", (), (tmp_path / "p/link",), network=True)

    assert (tmp_path / "p", tmp_path / "p/.git") == walls.writable
    assert (tmp_path / "p/.git/hooks",) == walls.kept
    assert {tmp_path / "h/.ssh", tmp_path / "other"} <= set(walls.hidden_folders)
    assert tmp_path / "h/.netrc" in walls.hidden_files


def test_where_no_sandbox_can_be_made_a_command_does_not_run(tmp_path: Path) -> None:
    confine = confining(lambda: Walls(writable=()), str(tmp_path))

    with pytest.raises(ToolFailed, match=r"was not run: .* no bwrap"):
        confine(("true",), tmp_path)


def test_where_the_trial_fails_a_command_does_not_run(tmp_path: Path) -> None:
    program(tmp_path, "echo 'No permissions to create a new namespace' >&2; exit 1")
    confine = confining(lambda: Walls(writable=()), f"{tmp_path}:{os.environ['PATH']}")

    for _ in range(2):
        with pytest.raises(ToolFailed, match="No permissions to create a new namespace"):
            confine(("true",), tmp_path)


def test_a_sandbox_that_works_is_tried_once(tmp_path: Path) -> None:
    path = program(tmp_path, f"echo tried >> {tmp_path}/tries")
    confine = confining(lambda: Walls(writable=()), f"{tmp_path}:{os.environ['PATH']}")

    argvs = [confine(("true",), tmp_path) for _ in range(2)]

    assert [str(path)] * 2 == [argv[0] for argv in argvs]
    assert (tmp_path / "tries").read_text() == "tried\n"


def test_a_program_that_cannot_be_run_is_trouble(tmp_path: Path) -> None:
    assert "cannot be run" in trouble(str(tmp_path / "gone"))
