"""The models for tests do what their script says."""

import asyncio
from contextlib import aclosing

import pytest

from perdure.kernel.agent import Answered, Ask, Failure, ModelEvent
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Message, Text, Thinking, ToolUse
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES, Codec
from perdure.testing.models import OVER, ScriptedModel, parse_script

ASK = Ask(messages=(Message(id="m0", role="user", content=(Text(text="Hi"),), provenance="user"),))


def events_of(model: ScriptedModel) -> list[ModelEvent]:
    async def gather() -> list[ModelEvent]:
        async with aclosing(model.stream(ASK)) as stream:
            return [event async for event in stream]

    return asyncio.run(gather())


def content_of(model: ScriptedModel) -> tuple[object, ...]:
    last = events_of(model)[-1]
    assert isinstance(last, Answered)
    return last.response.message.content


def test_a_script_is_read_turn_by_turn() -> None:
    model = ScriptedModel('think Hm.\nsay Look.\ncall read {"path": "a.py"}\n---\nsay Done.')

    assert (
        Thinking(thinking="Hm.", signature="signed-0"),
        Text(text="Look."),
        ToolUse(id="call_0_0", name="read", input={"path": "a.py"}),
    ) == content_of(model)
    assert (Text(text="Done."),) == content_of(model)
    assert (Text(text=OVER),) == content_of(model)


@pytest.mark.parametrize("codec", [ANTHROPIC, RESPONSES, CHAT])
def test_a_script_is_told_in_any_dialect(codec: Codec) -> None:
    content = content_of(ScriptedModel("say Hello.", codec=codec))

    assert "Hello." == "".join(block.text for block in content if isinstance(block, Text))


def test_a_script_can_fail() -> None:
    last = events_of(ScriptedModel("fail overflow prompt is too long"))[-1]

    assert Failure(kind="overflow", message="prompt is too long") == last


@pytest.mark.parametrize("line", ["shout Hello", "fail somehow", "nonsense"])
def test_a_line_that_says_nothing_is_refused(line: str) -> None:
    with pytest.raises(InvalidSetting):
        parse_script(line)
