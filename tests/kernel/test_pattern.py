"""A pattern is what `re.compile` gives, later; and all patterns of the product can be compiled."""

from __future__ import annotations

import gc
import re
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.kernel.pattern import pattern


@given(st.text(alphabet="ab-"))
def test_a_pattern_finds_what_a_compiled_one_finds(text: str) -> None:
    mine, theirs = pattern("A+(?P<rest>b?)", re.IGNORECASE), re.compile("A+(?P<rest>b?)", re.IGNORECASE)

    assert [(found.span(), found["rest"]) for found in theirs.finditer(text)] == [
        (found.span(), found["rest"]) for found in mine.finditer(text)
    ]
    assert (theirs.sub("-", text), theirs.split(text), theirs.pattern, theirs.groupindex) == (
        mine.sub("-", text),
        mine.split(text),
        mine.pattern,
        mine.groupindex,
    )


def test_a_pattern_of_bytes_finds_bytes() -> None:
    assert [b"1", b"2"] == pattern(rb"\d").findall(b"1 and 2")


def test_a_pattern_is_compiled_at_its_first_use_and_not_before() -> None:
    broken = pattern("(")

    with pytest.raises(re.error, match="missing \\)"):
        broken.search("")


def test_every_pattern_of_the_product_can_be_compiled() -> None:
    for module in walk_packages(perdure.__path__, "perdure."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    # Where a command ran in this process, what it loaded is hidden from the collector, and from who asks it.
    gc.unfreeze()
    kind = type(pattern(""))
    patterns = [each for each in gc.get_objects() if type(each) is kind and repr(each) != repr(pattern("("))]

    assert len(patterns) > 100
    assert [] == [each for each in patterns if each.flags < 0]
