"""The head of a Markdown file is read as people write it, and never fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.prompt import head_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: build\ndescription: How to build.\n---\nbody", {"name": "build", "description": "How to build."}),
        ("---\nname: 'a: b'\n---", {"name": "a: b"}),
        ("---\nwhen-to-use: late\n---", {"when_to_use": "late"}),
        ("---\ndescription: >\n  one\n  two\n---", {"description": "one two"}),
        ("---\ndescription: one\n  two\ntags: [a]\n---", {"description": "one two", "tags": "[a]"}),
        ("---\nname:\n---", {"name": ""}),
        ("---\nname: build", {}),
        ("name: build", {}),
        ("", {}),
    ],
)
def test_a_head_says(text: str, expected: dict[str, str]) -> None:
    assert expected == head_of(text)


@given(st.text(alphabet="-\n: \tab\"'>|é"))
def test_no_text_breaks_it(text: str) -> None:
    assert all("\n" not in value for value in head_of(f"---\n{text}\n---").values())
