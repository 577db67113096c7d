"""The tests that the documentation of sessions names are there, for each kind of fault."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_kind_of_fault_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| ([A-T]) \|.*$", page := (ROOT / "docs/sessions.md").read_text(), re.MULTILINE)
    named = set(re.findall(r"`(test_\w+)`", page))
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"^(?:async )?def (test_\w+)", sources, re.MULTILINE))

    assert list("ABCDEFGHIJKLMNOPQRST") == rows
    assert set() == named - there
