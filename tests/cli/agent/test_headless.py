"""`perdure -p`, `resume` and the commands on sessions, as processes and in one, in front of a strict double."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from perdure.cli import main
from perdure.kernel.messages import Json, encode_json
from perdure.providers import Patience
from perdure.testing.doubles import AnthropicDouble, OpenAIDouble, answer, serve
from perdure.testing.doubles.script import Call, Say, Turn, replies

ANSWER = Turn(parts=(Say(text="It reads the file."),))
READS = Turn(parts=(Say(text="Let me look."), Call(name="read", arguments={"path": "notes.txt"})))
WRITES = Turn(parts=(Call(name="write", arguments={"path": "new.txt", "content": "hello\n"}),))


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file in it, a home without settings, and no terminal."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("steel: 12\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True, closed=False))
    return folder


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicDouble]:
    """The Messages API, which reads a file and answers."""
    double = AnthropicDouble(replies([READS, ANSWER]))
    with serve(double) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        yield double


def test_the_answer_is_printed_and_nothing_else(anthropic: AnthropicDouble, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["-p", "What does it do?", "--quiet"])

    out = capsys.readouterr()
    assert (code, out.out, out.err) == (0, "It reads the file.\n", "")
    assert [one.status for one in anthropic.received] == [200, 200]


def test_what_could_steer_a_terminal_is_printed_as_a_mark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with serve(AnthropicDouble(replies([answer("red\x1b[2J end")]))) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        code = main(["-p", "Say it.", "--quiet"])

    assert (0, "red\ufffd[2J end\n") == (code, capsys.readouterr().out)


def test_events_come_one_to_a_line(anthropic: AnthropicDouble, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p", "What does it do?", "--output", "jsonl"])

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = [event["event"] for event in events]
    assert (names[0], names[-1], names.count("turn_start"), names.count("tool_end")) == (
        "agent_start",
        "agent_end",
        2,
        1,
    )
    end = events[-1]
    assert (end["state"], end["answer"], end["turns"]) == ("done", "It reads the file.", 2)
    tool = next(event for event in events if event["event"] == "tool_end")
    assert (tool["tool"], tool["is_error"], tool["result"]) == ("read", None, "1\tsteel: 12")


def test_what_is_piped_in_stands_behind_the_task(
    anthropic: AnthropicDouble, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"- old\n+ new\n")))
    code = main(["-p", "Review this.", "--quiet"])

    typed = [block["text"] for block in anthropic.received[0].body["messages"][-1]["content"]][-1]
    assert (code, typed, capsys.readouterr().out) == (0, "Review this.\n\n- old\n+ new", "It reads the file.\n")


def test_a_session_is_gone_on_with_and_listed(anthropic: AnthropicDouble, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p", "What does it do?", "--output", "json"])
    first = json.loads(capsys.readouterr().out)
    main(["resume", first["session"][:12], "-p", "Thanks.", "--output", "json"])
    second = json.loads(capsys.readouterr().out)
    main(["sessions", "--json"])
    rows = json.loads(capsys.readouterr().out)

    before, after = (one.body["messages"] for one in (anthropic.received[1], anthropic.received[2]))
    assert (second["session"], second["state"], [row["id"] for row in rows]) == (
        first["session"],
        "done",
        [first["session"]],
    )
    assert rows[0]["title"] == "What does it do?"
    assert [message["role"] for message in after[: len(before)]] == [message["role"] for message in before]


def test_without_anybody_to_ask_a_write_is_denied_and_the_model_hears_why(
    monkeypatch: pytest.MonkeyPatch, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    double = AnthropicDouble(replies([WRITES, ANSWER]))
    with serve(double) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        main(["-p", "Write it.", "--quiet"])

    result = double.received[1].body["messages"][-1]["content"][0]
    assert (result["is_error"], "Not permitted" in str(result["content"])) == (True, True)
    assert not (work / "new.txt").exists()
    assert capsys.readouterr().out == "It reads the file.\n"


def test_a_mode_that_accepts_edits_lets_it_write(
    monkeypatch: pytest.MonkeyPatch, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    double = AnthropicDouble(replies([WRITES, ANSWER]))
    with serve(double) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        code = main(["-p", "Write it.", "--quiet", "--mode", "accept_edits"])

    assert (code, (work / "new.txt").read_text(), capsys.readouterr().err) == (0, "hello\n", "")


def test_any_server_that_speaks_chat_completions_will_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINE", "k")
    double = OpenAIDouble(replies([READS, ANSWER]))
    with serve(double) as url:
        settings = [f"base_url={url}/v1", "model=gpt-4o", "window=16000", "key_variable=MINE"]
        code = main(["-p", "What?", "--quiet", *(part for pair in settings for part in ("--set", pair))])

    out = capsys.readouterr()
    assert (code, out.out, out.err) == (0, "It reads the file.\n", "")


def test_openai_behind_a_proxy_gets_the_name_of_the_limit_that_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    double = OpenAIDouble(replies([ANSWER]))
    with serve(double) as url:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        code = main(["-p", "What?", "--quiet", "--model", "gpt-5"])

    assert (code, capsys.readouterr().out) == (0, "It reads the file.\n")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["base_url=http://127.0.0.1:9/v1", "model=m", "window=9000"], "http://127.0.0.1:9: ConnectError"),
        (["base_url=http://127.0.0.1:9/v1", "model=m", "window=9000"], "`perdure doctor` shows what can be reached"),
    ],
)
def test_a_server_that_is_not_there_is_named_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], settings: list[str], said: str
) -> None:
    def never(*_: object) -> None:
        """No second try."""

    monkeypatch.setattr(Patience, "wait_before", never)
    code = main(["-p", "What?", "--quiet", *(part for pair in settings for part in ("--set", pair))])

    assert (code, said in capsys.readouterr().err) == (1, True)


def test_a_key_that_is_missing_for_a_server_is_told_with_the_setting_that_names_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serve(OpenAIDouble(replies([ANSWER]))) as url:
        settings = [f"base_url={url}/v1", "model=gpt-4o", "window=9000"]
        code = main(["-p", "What?", "--quiet", *(part for pair in settings for part in ("--set", pair))])

    assert (code, "perdure config set key_variable" in capsys.readouterr().err) == (1, True)


def test_a_session_that_ends_badly_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    double = AnthropicDouble(replies([READS] * 9))
    with serve(double) as url:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        code = main(["-p", "What?", "--quiet", "--set", "limits.turns=2"])

    assert (code, "ended as turn_limit" in (err := capsys.readouterr().err), "perdure resume 2" in err) == (
        1,
        True,
        True,
    )


def test_a_damaged_session_goes_on_as_a_fork(
    anthropic: AnthropicDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-p", "What does it do?", "--quiet"])
    (log,) = tmp_path.glob("home/projects/*/sessions/*.jsonl")
    log.write_bytes(log.read_bytes() + b"no entry\n")
    code = main(["resume", "-p", "Go on.", "--quiet"])

    assert (1, 2) == (code, len(anthropic.received))
    assert f"go on with: perdure fork {log.stem}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "x"], "no model is set up"),
        ([], "there is no terminal"),
        (["resume"], "there is no session in this project yet"),
        (["resume", "2026", "-p", "x"], "there is no session '2026' in this project"),
        (["-p", "x", "--set", "window"], "--set takes KEY=VALUE"),
        (["-p", "x", "--set", "windw=3"], "did you mean 'window'?"),
        (["-p", "x", "--cwd", "nowhere"], "there is no folder 'nowhere'"),
        (["-p", "   "], "there is no task"),
    ],
)
def test_a_wrong_call_says_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: bool(arguments), closed=False))

    assert (main(arguments), said in capsys.readouterr().err) == (2, True)


def test_a_fork_shares_the_beginning_and_an_export_holds_all_of_it(
    anthropic: AnthropicDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-p", "What does it do?", "--output", "json"])
    session = json.loads(capsys.readouterr().out)["session"]
    main(["show", session])
    shown = capsys.readouterr().out
    main(["recall", session[:13]])
    recalled = capsys.readouterr().out
    main(["fork", session, "--at", "m1"])
    fork = capsys.readouterr().out.split()[0]
    main(["export", fork, "--form", "json", "--out", str(tmp_path / "out.json")])

    assert all(text in shown for text in ("What does it do?", "steel: 12", "It reads the file.", "(m0"))
    assert (fork != session, recalled) == (True, "[Nothing has left this conversation.]\n")
    assert "steel: 12" not in (tmp_path / "out.json").read_text()
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600
    assert len(anthropic.received) == 2


def test_a_task_that_is_no_text_is_sent_as_text_listed_and_exported(
    anthropic: AnthropicDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["-p", "caf\udce9", "--output", "json"])
    session = json.loads(capsys.readouterr().out)["session"]
    pages = [main(["export", session, "--form", form, "--out", str(tmp_path / form)]) for form in ("html", "json")]

    assert (0, [0, 0], 0) == (code, pages, main(["sessions"]))
    assert "caf\ufffd" in anthropic.received[0].raw.decode()
    assert "caf?" in (tmp_path / "html").read_text()


def test_a_hook_that_fails_is_told_of_at_the_end(
    anthropic: AnthropicDouble, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / ".perdure").mkdir()
    (work / ".perdure/settings.toml").write_text('[[hooks.before_tool]]\ncommand = "echo no >&2; exit 3"\n')
    code = main(["-p", "What does it do?", "--trust"])

    assert (0, 2) == (code, len(anthropic.received))
    assert 1 == capsys.readouterr().err.count("ended with exit code 3: no; it was passed over")


def test_a_session_of_another_agent_is_taken_over(
    anthropic: AnthropicDouble, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages: list[Json] = [
        {"role": "user", "content": "The rate of steel is 12."},
        {"role": "assistant", "content": "Noted."},
    ]
    (tmp_path / "other.json").write_bytes(encode_json(messages))
    main(["import", str(tmp_path / "other.json")])
    capsys.readouterr()
    code = main(["resume", "-p", "Go on.", "--quiet"])

    sent = anthropic.received[0].raw.decode()
    assert (code, "The rate of steel is 12." in sent, "Noted." in sent) == (0, True, True)
