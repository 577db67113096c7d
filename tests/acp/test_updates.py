"""Updates by themselves: what waits is sent together, and what is said of an answer that broke off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from acp.helpers import update_agent_message_text, update_agent_thought_text
from acp.schema import AgentMessageChunk, EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from perdure.acp.feed import Feed
from perdure.acp.outbox import Outbox, Update
from perdure.acp.servers import settings_of
from perdure.kernel.agent import Failure, Trouble
from perdure.kernel.errors import UserError


def test_pieces_that_wait_are_sent_as_one_and_in_their_order() -> None:
    sent: list[Update] = []

    async def send(update: Update) -> None:
        sent.append(update)

    async def go() -> None:
        outbox = Outbox(send)
        for update in (
            update_agent_message_text("It "),
            update_agent_message_text("is "),
            update_agent_thought_text("Hm."),
            update_agent_message_text("steel."),
        ):
            outbox.put(update)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            await outbox.flush()
            sending.cancel()

    asyncio.run(go())

    assert sent == [
        update_agent_message_text("It is "),
        update_agent_thought_text("Hm."),
        update_agent_message_text("steel."),
    ]


def test_nobody_waits_for_an_editor_that_has_gone() -> None:
    async def send(_update: Update) -> None:
        raise BrokenPipeError

    async def go() -> None:
        outbox = Outbox(send)
        outbox.put(update_agent_message_text("It"))
        outbox.put(update_agent_thought_text("Hm."))
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            await outbox.flush()
            outbox.put(update_agent_message_text("is."))
            await outbox.flush()
            sending.cancel()

    asyncio.run(asyncio.wait_for(go(), 5))


def test_an_answer_that_begins_anew_says_so() -> None:
    told: list[Update] = []
    feed = Feed(told.append, Path("/work"), lambda: 0.0)
    feed.hear(Trouble(failure=Failure(kind="cut", message="broke off"), retry_in=2.0, void=True))

    first, second = told
    assert isinstance(first, AgentMessageChunk)
    assert "begins anew" in str(first.content)
    assert second == update_agent_thought_text("\ncut: broke off; again in 2 s\n")


def test_servers_of_an_editor_become_those_of_settings() -> None:
    stdio = McpServerStdio(name="My docs!", command="/bin/docs", args=["-v"], env=[EnvVariable(name="A", value="b")])
    http = HttpMcpServer(
        type="http", name="My docs", url="https://docs.example", headers=[HttpHeader(name="X", value="y")]
    )

    assert settings_of([stdio, http]) == {
        "My-docs": {"command": "/bin/docs", "args": ["-v"], "env": {"A": "b"}},
        "My-docs-2": {"url": "https://docs.example", "headers": {"X": "y"}},
    }
    with pytest.raises(UserError, match="sse"):
        settings_of([SseMcpServer(type="sse", name="old", url="https://old.example", headers=[])])
