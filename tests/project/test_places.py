"""One repository is one project, in whichever worktree, and nobody can pretend to be another."""

import subprocess
from pathlib import Path

from perdure.project import Places, home_of, places_of

HOME = Path("/home/somebody/.perdure")


def git(where: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(where), *identity, *arguments], check=True, capture_output=True)


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def at(path: Path) -> Places:
    return places_of(path, HOME)


def test_a_folder_of_a_repository_belongs_to_its_root(tmp_path: Path) -> None:
    root = repository(tmp_path / "service")
    (root / "src" / "deep").mkdir(parents=True)

    places = at(root / "src" / "deep")

    assert (root, True, at(root).id) == (places.root, places.repository, places.id)
    assert places.memory == HOME / "projects" / places.id / "memory"


def test_a_folder_without_a_repository_is_a_project_by_itself(tmp_path: Path) -> None:
    assert (tmp_path, False) == (at(tmp_path).root, at(tmp_path).repository)


def test_worktrees_share_the_project_of_their_repository_and_keep_their_own_root(tmp_path: Path) -> None:
    root = repository(tmp_path / "service")
    git(root, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "fix"))

    places = at(tmp_path / "elsewhere" / "fix")

    assert (at(root).id, tmp_path / "elsewhere" / "fix") == (places.id, places.root)


def test_worktrees_of_a_bare_repository_share_one_project(tmp_path: Path) -> None:
    repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "--bare", "origin", "bare.git")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", name, str(tmp_path / name))

    assert at(tmp_path / "one").id == at(tmp_path / "two").id != at(tmp_path / "origin").id


def test_a_file_that_claims_to_be_a_worktree_of_another_repository_is_not_believed(tmp_path: Path) -> None:
    root = repository(tmp_path / "private")
    git(root, "worktree", "add", "-q", str(tmp_path / "real"))
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_bytes((tmp_path / "real" / ".git").read_bytes())

    assert at(tmp_path / "real").id == at(root).id
    assert at(root).id != at(hostile).id


def test_two_folders_of_one_name_are_two_projects(tmp_path: Path) -> None:
    for parent in ("a-b", "a/b"):
        (tmp_path / parent / "service").mkdir(parents=True)

    ids = {at(tmp_path / parent / "service").id for parent in ("a-b", "a/b")}

    assert 2 == len(ids)
    assert all(each.startswith("service-") for each in ids)


def test_a_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    root = repository(tmp_path / "service")
    (tmp_path / "link").symlink_to(root, target_is_directory=True)

    assert at(root) == at(tmp_path / "link")


def test_a_name_with_line_breaks_or_of_any_length_gives_an_id_that_a_folder_can_have(tmp_path: Path) -> None:
    folder = tmp_path / f"na\nme {'x' * 200} 名"
    folder.mkdir()

    places = at(folder)

    assert places.id.isascii()
    assert len(places.id) < 60


def test_damaged_and_circular_links_of_git_are_survived(tmp_path: Path) -> None:
    contents = [b"", b"gitdir:", b"gitdir: .git", b"gitdir: \xff\x00", b"gitdir: " + b"a/" * 5_000, b"gitdir: loop/x"]
    (tmp_path / "loop").symlink_to("loop")
    roots: list[Path] = []
    for number, content in enumerate(contents):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / ".git").write_bytes(content)
        roots.append(at(folder).root)

    assert [tmp_path / str(number) for number in range(len(contents))] == roots


def test_the_users_folder_is_where_the_environment_says() -> None:
    environments = [
        {"HOME": "/home/a"},
        {"HOME": "/home/a", "PERDURE_HOME": "/x/y"},
        {"HOME": "/h", "PERDURE_HOME": " "},
    ]

    assert [Path("/home/a/.perdure"), Path("/x/y"), Path("/h/.perdure")] == [home_of(each) for each in environments]
