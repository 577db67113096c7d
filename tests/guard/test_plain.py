"""Names of others stand on one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.guard.plain import clip, one_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain name.py", "plain name.py"),
        ("名字 é", "名字 é"),
        ("a\nb", "a\\nb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_breaks_or_hides_a_line_is_shown_as_an_escape(text: str, expected: str) -> None:
    assert expected == one_line(text)


@given(st.text())
def test_whatever_the_text_it_is_one_line_that_can_be_encoded(text: str) -> None:
    line = one_line(text)

    assert [line] == (line.splitlines() or [""])
    assert line == line.encode().decode()


@given(st.text(), st.integers(1, 20))
def test_a_clipped_text_is_never_longer_than_asked(text: str, most: int) -> None:
    assert len(clip(text, most)) <= most
