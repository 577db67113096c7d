"""What is written about the repository is true of it, and nothing in it names the machine it was written on."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "perdure"
NOT_OURS = {".cache", ".git", ".hypothesis", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__", "build", "dist"}

# In pieces, so that this file does not name them either.
FOLDERS_OF_ONE_MACHINE = ("work", "tmp/pd", "root", "Users")
MACHINE_PATH = re.compile(rf"(?<![\w.~-])/(?:{'|'.join(FOLDERS_OF_ONE_MACHINE)})/")


def files_of_the_repository() -> Iterator[Path]:
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name not in NOT_OURS]
        yield from (Path(folder) / name for name in names)


def test_no_file_names_a_path_of_one_machine() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {found.group()}"
        for path in files_of_the_repository()
        if (found := MACHINE_PATH.search(path.read_text(encoding="utf-8", errors="replace")))
    ]

    assert [] == named


def test_the_page_for_those_who_work_here_stays_short() -> None:
    lines = (ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()

    assert len(lines) < 100


@pytest.mark.parametrize(("page", "entry"), [("AGENTS.md", r"(\w+)/ "), ("docs/design.md", r"`(?:kernel/)?(\w+)`")])
def test_every_package_has_an_entry_in_the_pages_on_the_house(page: str, entry: str) -> None:
    packages = {path.parent.name for depth in ("*", "kernel/*") for path in PACKAGE.glob(f"{depth}/__init__.py")}
    entries = set(re.findall(entry, (ROOT / page).read_text(encoding="utf-8")))

    assert set() == packages - entries - {"perdure", "kernel"}


def test_every_dependency_has_its_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"].values()
    names = {re.split(r"[<>=\[]", line)[0] for lines in (declared["dependencies"], *extras) for line in lines}
    reasons = set(re.findall(r"`([\w-]+)`", (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")))

    assert set() == names - reasons - {"perdure"}
