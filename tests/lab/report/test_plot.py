"""The geometry of the page's charts."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.lab.report.page.plot import apart, extremes, frame, line, request_ticks, ticks

values = st.lists(st.floats(0, 1e9), min_size=1, max_size=400)


@given(values, st.integers(1, 60))
def test_merged_columns_keep_the_lowest_and_the_highest(heights: list[float], columns: int) -> None:
    plot = frame(len(heights), columns, max(heights))
    kept = [value for _, value in extremes(list(enumerate(heights)), plot)]

    assert (min(heights), max(heights)) == (min(kept), max(kept))
    assert len(kept) <= max(len(heights), 1) if not plot.merged else len(kept) <= 2 * columns


@given(values, st.integers(1, 60))
def test_what_is_kept_stays_in_order(heights: list[float], columns: int) -> None:
    kept = [request for request, _ in extremes(list(enumerate(heights)), frame(len(heights), columns, max(heights)))]

    assert sorted(set(kept)) == kept


@given(st.integers(1, 5_000), st.integers(1, 500))
def test_the_first_request_of_a_column_lies_in_it(requests: int, columns: int) -> None:
    plot = frame(requests, columns, 1)

    assert list(range(plot.columns)) == [plot.column(plot.first(column)) for column in range(plot.columns)]


@given(st.floats(1, 1e12))
def test_ticks_are_few_and_below_the_top(top: float) -> None:
    found = ticks(top)

    assert 3 <= len(found) <= 6
    assert 0 == found[0]
    assert found[-1] <= top


@given(st.integers(1, 100_000))
def test_named_requests_are_requests(requests: int) -> None:
    assert all(0 <= request < requests for request in request_ticks(requests))


@given(st.lists(st.floats(-1, 2), max_size=8))
def test_labels_keep_their_distance_and_their_order(wanted: list[float]) -> None:
    placed = apart(wanted, 0.08)
    pairs = sorted(zip(wanted, placed, strict=True))
    gaps = [later - earlier for earlier, later in zip(sorted(placed), sorted(placed)[1:], strict=False)]

    assert all(gap >= 0.0799 for gap in gaps)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in placed)
    assert [place for _, place in pairs] == sorted(placed) or len(set(wanted)) < len(wanted)


def test_a_line_of_one_request_is_a_dot() -> None:
    assert "M500 57h0" == line([(0, 10.0)], frame(1, 10, 10.0))
