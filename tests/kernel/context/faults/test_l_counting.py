"""Sizes that are wrong: tools left out, pictures counted as text, wide characters, unknown windows."""

import pytest

from perdure.kernel.context import Engine, drive, overhead_of, with_window
from perdure.kernel.messages import Image, Text, Tool, ToolResult
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, play

MODEL = lookup("claude-sonnet-4-6")
PROFILE = with_window(MODEL, 200_000)


def tokens(talk: Talk, overhead: int = 0) -> int:
    return Engine(PROFILE, overhead=overhead).usage(talk.transcript).usage.tokens


def test_tools_and_system_count() -> None:
    tool = Tool(name="read", description="Reads a file. " * 400, schema={"type": "object"})

    overhead = overhead_of(MODEL, system=(Text(text=LINE * 200),), tools=(tool,))

    assert 4_000 < overhead < 12_000
    assert tokens(Talk().typed("hi"), overhead) == overhead + tokens(Talk().typed("hi"))


def test_a_picture_is_not_counted_as_the_text_of_its_base64() -> None:
    picture = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 100_000})
    talk = Talk().typed("look").called()
    talk.add("tool", (ToolResult(tool_use_id="call_0", content=(picture,)),))

    assert tokens(talk) < 3_000


def test_a_session_of_many_pictures_is_not_folded_for_the_length_of_their_base64() -> None:
    picture = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 20_000})
    talk = Talk().typed("look")
    for number in range(10):
        talk.called()
        talk.add("tool", (ToolResult(tool_use_id=f"call_{number}", content=(picture,)),))

    sent = list(play(Engine(PROFILE), talk.transcript, ScriptedPorts()))

    assert not any(edit for one in sent for edit in one.edits)


def test_chinese_is_counted_by_the_character() -> None:
    text = "请把重试次数改成七，并且不要动旧的目录。" * 500

    assert len(text) * 0.5 < tokens(Talk().typed(text)) < len(text) * 2


def test_a_chinese_session_fits_its_window_also_by_a_count_of_one_token_a_character() -> None:
    talk = Talk().typed("开始")
    for number in range(40):
        talk.called().answered(f"第{number}行：潮汐窗口已经结算完毕。" * 150)

    sent = list(play(Engine(with_window(MODEL, 32_000)), talk.transcript, ScriptedPorts(["absent"])))
    wide = [sum(len(str(block)) for message in one.messages for block in message.content) for one in sent]

    assert max(wide) < 32_000


def test_an_unknown_window_is_reported_and_never_guessed() -> None:
    talk = Talk().typed("go on").rounds(200, 3_000)
    engine = Engine(lookup("an-unknown-model"))

    sent = drive(engine.project(talk.transcript, None), ScriptedPorts())

    assert (None, ("window_unknown",), ()) == (sent.limits, sent.notes, sent.edits)
    assert sent.usage.tokens > 150_000


@pytest.mark.parametrize("window", [1_000, 4_000, 8_192, 32_768, 200_000, 1_000_000, 2_000_000])
def test_what_is_asked_as_the_longest_answer_fits_behind_the_request(window: int) -> None:
    talk = Talk().typed("go on").rounds(6, window // 6)
    engine = Engine(with_window(MODEL, window))

    for sent in play(engine, talk.transcript, ScriptedPorts(["absent"])):
        assert sent.max_tokens is not None
        assert 1 <= sent.max_tokens
        assert sent.usage.tokens + sent.max_tokens <= window


def test_empty_and_hostile_outputs_have_a_size() -> None:
    talk = Talk().typed("go on").called().answered("").called().answered("\x00\ud800" * 5_000).typed("")

    assert 0 < tokens(talk) < 30_000
