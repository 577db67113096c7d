"""`perdure acp` as a process: what stands in its pipes, and what is left of it when it is killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from acp.helpers import text_block
from tests.acp.stage import Editor, connected, environment_of, spawned

from perdure.testing.doubles import AnthropicDouble, serve
from perdure.testing.doubles.script import Call, Say, Turn, replies

ANSWER = Turn(parts=(Say(text="It is steel."),))


def test_a_session_is_loaded_after_the_process_was_killed_in_a_call(tmp_path: Path) -> None:
    run = Turn(parts=(Say(text="Waiting."), Call(name="bash", arguments={"command": "echo begun; exec sleep 60"})))

    async def go(url: str) -> tuple[list[dict[str, Any]], str]:
        environment = environment_of(tmp_path, url)
        editor, again = Editor(), Editor()
        async with spawned(environment, editor) as (agent, process):
            made = (await agent.new_session(cwd=str(tmp_path))).session_id
            await agent.set_session_mode(session_id=made, mode_id="full")
            async with asyncio.TaskGroup() as group:
                prompt = group.create_task(_lost(agent, made))
                await editor.until(lambda heard: "begun" in str(heard.updates(made, "tool_call_update")))
                process.kill()
            assert isinstance(prompt.result(), ConnectionError)
        async with connected(environment, again) as agent:
            await agent.load_session(cwd=str(tmp_path), session_id=made)
            told = [update for _, update in again.heard]
            end = await agent.prompt(session_id=made, prompt=[text_block("Go on.")])
        return told, end.stop_reason

    double = AnthropicDouble(replies([run, ANSWER]))
    with serve(double) as url:
        told, stop = asyncio.run(go(url))

    kinds = [update["sessionUpdate"] for update in told[:4]]
    assert kinds == ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"]
    assert (told[3]["status"], stop, [one.status for one in double.received]) == ("failed", "end_turn", [200, 200])


async def _lost(agent: Any, session: str) -> object:
    """What becomes of a prompt whose agent dies."""
    try:
        return await agent.prompt(session_id=session, prompt=[text_block("Wait.")])
    except ConnectionError as error:
        return error


def test_lines_that_are_no_messages_are_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    lines = [
        b"{no json",
        b"[1, 2]",
        b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": 5}}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "session/anything"}',
        b'{"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": 1, "later": {"a": 1}}}',
    ]
    done = subprocess.run(
        [sys.executable, "-m", "perdure.cli", "acp"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        env={**environment_of(tmp_path)},
        timeout=60,
        check=True,
    )

    answers = {(one["id"], one.get("error", {}).get("code")) for one in map(json.loads, done.stdout.splitlines())}
    assert answers == {(None, -32700), (None, -32600), (1, -32600), (2, -32602), (3, -32601), (4, None)}
