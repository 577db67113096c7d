"""Server-sent events, wherever a network cuts them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.errors import InvalidJson
from perdure.providers.sse import EventReader

STREAM = (
    b": a comment\n\n"
    b'event: one\ndata: {"a": 1}\n\n'
    b'data: {"b":\r\ndata: "two lines"}\r\n\r\n'
    b'id: 7\rretry: 10\rdata:{"c": "\xe2\x9c\x93"}\r\r'
    b"data: [DONE]\n\n"
)
EVENTS = [{"a": 1}, {"b": "two lines"}, {"c": "✓"}]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_do_not_depend_on_where_the_bytes_were_cut(places: list[int]) -> None:
    reader, cuts = EventReader(), [0, *sorted(places), len(STREAM)]
    found = [event for start, stop in pairwise(cuts) for event in reader.feed(STREAM[start:stop])] + reader.end()

    assert (EVENTS, True) == (found, reader.done)


def test_a_stream_may_end_without_its_last_empty_line() -> None:
    reader = EventReader()
    reader.feed(b'data: {"a": 1}')

    assert [{"a": 1}] == reader.end()


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: [1]\n\n", b"data: nonsense\n\n"])
def test_data_that_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(InvalidJson):
        EventReader().feed(data)
