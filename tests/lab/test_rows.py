"""A folder of any size: what is kept of its rows is little, and nothing that is shown is missing."""

from perdure.kernel.messages import Json, JsonObject
from perdure.lab.rows import Rows


def row(name: str, requests: int, *units: float) -> JsonObject:
    worst: list[Json] = [{"file": name, "units": each} for each in units]
    return {"label": "balanced", "file": name, "requests": requests, "curve": [1, 2], "worst": worst}


def moments(rows: list[JsonObject]) -> list[float]:
    found: list[float] = []
    for one in rows:
        worst = one["worst"]
        for each in worst if isinstance(worst, list) else []:
            assert isinstance(each, dict)
            assert isinstance(each["units"], float)
            found.append(each["units"])
    return sorted(found, reverse=True)


def test_the_ten_dearest_moments_and_the_longest_session_stay() -> None:
    whole = [row(str(at), at % 17, float(at * 7 % 50), at / 100) for at in range(50)]
    with Rows(["balanced"]) as rows:
        for at, one in enumerate(whole):
            rows.add(at, [one])
        kept = list(rows)

    assert moments(whole)[:10] == moments(kept)[:10]
    assert 10 == sum(bool(one["worst"]) for one in kept)
    assert [16] == [one["requests"] for one in kept if one["curve"]]


def test_rows_come_in_the_order_of_files_in_whatever_order_files_were_done() -> None:
    whole = [row(str(at), at, 1.0) for at in range(20)]
    found: list[list[JsonObject]] = []
    for order in (range(20), reversed(range(20)), sorted(range(20), key=lambda at: at * 7 % 20)):
        with Rows(["balanced"]) as rows:
            for at in order:
                rows.add(at, [whole[at]])
            found.append([*rows, *rows.notable()])

    assert found[0] == found[1] == found[2]
    assert [str(at) for at in range(20)] == [one["file"] for one in found[0][:20]]
