"""The server as an editor meets it, in front of a strict double."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block, text_block
from tests.acp.stage import Editor, connected, environment_of

from perdure.acp.prompts import Given
from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import Call, Say, Script, Think, Turn, replies

ANSWER = Turn(parts=(Say(text="It is steel."),))
T = TypeVar("T")

Play = Callable[[ClientSideConnection, Editor], Awaitable[T]]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("steel: 12\n")
    return folder


def calls(name: str, **arguments: object) -> Turn:
    """An answer of one call."""
    return Turn(parts=(Call(name=name, arguments=arguments),))


def played(work: Path, script: Script, play: Play[T], **flags: int | str) -> tuple[T, AnthropicDouble]:
    """What a play with the server gives, and the double that it was in front of."""
    double = AnthropicDouble(script)

    async def go(url: str) -> T:
        editor = Editor()
        async with connected(environment_of(work.parent, url), editor, **flags) as connection:
            return await play(connection, editor)

    with serve(double) as url:
        return asyncio.run(go(url)), double


def test_a_task_is_told_as_it_happens_and_ends_the_turn(work: Path) -> None:
    look = Turn(parts=(Say(text="Let me look."), Call(name="read", arguments={"path": "notes.txt"}, id="toolu_1")))

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[str, str, list[dict[str, Any]], int]:
        made = await agent.new_session(cwd=str(work))
        end = await agent.prompt(session_id=made.session_id, prompt=[text_block("What is it?")])
        tools = editor.updates(made.session_id, "tool_call", "tool_call_update")
        assert end.usage is not None
        return end.stop_reason, editor.texts(made.session_id), tools, end.usage.output_tokens

    (stop, text, tools, spent), _ = played(work, replies([look, ANSWER]), play)

    assert (stop, text, spent > 0) == ("end_turn", "Let me look.It is steel.", True)
    first, last = tools
    assert (first["title"], first["kind"], first["status"], first["locations"]) == (
        "read notes.txt",
        "read",
        "in_progress",
        [{"path": str(work / "notes.txt")}],
    )
    assert (last["status"], last["content"][0]["content"]["text"]) == ("completed", "```\n1\tsteel: 12\n```")


def test_a_new_session_tells_its_modes_models_commands_and_what_fills_the_window(work: Path) -> None:
    async def play(
        agent: ClientSideConnection, editor: Editor
    ) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
        made = await agent.new_session(cwd=str(work))
        await editor.until(lambda heard: heard.updates(made.session_id, "usage_update"))
        return (
            made,
            editor.updates(made.session_id, "available_commands_update"),
            editor.updates(made.session_id, "usage_update"),
        )

    (made, commands, usage), _ = played(work, replies([]), play)

    names = {command["name"] for command in commands[0]["availableCommands"]}
    assert {"compact", "context", "why", "loss", "expand", "cost"} <= names
    assert not names & {"quit", "clear", "output"}
    assert [mode.id for mode in made.modes.available_modes] == ["ask", "accept_edits", "plan", "full"]
    assert (made.modes.current_mode_id, made.config_options[0].current_value) == ("ask", "claude-sonnet-5-5")
    assert 0 < usage[0]["used"] < usage[0]["size"]


@pytest.mark.parametrize(("chosen", "written"), [("once", True), ("no", False), (None, False)])
def test_a_write_happens_only_once_the_user_allows_it(work: Path, chosen: str | None, written: bool) -> None:
    write = calls("write", path="new.txt", content="hello\n")

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[Editor, str]:
        editor.choose = lambda _options: chosen
        made = await agent.new_session(cwd=str(work))
        await agent.prompt(session_id=made.session_id, prompt=[text_block("Write it.")])
        return editor, made.session_id

    (editor, session), _ = played(work, replies([write, ANSWER]), play)

    [(_, call, options)] = editor.asked
    start = editor.updates(session, "tool_call")[0]
    assert ((work / "new.txt").exists(), call.tool_call_id) == (written, start["toolCallId"])
    assert [option.kind for option in options][::3] == ["allow_once", "reject_once"]
    assert start["content"] == [{"type": "diff", "path": str(work / "new.txt"), "newText": "hello\n"}]
    assert editor.updates(session, "tool_call_update")[-1]["status"] == ("completed" if written else "failed")


def test_what_is_allowed_for_the_session_is_not_asked_again(work: Path) -> None:
    run = calls("bash", command="touch made.txt")

    async def play(agent: ClientSideConnection, editor: Editor) -> int:
        editor.choose = lambda _options: "session"
        made = await agent.new_session(cwd=str(work))
        await agent.prompt(session_id=made.session_id, prompt=[text_block("Twice.")])
        return len(editor.asked)

    asked, _ = played(work, replies([run, run, ANSWER]), play)

    assert (asked, (work / "made.txt").exists()) == (1, True)


def test_a_mode_is_turned_by_the_editor_and_holds_at_once(work: Path) -> None:
    write = calls("write", path="new.txt", content="hello\n")

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[int, list[dict[str, Any]]]:
        made = await agent.new_session(cwd=str(work))
        await agent.set_session_mode(session_id=made.session_id, mode_id="accept_edits")
        await agent.prompt(session_id=made.session_id, prompt=[text_block("Write it.")])
        with pytest.raises(RequestError):
            await agent.set_session_mode(session_id=made.session_id, mode_id="anything")
        return len(editor.asked), editor.updates(made.session_id, "current_mode_update")

    (asked, told), _ = played(work, replies([write, ANSWER]), play)

    assert (asked, [one["currentModeId"] for one in told], (work / "new.txt").read_text()) == (
        0,
        ["accept_edits"],
        "hello\n",
    )


def test_a_cancelled_prompt_ends_its_command_and_says_so(work: Path) -> None:
    run = calls("bash", command="echo begun; exec sleep 60")

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[str, str, str]:
        made = await agent.new_session(cwd=str(work))
        await agent.set_session_mode(session_id=made.session_id, mode_id="full")
        async with asyncio.TaskGroup() as group:
            prompt = group.create_task(agent.prompt(session_id=made.session_id, prompt=[text_block("Wait.")]))
            await editor.until(lambda heard: "begun" in str(heard.updates(made.session_id, "tool_call_update")))
            await agent.cancel(session_id=made.session_id)
        first = prompt.result()
        second = await agent.prompt(session_id=made.session_id, prompt=[text_block("And now?")])
        return first.stop_reason, second.stop_reason, str(editor.updates(made.session_id, "tool_call_update")[-1])

    (first, second, tool), _ = played(work, replies([run, ANSWER]), play)

    assert (first, second, "The user interrupted it." in tool) == ("cancelled", "end_turn", True)


def test_two_sessions_work_at_once_and_their_updates_stay_apart(work: Path) -> None:
    def script(body: Any) -> Turn:
        said = str(body["messages"])
        if "tool_result" in said:
            return Turn(parts=(Say(text="one" if "FIRST" in said else "two"),))
        return (
            calls("bash", command="until [ -e go ]; do sleep 0.02; done")
            if "FIRST" in said
            else calls("bash", command="touch go")
        )

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[str, str]:
        first, second = [(await agent.new_session(cwd=str(work))).session_id for _ in range(2)]
        for session in (first, second):
            await agent.set_session_mode(session_id=session, mode_id="full")
        async with asyncio.TaskGroup() as group:
            group.create_task(agent.prompt(session_id=first, prompt=[text_block("FIRST")]))
            await editor.until(lambda heard: heard.updates(first, "tool_call"))
            with pytest.raises(RequestError, match="at work"):
                await agent.prompt(session_id=first, prompt=[text_block("Again.")])
            await agent.prompt(session_id=second, prompt=[text_block("SECOND")])
        return editor.texts(first), editor.texts(second)

    texts, _ = played(work, script, play)

    assert texts == ("one", "two")


def test_a_loaded_session_is_told_again_and_goes_on(work: Path) -> None:
    todos = calls("todo", todos=[{"id": "1", "text": "Weigh it", "state": "in_progress"}])
    thinks = Turn(parts=(Think(text="Hm."), Say(text="Looking.")))

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[list[Any], list[Any], list[Any], str]:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.prompt(session_id=made, prompt=[text_block("Plan it.")])
        live = editor.updates(made, "plan")
        await agent.close_session(session_id=made)
        listed = (await agent.list_sessions(cwd=str(work))).sessions
        with pytest.raises(RequestError, match="not open"):
            await agent.prompt(session_id=made, prompt=[text_block("Hello?")])
        editor.heard.clear()
        await agent.load_session(cwd=str(work), session_id=made)
        again = [update for _, update in editor.heard]
        end = await agent.prompt(session_id=made, prompt=[text_block("Thanks.")])
        return live, [(row.session_id == made, row.title) for row in listed], again, end.stop_reason

    (live, listed, again, stop), double = played(work, replies([todos, thinks, ANSWER]), play)

    kinds = [update["sessionUpdate"] for update in again]
    assert kinds[:5] == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk", "plan"]
    assert (again[0]["content"]["text"], again[4]) == ("Plan it.", live[0])
    assert (listed, stop) == ([(True, "Plan it.")], "end_turn")
    assert [one.status for one in double.received] == [200, 200, 200]


def test_a_fork_goes_its_own_way(work: Path) -> None:
    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[bool, int]:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.prompt(session_id=made, prompt=[text_block("What is it?")])
        forked = (await agent.fork_session(session_id=made, cwd=str(work))).session_id
        await agent.prompt(session_id=forked, prompt=[text_block("Sure?")])
        return forked != made, len((await agent.list_sessions(cwd=str(work))).sessions)

    result, double = played(work, replies([ANSWER, ANSWER]), play)

    assert result == (True, 2)
    before, after = (one.body["messages"] for one in double.received)
    assert [message["role"] for message in after[len(before) :]] == ["assistant", "user"]


def test_links_texts_and_images_reach_the_model(work: Path) -> None:
    large = "".join(f"row {number}\n" for number in range(4_000))
    given: list[Given] = [
        text_block("Compare "),
        resource_link_block("notes", (work / "notes.txt").as_uri()),
        resource_block(embedded_text_resource("file:///elsewhere/a.txt", "short")),
        resource_block(embedded_text_resource("file:///elsewhere/b.txt", large)),
        image_block(base64.b64encode(b"\x89PNG").decode(), "image/png"),
    ]

    async def play(agent: ClientSideConnection, editor: Editor) -> str:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.prompt(session_id=made, prompt=given)
        with pytest.raises(RequestError, match="no base64"):
            await agent.prompt(session_id=made, prompt=[image_block("???", "image/png")])
        return made

    session, double = played(work, replies([ANSWER]), play)

    typed = str(double.received[0].body["messages"][-1]["content"][-1]["text"])
    [kept] = work.parent.glob(f"home/**/{session}/attached")
    assert typed.startswith('Compare @notes.txt\n<attached from="/elsewhere/a.txt">\nshort\n</attached>')
    assert ("row 3999" in typed, str(kept / "1.txt") in typed, str(kept / "2.png") in typed) == (False, True, True)
    assert ((kept / "1.txt").read_text(), (kept / "2.png").read_bytes()) == (large, b"\x89PNG")


def test_what_the_editor_holds_and_has_not_saved_counts(work: Path) -> None:
    read = calls("read", path="notes.txt")
    edit = calls("edit", path="notes.txt", edits=[{"old_string": "steel", "new_string": "iron"}])

    async def play(agent: ClientSideConnection, editor: Editor) -> Editor:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.set_session_mode(session_id=made, mode_id="accept_edits")
        editor.buffers[str(work / "notes.txt")] = "steel: 13\n"
        await agent.prompt(session_id=made, prompt=[text_block("Make it iron.")])
        return editor

    editor, double = played(work, replies([read, edit, read, edit, ANSWER]), play)

    results = [str(one.body["messages"][-1]["content"][0]["content"]) for one in double.received[1:]]
    assert ("+steel: 13" in results[0], "unsaved changes" in results[1], "13" in results[2]) == (True, True, True)
    assert (list(editor.saved.values()), (work / "notes.txt").read_text()) == (["steel: 13\n"], "iron: 13\n")


def test_a_compaction_is_told_with_what_left_and_taken_back(work: Path) -> None:
    (work / "long.txt").write_text("".join(f"row {n}: {n * 7919 % 9973} crates of steel\n" for n in range(900)))
    looks = [calls("read", path="long.txt", offset=1 + 300 * part, limit=300) for part in range(3)]

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[list[dict[str, Any]], str]:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.prompt(session_id=made, prompt=[text_block("Read it.")])
        await agent.prompt(session_id=made, prompt=[text_block("Thanks.")])
        await agent.prompt(session_id=made, prompt=[text_block("/compact the weights")])
        for command in ("/why", "/expand", "/context", "/nowhere is a path"):
            end = await agent.prompt(session_id=made, prompt=[text_block(command)])
            assert end.stop_reason == "end_turn"
        folds = [one for one in editor.updates(made, "tool_call") if one["title"].startswith("Context folded")]
        return folds, editor.texts(made)

    (folds, text), _ = played(work, replies([*looks, ANSWER, ANSWER]), play, window=24_000)

    [fold] = folds
    told = fold["content"][0]["content"]["text"]
    assert (fold["status"], "Nothing is lost" in told, "`/expand` takes it back" in told) == ("completed", True, True)
    assert ("it is back" in text, "kept free for the answer" in text, "is a path" in text) == (True, True, True)


def test_another_model_answers_once_it_is_chosen(work: Path) -> None:
    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[str, int]:
        made = await agent.new_session(cwd=str(work))
        wanted = "claude-haiku-4-5"
        answer = await agent.set_config_option(config_id="model", session_id=made.session_id, value=wanted)
        await agent.prompt(session_id=made.session_id, prompt=[text_block("Hello.")])
        with pytest.raises(RequestError):
            await agent.set_config_option(config_id="model", session_id=made.session_id, value="openai/gpt-5")
        assert answer is not None
        return str(answer.config_options[0].current_value), len(answer.config_options)

    (current, _), double = played(work, replies([ANSWER]), play)

    assert (current, double.received[0].body["model"]) == ("claude-haiku-4-5", "claude-haiku-4-5")


def test_without_a_key_the_error_says_what_is_enough(work: Path) -> None:
    async def go() -> RequestError:
        async with connected(environment_of(work.parent), Editor(), model="claude-opus-5-5") as agent:
            with pytest.raises(RequestError):
                await agent.authenticate(method_id="environment")
            with pytest.raises(RequestError) as failed:
                await agent.new_session(cwd=str(work))
            return failed.value

    error = asyncio.run(go())

    assert (error.code, "ANTHROPIC_API_KEY is not set" in str(error)) == (-32000, True)


def test_what_cannot_be_meant_is_an_error_and_nothing_more(work: Path) -> None:
    async def play(agent: ClientSideConnection, editor: Editor) -> str:
        for wrong in (
            agent.new_session(cwd="not/absolute"),
            agent.load_session(cwd=str(work), session_id="../../etc/passwd"),
            agent.load_session(cwd=str(work), session_id="20260101-000000-000000"),
            agent.prompt(session_id="none", prompt=[text_block("Hello.")]),
        ):
            with pytest.raises(RequestError) as failed:
                await wrong
            assert failed.value.code == -32602
        made = await agent.new_session(cwd=str(work))
        with pytest.raises(RequestError, match="empty"):
            await agent.prompt(session_id=made.session_id, prompt=[])
        return (await agent.prompt(session_id=made.session_id, prompt=[text_block("Hello.")])).stop_reason

    stop, _ = played(work, replies([ANSWER]), play)

    assert stop == "end_turn"


def test_a_prompt_is_cancelled_while_the_user_thinks_about_a_question(work: Path) -> None:
    write = calls("write", path="new.txt", content="hello\n")

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[str, list[str]]:
        editor.answers.clear()
        made = (await agent.new_session(cwd=str(work))).session_id
        async with asyncio.TaskGroup() as group:
            prompt = group.create_task(agent.prompt(session_id=made, prompt=[text_block("Write it.")]))
            await editor.until(lambda heard: heard.asked)
            await agent.cancel(session_id=made)
        editor.answers.set()
        return prompt.result().stop_reason, [one["status"] for one in editor.updates(made, "tool_call_update")]

    found, _ = played(work, replies([write]), play)

    assert (found, (work / "new.txt").exists()) == (("cancelled", ["failed"]), False)


def test_when_the_editor_goes_away_what_runs_is_ended_and_the_session_can_be_loaded(work: Path) -> None:
    run = calls("bash", command="echo $$ > pid; echo begun; exec sleep 60")

    async def leave(agent: ClientSideConnection, editor: Editor) -> str:
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.set_session_mode(session_id=made, mode_id="full")
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(given_up(agent, made))
            await editor.until(lambda heard: "begun" in str(heard.updates(made, "tool_call_update")))
            await agent.close()
        assert prompt.result()
        return made

    async def come_back(agent: ClientSideConnection, editor: Editor) -> list[str]:
        await agent.load_session(cwd=str(work), session_id=made)
        return [update["status"] for update in editor.updates(made, "tool_call_update")]

    made, _ = played(work, replies([run]), leave)
    pid = int((work / "pid").read_text())
    statuses, _ = played(work, replies([]), come_back)

    assert (Path(f"/proc/{pid}").exists(), len(statuses)) == (False, 1)


async def given_up(agent: ClientSideConnection, session: str) -> bool:
    """Whether a prompt ends with the connection."""
    try:
        await agent.prompt(session_id=session, prompt=[text_block("Wait.")])
    except ConnectionError:
        return True
    return False


def test_plans_and_the_models_questions_are_asked_in_the_editor(work: Path) -> None:
    question = {"question": "Which?", "options": [{"label": "Steel"}, {"label": "Iron"}]}
    turns = [
        calls("enter_plan_mode", why="It is large."),
        calls("ask_user", questions=[question]),
        calls("ask_user", questions=[{"question": "Why?"}]),
        calls("exit_plan_mode", plan="1. Weigh it."),
        ANSWER,
    ]

    async def play(agent: ClientSideConnection, editor: Editor) -> tuple[list[str], list[str]]:
        editor.choose = lambda options: "yes" if options[0].option_id == "yes" else "1"
        made = (await agent.new_session(cwd=str(work))).session_id
        await agent.prompt(session_id=made, prompt=[text_block("Plan.")])
        modes = [one["currentModeId"] for one in editor.updates(made, "current_mode_update")]
        return modes, [str(call.title) for _, call, _ in editor.asked]

    (modes, titles), double = played(work, replies(turns), play)

    said = str(double.received[-1].body["messages"])
    assert (modes, titles) == (["plan", "ask"], ["Plan before anything is changed?", "Which?", "Ready to begin?"])
    assert ("The user: Iron" in said, "cannot ask for words" in said) == (True, True)


@pytest.mark.parametrize(
    ("turn", "flags", "stop"),
    [
        (Turn(parts=(Say(text="No."),), stop_reason="refusal"), {}, "refusal"),
        (calls("ls", path="."), {"limits.turns": 2}, "max_turn_requests"),
    ],
)
def test_the_end_of_a_turn_has_the_protocols_name(
    work: Path, turn: Turn, flags: dict[str, int | str], stop: str
) -> None:
    async def play(agent: ClientSideConnection, editor: Editor) -> str:
        made = (await agent.new_session(cwd=str(work))).session_id
        return (await agent.prompt(session_id=made, prompt=[text_block("Do it.")])).stop_reason

    found, _ = played(work, lambda _body: turn, play, **flags)

    assert found == stop


def test_folders_that_the_editor_adds_may_be_worked_in(work: Path) -> None:
    extra = work.parent / "extra"
    extra.mkdir()
    write = calls("write", path=str(extra / "new.txt"), content="hello\n")

    async def play(agent: ClientSideConnection, editor: Editor) -> int:
        for folders in ([], [str(extra)]):
            made = (await agent.new_session(cwd=str(work), additional_directories=folders)).session_id
            await agent.set_session_mode(session_id=made, mode_id="accept_edits")
            editor.choose = lambda _options: "no"
            await agent.prompt(session_id=made, prompt=[text_block("Write it.")])
        return len(editor.asked)

    asked, _ = played(work, replies([write, ANSWER, write, ANSWER]), play)

    assert (asked, (extra / "new.txt").read_text()) == (1, "hello\n")
