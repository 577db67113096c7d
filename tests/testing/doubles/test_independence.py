"""The doubles share nothing with the kernel but the JSON encoder and the form of classes, so that agreement means
something."""

import ast
from pathlib import Path

import pytest

import perdure.testing.doubles

SHARED = {
    f"perdure.kernel.{name}" for name in ("messages.encode_json", "value.value", "value.record", "pattern.pattern")
}
"""None of them knows anything of a provider."""

FILES = sorted(Path(perdure.testing.doubles.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_double_takes_nothing_of_the_kernel_that_could_judge(file: Path) -> None:
    taken: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            taken |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            taken |= {f"{node.module}.{alias.name}" for alias in node.names}

    foreign = {name for name in taken if name.startswith("perdure.") and not name.startswith("perdure.testing.doubles")}
    assert foreign <= SHARED
