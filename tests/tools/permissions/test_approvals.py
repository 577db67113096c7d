"""Questions: who is asked, what an answer holds for, and where it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from perdure.kernel.agent import AgentTool
from perdure.kernel.errors import UserError
from perdure.kernel.messages import JsonObject, Tool, decode_json
from perdure.project import places_of
from perdure.project.settings import Layer, from_flags, settle
from perdure.tools.actions import Action, Harmless, Offered, ReadPath, RunCommand, WritePath
from perdure.tools.failed import ToolFailed
from perdure.tools.permissions import Answer, Choice, Gate, Question, gate_of, gated

Ask = Callable[[Question], Awaitable[Answer]]


def gate_in(project: Path, ask: Ask | None, /, **settings: str | tuple[str, ...]) -> Gate:
    (project / ".git").mkdir(parents=True, exist_ok=True)
    flags = from_flags({f"permissions.{name}": value for name, value in settings.items()})
    settled = settle((flags,), Layer(source="none"), trusted=True)
    return gate_of(settled, places_of(project, project.parent / ".perdure"), {"HOME": str(project.parent)}, ask=ask)


def answering(asked: list[Question], choice: Choice, words: str = "") -> Ask:
    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(choice=choice, words=words)

    return ask


def denial(gate: Gate, *actions: Action) -> str:
    try:
        asyncio.run(gate.permit("tool", actions))
    except ToolFailed as failed:
        return str(failed)
    return ""


@pytest.mark.parametrize(("choice", "questions"), [("once", 2), ("session", 1), ("always", 1)])
def test_an_answer_holds_as_long_as_it_says(tmp_path: Path, choice: Choice, questions: int) -> None:
    asked: list[Question] = []
    gate = gate_in(tmp_path / "p", answering(asked, choice))
    action = RunCommand(command="make x", cwd=tmp_path / "p")

    assert ["", "", questions] == [denial(gate, action), denial(gate, action), len(asked)]


def test_what_is_approved_for_good_is_known_to_the_next_session_and_to_nobody_else(tmp_path: Path) -> None:
    action = RunCommand(command="make x", cwd=tmp_path / "p")
    first = gate_in(tmp_path / "p", answering([], "always"))
    denial(first, action)

    later = gate_in(tmp_path / "p", None)

    assert denial(later, action) == ""
    assert first.approvals.stat().st_mode & 0o777 == 0o600
    assert "nobody can be asked" in denial(gate_in(tmp_path / "q", None), action)


def test_an_approval_covers_nothing_but_exactly_what_was_shown(tmp_path: Path) -> None:
    project = tmp_path / "p"
    (project / "sub").mkdir(parents=True)
    asked: list[Question] = []
    gate = gate_in(project, answering(asked, "always"))
    others = (
        RunCommand(command="make x ", cwd=project),
        RunCommand(command="make x y", cwd=project),
        RunCommand(command="make x; make y", cwd=project),
        RunCommand(command="make x", cwd=project / "sub"),
        WritePath(path=project / "make x"),
    )

    denial(gate, RunCommand(command="make x", cwd=project))
    for other in others:
        denial(gate, other)

    assert len(asked) == 1 + len(others)


def test_a_link_that_is_turned_makes_another_call_of_an_approved_one(tmp_path: Path) -> None:
    project = tmp_path / "p"
    asked: list[Question] = []
    gate = gate_in(project, answering(asked, "always"))
    action = RunCommand(command="python x.py data", cwd=project)
    denial(gate, action)

    (project / "data").symlink_to(tmp_path / "elsewhere")
    denial(gate, action)

    assert [1, 2] == [len(question.what[0].splitlines()) for question in asked]


def test_credentials_are_asked_about_again_in_the_next_session(tmp_path: Path) -> None:
    asked: list[Question] = []
    action = ReadPath(path=tmp_path / "p" / ".env")
    denial(gate_in(tmp_path / "p", answering(asked, "always")), action)

    assert denial(gate_in(tmp_path / "p", None), action) != ""
    assert asked[0].choices == ("once", "session", "no")


def test_what_an_ask_rule_names_is_asked_each_time(tmp_path: Path) -> None:
    asked: list[Question] = []
    gate = gate_in(tmp_path / "p", answering(asked, "always"), ask=("bash(make:*)",), allow=("bash(make:*)",))
    action = RunCommand(command="make x", cwd=tmp_path / "p")

    denial(gate, action)
    denial(gate, action)

    assert [("once", "no")] * 2 == [question.choices for question in asked]


def test_a_file_that_changes_its_place_while_the_user_is_asked_is_denied(tmp_path: Path) -> None:
    project = tmp_path / "p"

    async def swap(_question: Question) -> Answer:
        (project / "a").symlink_to(tmp_path / "elsewhere")
        return Answer(choice="always")

    gate = gate_in(project, swap)

    assert "changed while the user was asked" in denial(gate, WritePath(path=project / "a"))
    assert not gate.approvals.exists()


def test_a_mode_that_is_turned_while_the_user_is_asked_counts(tmp_path: Path) -> None:
    gates: list[Gate] = []

    async def plan(_question: Question) -> Answer:
        gates[0].mode = "plan"
        return Answer(choice="once")

    gates.append(gate_in(tmp_path / "p", plan))

    assert "plan mode" in denial(gates[0], WritePath(path=tmp_path / "p" / "a"))


def test_questions_come_one_at_a_time_and_an_answer_covers_those_that_wait(tmp_path: Path) -> None:
    open_now: list[Question] = []
    most: list[int] = []

    async def ask(question: Question) -> Answer:
        open_now.append(question)
        most.append(len(open_now))
        await asyncio.sleep(0)
        open_now.remove(question)
        return Answer(choice="session")

    async def both(gate: Gate, actions: Sequence[Action]) -> None:
        await asyncio.gather(*(gate.permit("tool", (action,)) for action in actions))

    same, other = (RunCommand(command=f"make {name}", cwd=tmp_path / "p") for name in "xy")
    asyncio.run(both(gate_in(tmp_path / "p", ask), (same, same, other)))

    assert [1, 1] == most


def test_a_no_tells_the_model_the_users_words(tmp_path: Path) -> None:
    gate = gate_in(tmp_path / "p", answering([], "no", "use the other folder"))

    assert "The user says: use the other folder" in denial(gate, WritePath(path=tmp_path / "p" / "a"))


def test_without_a_person_a_denial_says_what_would_allow_it(tmp_path: Path) -> None:
    project = tmp_path / "p"
    gate = gate_in(project, None)

    assert 'permissions.allow with "write(a)", or mode accept_edits' in denial(gate, WritePath(path=project / "a"))
    assert 'permissions.allow with "bash(make x)"' in denial(gate, RunCommand(command="make x", cwd=project))


def test_a_denial_names_its_rule(tmp_path: Path) -> None:
    gate = gate_in(tmp_path / "p", None, deny=("read(secret/**)",), mode="full")

    assert "'read(secret/**)' of permissions.deny" in denial(gate, ReadPath(path=tmp_path / "p/secret/a"))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version":2,"approved":[]}', '{"version":1,"approved":[1]}', "\0"])
def test_a_damaged_file_of_approvals_approves_nothing_and_is_told(tmp_path: Path, text: str) -> None:
    path = gate_in(tmp_path / "p", None).approvals
    path.parent.mkdir(parents=True)
    path.write_text(text)

    gate = gate_in(tmp_path / "p", None)

    assert (1, set[str]()) == (len(gate.cautions), gate.stored)


def test_approvals_that_others_may_write_count_for_nothing(tmp_path: Path) -> None:
    action = RunCommand(command="make x", cwd=tmp_path / "p")
    gate = gate_in(tmp_path / "p", answering([], "always"))
    denial(gate, action)
    gate.approvals.chmod(0o666)

    assert denial(gate_in(tmp_path / "p", None), action) != ""


def test_approvals_of_two_sessions_add_up(tmp_path: Path) -> None:
    gates = [gate_in(tmp_path / "p", answering([], "always")) for _ in range(2)]
    for gate, name in zip(gates, "xy", strict=True):
        denial(gate, RunCommand(command=f"make {name}", cwd=tmp_path / "p"))

    known = decode_json(gates[0].approvals.read_text())

    assert isinstance(known, dict)
    assert [f"bash in {tmp_path / 'p'}: make {name}" for name in "xy"] == known["approved"]


def test_a_question_shows_nothing_that_steers_a_terminal(tmp_path: Path) -> None:
    asked: list[Question] = []
    command = "echo '\x1b[2J\u202e' > x\n" + "true\n" * 100

    denial(gate_in(tmp_path / "p", answering(asked, "no")), RunCommand(command=command, cwd=tmp_path / "p"))

    shown = asked[0].shown
    assert not any(sign in shown for sign in "\x1b\u202e")
    assert "more lines" in shown


def test_a_rule_that_is_none_is_an_error_that_names_its_place(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"permissions\.allow, rule 1"):
        gate_in(tmp_path / "p", None, allow=("Bash(ls)",))


def test_a_tool_runs_only_behind_the_gate(tmp_path: Path) -> None:
    ran: list[JsonObject] = []

    def run(given: JsonObject) -> str:
        ran.append(given)
        return "done"

    tool = AgentTool(definition=Tool(name="t", description="", schema={"type": "object"}), run=run)
    gate = gate_in(tmp_path / "p", None)
    free = gated(Offered(tool=tool, actions=lambda _: (Harmless(),)), gate)
    bound = gated(Offered(tool=tool, actions=lambda _: (WritePath(path=tmp_path / "p/a"),)), gate)

    async def call(made: AgentTool) -> object:
        result = made.run({})
        return await result if isinstance(result, Awaitable) else result

    assert asyncio.run(call(free)) == "done"
    with pytest.raises(ToolFailed):
        asyncio.run(call(bound))
    assert len(ran) == 1


def test_the_words_of_a_yes_reach_the_model_with_the_result(tmp_path: Path) -> None:
    tool = AgentTool(definition=Tool(name="t", description="", schema={"type": "object"}), run=lambda _: "done")
    gate = gate_in(tmp_path / "p", answering([], "once", "only this file"))

    async def call() -> object:
        result = gated(Offered(tool=tool, actions=lambda _: (WritePath(path=tmp_path / "p/a"),)), gate).run({})
        return await result if isinstance(result, Awaitable) else result

    assert "done\n[The user, who permitted this, says: only this file]" == asyncio.run(call())


def test_hooks_stand_around_a_tool(tmp_path: Path) -> None:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    said = 'echo \'{"context": "seen"}\''
    layer = Layer(
        source="user",
        values={
            "hooks.before_tool": ({"match": "bad", "command": "echo never >&2; exit 2"},),
            "hooks.after_tool": ({"command": said},),
        },
    )
    places = places_of(tmp_path / "p", tmp_path / ".perdure")
    gate = gate_of(settle((layer,), Layer(source="none"), trusted=True), places, {"HOME": str(tmp_path)}, ask=None)

    async def call(name: str) -> object:
        tool = AgentTool(definition=Tool(name=name, description="", schema={"type": "object"}), run=lambda _: "done")
        result = gated(Offered(tool=tool, actions=lambda _: (Harmless(),)), gate).run({})
        return await result if isinstance(result, Awaitable) else result

    assert asyncio.run(call("good")) == "done\n[A hook of the user adds: seen]"
    with pytest.raises(ToolFailed, match="never"):
        asyncio.run(call("bad"))


@pytest.mark.parametrize("rule", ["read(.env)", "read(**/.env)"])
def test_a_search_that_passes_over_what_git_ignores_does_not_read_it(tmp_path: Path, rule: str) -> None:
    project = tmp_path / "p"
    gate = gate_in(project, None, deny=(rule,), mode="full")
    (project / ".env").write_text("A=1")
    searching = ReadPath(path=project)

    async def search(given: JsonObject, name: str = "grep") -> str:
        definition = Tool(name=name, description="", schema={"type": "object"})
        tool = AgentTool(definition=definition, run=lambda _: "found")
        result = gated(Offered(tool=tool, actions=lambda _: (searching,)), gate).run(given)
        try:
            return str(await result if isinstance(result, Awaitable) else result)
        except ToolFailed:
            return "denied"

    before = asyncio.run(search({"pattern": "A"}))
    (project / ".gitignore").write_text(".env\n")
    after = [
        asyncio.run(search({"pattern": "A"})),
        asyncio.run(search({"pattern": "A", "glob": ".env"})),
        asyncio.run(search({}, "ls")),
        denial(gate, RunCommand(command="grep -r A .", cwd=project)) != "",
    ]

    assert "denied" == before
    assert ["found", "denied", "found", True] == after


@pytest.mark.parametrize(
    "command", ["grep -r KEY .", "grep -r KEY", "rg --no-ignore KEY", "cat conf/*", "cp -r conf /tmp/x"]
)
def test_a_command_that_reads_a_folder_is_asked_about_the_credentials_in_it(tmp_path: Path, command: str) -> None:
    project = tmp_path / "p"
    gate = gate_in(project, None)
    (project / "conf").mkdir()
    (project / "conf" / "a.txt").write_text("x")
    before = denial(gate, RunCommand(command="grep -r KEY .", cwd=project))
    (project / "conf" / ".env").write_text("KEY=1")

    assert "" == before
    assert "credentials" in denial(gate, RunCommand(command=command, cwd=project))


def test_certificates_that_came_with_packages_are_no_credentials_of_the_user(tmp_path: Path) -> None:
    project = tmp_path / "p"
    gate = gate_in(project, None)
    (project / ".venv" / "certifi").mkdir(parents=True)
    (project / ".venv" / "certifi" / "cacert.pem").write_text("KEY")

    assert "" == denial(gate, RunCommand(command="grep -r KEY .", cwd=project))
