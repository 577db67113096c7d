"""What the file and command tools take of every request is small."""

from __future__ import annotations

from perdure.kernel.messages import encode_json
from perdure.tools.bash import BASH, JOB
from perdure.tools.edit import EDIT
from perdure.tools.glob import GLOB, LS
from perdure.tools.grep import GREP
from perdure.tools.read import READ
from perdure.tools.write import WRITE

LARGEST = 4_500
"""Characters of all definitions together, some 750 tokens."""


def test_the_definitions_are_short() -> None:
    definitions = (READ, WRITE, EDIT, BASH, JOB, GLOB, GREP, LS)
    texts = [encode_json([tool.name, tool.description or "", tool.schema or {}]).decode() for tool in definitions]

    assert len("".join(texts)) <= LARGEST
