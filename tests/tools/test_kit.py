"""What every request carries of the tools is the same each time, and small."""

from __future__ import annotations

from pathlib import Path

from perdure.kernel.messages import encode_json
from perdure.tools.kit import standard
from perdure.tools.workspace import Workspace

LARGEST = 4_000
"""Characters of all definitions together, some 900 tokens."""


def test_the_tools_stand_in_one_order_and_are_short(tmp_path: Path) -> None:
    workspace = Workspace(cwd=tmp_path, roots=(tmp_path,), home=tmp_path, environment={}, kept=tmp_path)
    definitions = [offered.tool.definition for offered in standard(workspace, lambda: 0.0).tools]
    text = "".join(encode_json([d.name, d.description or "", d.schema or {}]).decode() for d in definitions)

    assert ["read", "edit", "write", "bash", "job", "grep", "glob", "ls"] == [d.name for d in definitions]
    assert len(text) <= LARGEST
