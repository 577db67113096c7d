"""A real scheduler and two real workers on loopback: one of them is killed, and nothing but time is lost."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fsspec.core import url_to_fs

from perdure.cli.main import main
from perdure.cluster.spread import spread
from perdure.kernel.errors import UserError
from perdure.kernel.messages import JsonObject, encode_json
from perdure.kernel.wire import ANTHROPIC
from perdure.lab.recall import RecallPrice
from perdure.lab.sweep import Done, Plan, sweep, version_of_code
from perdure.lab.trial import Trial
from perdure.testing.sessions import generate

SESSIONS = 5
LONGEST = 60


def session(place: Path, seed: int) -> None:
    """The beginning of a generated session, as one raw request."""
    transcript = generate(seed).transcript
    lines: list[JsonObject] = []
    for message in list(transcript)[:LONGEST]:
        (wire,) = ANTHROPIC.encode_messages([message])
        lines.append({"type": message.role, "uuid": message.id, "sessionId": str(seed), "message": wire})
    place.write_bytes(b"".join(encode_json(line) + b"\n" for line in lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sessions")
    for seed in range(SESSIONS):
        session(place / f"{seed}.jsonl", seed)
    return place


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[int]]]:
    """A scheduler's address and the process ids of two workers. Each is a program of its own, and ended at the end."""
    folder = tmp_path_factory.mktemp("cluster")
    environment = {**os.environ, "DASK_CONFIG": str(folder)}
    started: list[subprocess.Popen[str]] = []

    def start(module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=folder))

    def address_of(process: subprocess.Popen[str]) -> str:
        assert process.stderr is not None
        told = (re.search(r"(?:Scheduler|Start worker) at:\s+(tcp://\S+)", line) for line in process.stderr)
        return next(found[1] for found in told if found)

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        scheduler = address_of(started[0])
        for _ in range(2):
            start("dask_worker", scheduler, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1")
        for worker in started[1:]:
            address_of(worker)
        yield scheduler, [worker.pid for worker in started[1:]]
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=10)


def plan(kept: Path | None, *policies: str) -> Plan:
    trials = tuple(Trial(policy=policy, window=60_000) for policy in policies)
    return Plan(trials=trials, price=RecallPrice(), kept=kept, version=version_of_code())


def in_order(found: Iterable[Done]) -> list[bytes]:
    return [encode_json([done.place, done.trouble, *done.rows]) for done in sorted(found, key=lambda one: one.place)]


def test_a_worker_that_is_killed_half_way_changes_no_byte_of_the_results(
    folder: Path, tmp_path: Path, cluster: tuple[str, list[int]]
) -> None:
    places = [*map(str, sorted(folder.iterdir())), str(tmp_path / "missing.jsonl")]
    alone = in_order(sweep(places, plan(None, "append-only", "balanced"), 1))
    ours = plan(tmp_path / "kept", "append-only", "balanced")
    address, workers = cluster
    running = spread(places, ours, address)
    first = next(running)
    os.kill(workers[0], signal.SIGKILL)
    together = in_order([first, *running])

    assert alone == together
    # What came back is kept here, so one machine goes on without a cluster.
    assert alone == in_order(sweep(places, ours, 1))
    assert 2 * SESSIONS == sum(one.is_file() for one in (tmp_path / "kept").rglob("*"))


def test_the_command_prints_the_same_on_a_cluster(
    folder: Path, cluster: tuple[str, list[int]], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = ["lab", "sweep", str(folder), "--policy", "append-only", "--json", "--no-cache"]
    main([*command, "--jobs", "1"])
    alone = capsysbinary.readouterr().out
    code = main([*command, "--scheduler", cluster[0]])

    assert (0, alone) == (code, capsysbinary.readouterr().out)


def test_a_run_that_ended_early_has_kept_what_came_back(
    folder: Path, tmp_path: Path, cluster: tuple[str, list[int]]
) -> None:
    running = spread([*map(str, folder.iterdir())], plan(tmp_path / "kept", "append-only"), cluster[0])
    next(running)
    running.close()

    assert any(one.is_file() for one in (tmp_path / "kept").rglob("*"))


def test_workers_of_other_code_are_refused(folder: Path, cluster: tuple[str, list[int]]) -> None:
    other = Plan(trials=plan(None, "append-only").trials, price=RecallPrice(), version="another")
    with pytest.raises(UserError, match="other code"):
        list(spread([str(folder / "0.jsonl")], other, cluster[0]))


def test_a_scheduler_that_is_not_there_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.cluster.spread.CONNECT", 0.2)

    with pytest.raises(UserError, match=r"127\.0\.0\.1:9"):
        list(spread([str(folder)], plan(None, "append-only"), "tcp://127.0.0.1:9"))


def test_sessions_in_other_storage_give_what_they_give_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage, _ = url_to_fs("memory://perdure")
    for path in folder.iterdir():
        with storage.open(f"/perdure/{path.name}", "wb") as target:
            target.write(path.read_bytes())
    with storage.open("/perdure/.hidden/0.jsonl", "wb") as target:
        target.write(b"{}")
    command = ["--policy", "append-only", "--no-cache", "--jobs", "1", "--markdown"]
    main(["lab", "sweep", str(folder), *command])
    local = capsys.readouterr().out
    code = main(["lab", "sweep", "memory://perdure", *command])

    assert (0, local) == (code, capsys.readouterr().out)
    assert 0 == main(["lab", "cache", "memory://perdure"])


def test_storage_that_has_nothing_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["lab", "sweep", "memory://nothing/here", "--no-cache"])

    assert 2 == code
    assert "memory://nothing/here" in capsys.readouterr().err
