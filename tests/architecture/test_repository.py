"""No file of the repository names the machine it was written on."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
