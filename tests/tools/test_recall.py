"""The model gets back exactly what it asks for, in answers that are bounded, and no call of it can do harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.archive import Archive, collect, open_archive
from perdure.kernel.context import Engine, Original, Settings, drive
from perdure.kernel.messages import Image, Json, Message, Text, ToolResult, ToolUse, Transcript, text_of
from perdure.kernel.models import lookup
from perdure.log import create_log
from perdure.testing.ports import ScriptedPorts
from perdure.tools.recall import NAME, PAGE, RECALL, RecallTool

NOW = 1_790_000_000.0
PICTURE = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})
LONG = "\n".join(f"line {number} of the report" for number in range(1, 5_001))


def evicted(handle: str, *blocks: Text | Image) -> Original:
    result = ToolResult(tool_use_id="t", content=blocks)
    return Original(handle=handle, message_id=f"of_{handle}", what=f"bash {handle}", tokens=7, content=(result,))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with open_archive(None, tmp_path_factory.mktemp("archive")) as opened:
        opened.keep([evicted("h1", Text(text="short\nand exact\t\r\n"))], NOW)
        opened.keep([evicted("h2", Text(text=LONG)), evicted("h3", Text(text="x" * 3 * PAGE))], NOW)
        opened.keep([evicted("h4", Text(text="a shot"), PICTURE)], NOW)
        yield opened


def answer(archive: Archive, **given: Json) -> ToolResult:
    return RecallTool(archive=archive).call(ToolUse(id="c1", name=NAME, input=given))


def said(archive: Archive, **given: Json) -> str:
    return text_of(answer(archive, **given).content)


def test_a_short_original_comes_back_whole(archive: Archive) -> None:
    assert "[h1, bash h1: lines 1 to 3 of 3.]\nshort\nand exact\t\r\n" == said(archive, handle="h1")


def test_the_pages_of_a_long_original_make_up_all_of_it(archive: Archive) -> None:
    got: list[str] = []
    while len(got) < 5_000:
        head, *rows = said(archive, handle="h2", lines=f"{len(got) + 1}-5000").split("\n")
        got += rows

        assert len("\n".join([head, *rows])) <= PAGE + 200
    assert LONG == "\n".join(got)


def test_the_parts_of_a_very_long_line_make_up_all_of_it(archive: Archive) -> None:
    got = ""
    while len(got) < 3 * PAGE:
        head, row = said(archive, handle="h3", lines="1", from_character=len(got) + 1).split("\n")
        got += row

        assert (len(got) < 3 * PAGE) == (f"from_character {len(got) + 1}" in head)
    assert "x" * 3 * PAGE == got


def test_a_range_and_a_pattern_give_those_lines(archive: Archive) -> None:
    assert "[h2, bash h2: lines 7 to 8 of 5000.]\nline 7 of the report\nline 8 of the report" == said(
        archive, handle="h2", lines="7-8"
    )
    assert [
        "[h2, bash h2: 11 lines contain 'LINE 49*9 OF'.]",
        "499: line 499 of the report",
        "4909: line 4909 of the report",
    ] == said(archive, handle="h2", pattern="LINE 49*9 OF").split("\n")[:3]


def test_a_picture_comes_back_as_a_picture(archive: Archive) -> None:
    content = answer(archive, handle="h4").content

    assert isinstance(content, tuple)
    assert PICTURE == content[-1]


def test_words_lead_to_handles(archive: Archive) -> None:
    assert ["h1: bash h1", "  2: and exact\t\r"] == said(archive, words="exact").split("\n")[1:]


def test_without_parameters_the_handles_are_listed(archive: Archive) -> None:
    assert ["h4", "h3", "h2", "h1"] == [line.split(":")[0] for line in said(archive).split("\n")[1:]]


def test_what_is_gone_says_so_once_and_for_all(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([evicted("h1", Text(text="old"))], NOW)
        collect(archive, NOW + 9, before=NOW + 1)
        answers = [answer(archive, handle=handle) for handle in ("h1", "h1", "never")]

        assert [True, True, True] == [one.is_error for one in answers]
        assert all(text_of(one.content).endswith("Do not ask for it again.") for one in answers)


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.just("h2"), st.just([1]))


CALLS = st.fixed_dictionaries(
    {
        "handle": ANYTHING,
        "lines": ANYTHING | st.from_regex(r"\d{1,5}-\d{1,5}", fullmatch=True),
        "pattern": ANYTHING,
        "words": ANYTHING,
        "from_character": ANYTHING,
    }
)


@settings(max_examples=200)
@given(call=CALLS)
def test_no_call_raises_and_no_answer_is_larger_than_a_page(archive: Archive, call: dict[str, Json]) -> None:
    assert 0 < len(said(archive, **call)) <= PAGE + 1_000


def test_an_answer_of_the_tool_is_never_reduced_again(tmp_path: Path) -> None:
    engine = Engine(lookup("claude-sonnet-4-5"))
    call = ToolUse(id="c1", name=RECALL.name, input={"handle": "h2"})
    other = ToolUse(id="c2", name="bash", input={"command": "cat report"})
    big = "\n".join(f"{number} {number * number}" for number in range(8_000))
    results = tuple(ToolResult(tool_use_id=use.id, content=big) for use in (call, other))
    transcript = Transcript(
        (
            Message(id="m1", role="user", content=(Text(text="go on"),), provenance="user"),
            Message(id="m2", role="assistant", content=(call, other), provenance="assistant"),
            Message(id="m3", role="user", content=results, provenance="tool"),
        )
    )
    shown = drive(engine.project(transcript, NOW), ScriptedPorts()).messages[-1]

    assert [True, False] == [result.content == big for result in shown.tool_results]


@pytest.mark.parametrize("tool", [NAME, None])
def test_a_handle_is_offered_only_where_the_tool_is(tmp_path: Path, tool: str | None) -> None:
    call = ToolUse(id="c2", name="bash", input={"command": "cat report"})
    message = Message(id="m3", role="user", content=(ToolResult(tool_use_id="c2", content=LONG),), provenance="tool")
    transcript = Transcript(
        (
            Message(id="m1", role="user", content=(Text(text="go on"),), provenance="user"),
            Message(id="m2", role="assistant", content=(call,), provenance="assistant"),
            message,
        )
    )
    engine = Engine(lookup("claude-sonnet-4-5"), Settings(recall_tool=tool))
    ports = ScriptedPorts()
    shown = text_of(drive(engine.project(transcript, NOW), ports).messages[-1].content)
    (handle,) = ports.archive
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(message, NOW)
        archive.keep(tuple(ports.archive.values()), NOW)

        assert (tool is not None) == (f"recall {handle}" in shown)
        assert said(archive, handle=handle, lines="4999-5000").endswith("line 5000 of the report")
