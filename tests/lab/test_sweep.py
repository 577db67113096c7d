"""A folder of any size: what is kept of its rows is little, and nothing that is shown is missing."""

from perdure.kernel.messages import Json, JsonObject
from perdure.lab.sweep import Slimming


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
    wanted = moments(whole)[:10]
    slimming = Slimming()
    kept = [slimming.slim({**one}) for one in whole]

    assert wanted == moments(kept)[:10]
    assert 10 == sum(bool(one["worst"]) for one in kept)
    assert [16] == [one["requests"] for one in kept if one["curve"]]
