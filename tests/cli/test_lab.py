"""`perdure lab`: what a user sees on sessions of their own."""

from pathlib import Path

import pytest

from perdure.cli.main import main
from perdure.kernel.messages import JsonObject, decode_json, encode_json
from perdure.lab import sweep as sweeping
from perdure.lab.frontier import advised, saving, totals
from perdure.lab.recall import RecallPrice
from perdure.lab.sweep import Plan, version_of_code, work
from perdure.lab.trial import Trial


def session(folder: Path, name: str, turns: int = 12) -> Path:
    """A recorded Claude Code session whose tool results are large."""
    lines: list[JsonObject] = []
    for turn in range(turns):
        when = f"2026-11-30T10:{turn:02d}:00.000Z"
        call: JsonObject = {
            "type": "tool_use",
            "id": f"t{turn}",
            "name": "Read",
            "input": {"file_path": f"/w/f{turn}.py"},
        }
        lines.append(
            {
                "type": "user",
                "uuid": f"u{turn}",
                "parentUuid": f"r{turn - 1}" if turn else None,
                "timestamp": when,
                "message": {"role": "user", "content": f"Look at file {turn} of {name}."},
            }
        )
        lines.append(
            {
                "type": "assistant",
                "uuid": f"a{turn}",
                "parentUuid": f"u{turn}",
                "timestamp": when,
                "message": {
                    "id": f"m{turn}",
                    "role": "assistant",
                    "model": "claude-sonnet-4-6",
                    "content": [call],
                    "usage": {"input_tokens": 10, "output_tokens": 30},
                },
            }
        )
        text = "\n".join(f"{row}\tvalue_{turn}_{row} = compute_{row % 9}({row})" for row in range(400))
        result: JsonObject = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": text}
        lines.append(
            {
                "type": "user",
                "uuid": f"r{turn}",
                "parentUuid": f"a{turn}",
                "timestamp": when,
                "message": {"role": "user", "content": [result]},
            }
        )
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"\n".join(encode_json(line) for line in lines) + b"\n")
    return path


def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> JsonObject:
    value = decode_json(capsysbinary.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_one_process_and_two_print_the_same(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for name in ("one", "two", "three"):
        session(tmp_path, name)
    common = ["lab", "sweep", str(tmp_path), "--entry-limit", "2000", "off", "--json", "--no-cache", "--jobs"]
    main([*common, "1"])
    alone = printed(capsysbinary)
    main([*common, "2"])

    assert alone == printed(capsysbinary)


def test_what_was_worked_out_once_is_not_worked_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = session(tmp_path, "one")
    plan = Plan(trials=(Trial(policy="balanced"),), price=RecallPrice(), kept=tmp_path / "kept", version="1")
    first = work(str(path), plan)
    monkeypatch.setattr(sweeping, "rows_of", None)

    assert first == work(str(path), plan)


def test_results_of_other_content_or_code_are_not_taken(tmp_path: Path) -> None:
    path = session(tmp_path, "one")
    trials = (Trial(policy="append-only"),)
    for version in ("1", "2"):
        work(str(path), Plan(trials=trials, price=RecallPrice(), kept=tmp_path / "kept", version=version))
    path.write_bytes(path.read_bytes() + b"\n")
    work(str(path), Plan(trials=trials, price=RecallPrice(), kept=tmp_path / "kept", version="2"))

    assert 3 == sum(one.is_file() for one in (tmp_path / "kept").rglob("*"))
    assert version_of_code() == version_of_code()


def test_a_file_that_is_no_session_is_named_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(tmp_path, "one")
    (tmp_path / "broken.jsonl").write_text("{}\n")
    code = main(["lab", "sweep", str(tmp_path), "--no-cache"])
    told = capsys.readouterr()

    assert code == 2
    assert "broken.jsonl" in told.err
    assert "append-only" in told.out


def test_advice_is_written_as_settings_that_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = session(tmp_path, "one")
    settings = tmp_path / "settings.toml"
    code = main(["lab", "advise", str(path), "--no-cache", "--write", str(settings)])

    assert code == 0
    assert "advice: " in capsys.readouterr().out
    assert settings.read_text().startswith("[context]\npreset = ")


COUNTS = """
requests asked visible recallable gone recalls summaries edited peak sent fresh invalid over infeasible recall_units
reread_units rerun_units least_sent_once least_free_rewrites
"""


def row(label: str, file: str, units: float, **more: int) -> JsonObject:
    """A row as the trials make it."""
    counts: JsonObject = dict.fromkeys(COUNTS.split(), 0)
    trial: JsonObject = {"policy": label, "changes": {}, "model": None, "window": None, "provider": None}
    return {**counts, **more, "label": label, "file": file, "units": units, "usd": None, "trial": trial}


def test_advice_prefers_what_loses_nothing_to_what_is_cheaper() -> None:
    found = totals([row("lossy", "a", 10, gone=5), row("whole", "a", 20), row("dear", "a", 30)])
    choice = advised(found)

    assert choice is not None
    assert "whole" == choice.label
    assert ["lossy", "whole"] == [one.label for one in found if one.best]


def test_a_saving_lies_within_its_interval_and_comes_out_the_same_each_time() -> None:
    rows = [row("ours", str(at), 40 + at) for at in range(9)] + [row("theirs", str(at), 90 - at) for at in range(9)]
    found = saving(rows, "ours", "theirs", seed=7)

    assert found.low <= found.mean <= found.high
    assert found == saving(rows, "ours", "theirs", seed=7)
    assert 1.0 == found.wins
