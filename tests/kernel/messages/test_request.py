"""Tools keep their encodings and say whether they are deferred."""

import pytest

from perdure.kernel.messages import Extra, Json, Tool


def test_the_encoding_of_a_tool_is_made_once_for_each_dialect() -> None:
    tool = Tool(name="read")
    first = tool.keep("chat", lambda _: b"chat")

    assert (b"chat", b"chat", b"other") == (
        first,
        tool.keep("chat", lambda _: b"again"),
        tool.keep("anthropic", lambda _: b"other"),
    )
    assert Tool(name="read") == tool


@pytest.mark.parametrize(("value", "deferred"), [(True, True), (False, False), (None, False), ("true", False)])
def test_a_tool_is_deferred_where_it_says_so(value: Json, deferred: bool) -> None:
    tool = Tool(name="read", extra=Extra(dialect="anthropic", fields=(("defer_loading", value),)))

    assert deferred == tool.deferred
    assert not Tool(name="read").deferred
