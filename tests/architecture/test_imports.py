"""Importing is enough to have Perdure, and does nothing else; what can be had is what `__all__` says."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import perdure

ROOT = Path(__file__).resolve().parents[2]
BLINDFOLDED = Path(__file__).with_name("import_blind.py")


def import_blindfolded(sources: Path) -> list[str]:
    """Return what the imports of the kernel under `sources` did against the rules."""
    told = subprocess.run(
        [sys.executable, "-W", "error", BLINDFOLDED, ROOT / "pyproject.toml", sources],
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.splitlines()


def test_the_kernel_imports_without_the_product_and_without_effects() -> None:
    assert [] == import_blindfolded(ROOT / "src")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import importlib; importlib.import_module('perdure.log')", "imported perdure.log"),
        ("__import__('httpx')", "imported httpx"),
        ("open('/dev/null')", "opened /dev/null"),
        ("import os; os.environ['PERDURE'] = '1'", "changed the environment"),
        ("import socket; socket.socket().close()", "socket.__new__"),
    ],
)
def test_the_blindfold_sees_what_a_kernel_module_does_when_imported(tmp_path: Path, source: str, told: str) -> None:
    kernel = tmp_path / "perdure" / "kernel"
    kernel.mkdir(parents=True)
    for path, content in {
        kernel.parent / "__init__.py": "",
        kernel / "__init__.py": "",
        kernel / "late.py": source,
    }.items():
        path.write_text(content, encoding="utf-8")

    assert any(line.startswith(told) for line in import_blindfolded(tmp_path))


def test_every_folder_of_the_product_is_a_package() -> None:
    """A folder without `__init__.py` imports all the same, but no import contract sees it."""
    home = Path(perdure.__file__).parent
    folders = {path.parent for path in home.rglob("*.py")}

    assert set() == {folder.relative_to(home) for folder in folders if not (folder / "__init__.py").is_file()}


def test_the_public_names_are_those_that_can_be_had() -> None:
    had = {name for name in perdure.__all__ if getattr(perdure, name) is not None}

    assert had == set(perdure.__all__) == set(dir(perdure))
    with pytest.raises(AttributeError, match="module 'perdure' has no attribute 'nothing'"):
        getattr(perdure, "".join(("noth", "ing")))


def test_the_public_names_and_their_types_are_the_same_names() -> None:
    types = ast.parse(Path(perdure.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    typed = {each.asname or each.name for node in types.body if isinstance(node, ast.ImportFrom) for each in node.names}

    assert typed | {"__version__"} == set(perdure.__all__)


def test_importing_the_package_loads_nothing_of_the_kernel() -> None:
    code = "import perdure, sys; print(*sorted(name for name in sys.modules if name.startswith('perdure.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""


def test_no_public_name_is_listed_twice() -> None:
    assert sorted(set(perdure.__all__)) == sorted(perdure.__all__)
