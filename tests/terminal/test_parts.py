"""What the screen shows, by its pure parts."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from perdure.kernel.agent import MessageDelta, MessageEnd, ToolEnd, ToolStart
from perdure.kernel.messages import Image, Message, Text, ToolResult, ToolUse
from perdure.kernel.wire import BlockGrew
from perdure.session import SessionEvent
from perdure.session.status import Status
from perdure.terminal.blocks import Look
from perdure.terminal.clipboard import sequence
from perdure.terminal.complete import Words
from perdure.terminal.dialog import Dialog, reply_of
from perdure.terminal.feed import SEEN, Feed
from perdure.terminal.footer import footer
from perdure.terminal.pictures import drawing_of, pictures
from perdure.terminal.plain import clean
from perdure.terminal.screen import portions
from perdure.terminal.slash import user_command
from perdure.tools import ask_user
from perdure.tools.permissions import Question

STATUS = Status(
    model="a-model",
    window=24_000,
    fixed=4_800,
    cached=7_000,
    fresh=1_200,
    reserve=4_800,
    until_edit=6_200,
    warm_for=287.0,
    usd=1.204,
    saved_usd=0.33,
    turns=2,
    answers=79,
    mode="work",
)
PLAIN = Look(columns=80, colour=False)


def line(status: Status, columns: int = 200, mode: str = "ask", queued: int = 0) -> str:
    return "".join(text for _, text in footer(status, columns, mode, queued)).rstrip()


def test_the_footer_tells_window_next_edit_cache_price_and_saving() -> None:
    shown = line(STATUS)

    assert shown.startswith("a-model  [███████████·····░░░░] 13.0k of 24.0k")
    assert shown.endswith("edit in 6.2k  warm 4:47  $1.20  saved $0.33")


@pytest.mark.parametrize(
    ("warm", "said"), [(0.0, "cold"), (None, "cache ?"), (59.9, "warm 0:59"), (3_600.0, "warm 60:00")]
)
def test_the_footer_says_whether_the_cache_holds(warm: float | None, said: str) -> None:
    assert f"  {said}  " in line(replace(STATUS, warm_for=warm))


def test_a_window_that_nobody_knows_is_said() -> None:
    assert "13.0k tokens, window unknown" in line(replace(STATUS, window=None, until_edit=None))


def test_a_price_that_nobody_knows_is_never_shown_as_nothing() -> None:
    assert "  price unknown" in line(replace(STATUS, usd=0.0, saved_usd=None))
    assert "  at least $1.20" in line(replace(STATUS, saved_usd=None))


@given(st.integers(20, 200), st.sampled_from(["ask", "accept_edits", "plan", "full"]), st.integers(0, 3))
def test_the_footer_fits_and_keeps_the_window_to_the_last(columns: int, mode: str, queued: int) -> None:
    shown = line(STATUS, columns, mode, queued)

    assert "13.0k of 24.0k" in shown
    assert len(shown) <= max(columns, 38)


@given(st.text())
def test_no_text_steers_the_terminal(text: str) -> None:
    shown = clean(text)

    assert all(char == "\n" or char.isprintable() or ord(char) > 0x2FFF for char in shown if char.isascii())
    assert [char for char in "\x1b\x9b\u202e" if char in shown] == []


def test_a_sequence_goes_whole_and_leaves_no_rest() -> None:
    assert clean("a\x1b[31mred\x1b[0m\x1b]0;title\x07b\r\nc\td") == "aredb\nc   d"


def heard(*events: SessionEvent) -> tuple[list[str], Feed]:
    lines: list[str] = []
    feed = Feed(lines.append, lambda: PLAIN)
    for event in events:
        feed.hear(event)
    return lines, feed


def grew(text: str) -> MessageDelta:
    return MessageDelta(delta=BlockGrew(index=0, kind="text", piece=text))


def test_whole_paragraphs_are_printed_once_and_the_rest_stays_live() -> None:
    lines, feed = heard(grew("One.\n"), grew("\nTwo, an"), grew("d more"))

    assert (lines, feed.live) == (["\nOne."], "Two, and more")


def test_nothing_inside_of_a_fence_or_a_list_is_printed_in_two_parts() -> None:
    lines, feed = heard(grew("```\na\n\nb\n"), grew("\nc\n"))
    more, other = heard(grew("- a\n\n- b\n\n- c"))

    assert (lines, feed.live.count("\n")) == ([], 6)
    assert (more, other.live) == ([], "- a\n\n- b\n\n- c")


@given(st.lists(st.text(alphabet="ab \n`-1.#", max_size=12), max_size=12))
def test_however_an_answer_is_cut_all_of_it_is_printed(pieces: list[str]) -> None:
    end = MessageEnd(
        message=Message(id="m1", role="assistant", content=(Text(text="".join(pieces)),), provenance="assistant")
    )
    lines, feed = heard(*(grew(piece) for piece in pieces), end)

    assert "".join("".join(lines).split()) == "".join("".join(pieces).split())
    assert feed.live == ""


def test_a_call_is_a_line_and_its_result_a_few() -> None:
    call = ToolUse(id="t", name="bash", input={"command": "ls\x1b[2J"})
    found = ToolResult(tool_use_id="t", content="\n".join(f"row {n}" for n in range(9)))
    lines, feed = heard(ToolStart(call=call), ToolEnd(call=call, result=found))

    assert lines[0] == "● bash ls\\x1b[2J"
    assert lines[1].split("\n")[-1].strip() == "… 5 more lines, /output shows them"
    assert feed.results == [found]


@pytest.mark.parametrize(
    ("typed", "choice", "words"),
    [
        ("y", "once", ""),
        ("s", "session", ""),
        ("a", "no", ""),
        ("n", "no", ""),
        ("", "no", ""),
        ("use pytest", "no", "use pytest"),
    ],
)
def test_only_an_answer_that_is_offered_permits(typed: str, choice: str, words: str) -> None:
    question = Question(tool="bash", what=("bash: make",), why="it runs make", choices=("once", "session", "no"))

    async def go() -> tuple[str, str]:
        dialog, drawn = Dialog(), asyncio.Event()
        dialog.open(drawn.set, lambda _text: None)
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(dialog.permit(question))
            await asyncio.wait_for(drawn.wait(), 5)
            dialog.answer(typed)
        return asked.result().choice, asked.result().words

    assert asyncio.run(go()) == (choice, words)


def test_numbers_choose_and_words_answer() -> None:
    options = (ask_user.Option(label="red"), ask_user.Option(label="blue"))
    one = ask_user.Question(text="Which?", options=options)
    several = replace(one, several=True)

    assert reply_of(one, "2") == ask_user.Reply(chosen=("blue",))
    assert reply_of(several, "1, 2") == ask_user.Reply(chosen=("red", "blue"))
    assert reply_of(one, "1 2") == ask_user.Reply(words="1 2")
    assert reply_of(one, "9") == ask_user.Reply(words="9")


def completed(root: Path, typed: str) -> list[str]:
    words = Words(root, lambda: [("context", "c"), ("compact", "c"), ("why", "w")], lambda: 0.0)
    return [each.text for each in words.get_completions(Document(typed), CompleteEvent())]


def test_commands_are_completed_behind_a_slash_and_files_behind_an_at(tmp_path: Path) -> None:
    (tmp_path / "src" / "node_modules").mkdir(parents=True)
    (tmp_path / "src" / "parser.py").write_text("")
    (tmp_path / "src" / "node_modules" / "parse.js").write_text("")

    assert completed(tmp_path, "/co") == ["context", "compact"]
    assert completed(tmp_path, "look at @pars") == ["src/parser.py"]
    assert completed(tmp_path, "me@pars") == []


def test_what_git_ignores_is_not_completed_and_the_folder_is_walked_once_for_many_keys(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\nbuilt/\n")
    (tmp_path / "built").mkdir()
    for name in ("parser.py", "parser.log", "built/parser.py"):
        (tmp_path / name).write_text("")
    clock = [0.0]
    words = Words(tmp_path, list, lambda: clock[0])

    def offered() -> list[str]:
        return [each.text for each in words.get_completions(Document("@pars"), CompleteEvent())]

    first = offered()
    (tmp_path / "parsed.py").write_text("")
    second = offered()
    clock[0] = 60.0

    assert (first, second, offered()) == (["parser.py"], ["parser.py"], ["parsed.py", "parser.py"])


PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + b"\0" * 5_000


def picture(data: str) -> tuple[Image, ...]:
    return (Image(source={"type": "base64", "media_type": "image/png", "data": data}),)


def test_a_picture_is_drawn_where_the_terminal_can_and_named_everywhere() -> None:
    content = picture(base64.b64encode(PNG).decode())
    plain, kitty, iterm = (pictures(content, way)[0] for way in ("none", "kitty", "iterm"))

    assert plain == "[picture, image/png, 640 x 480, 5.0 kB]"
    assert kitty.endswith(f"\x1b\\\n{plain}")
    parts = [part.partition(";") for part in kitty.split("\x1b_G")[1:]]
    assert base64.b64decode("".join(part[2].partition("\x1b")[0] for part in parts)) == PNG
    assert [part[0][-3:] for part in parts] == ["m=1", "m=0"]
    assert iterm.startswith(f"\x1b]1337;File=inline=1;size={len(PNG)};height=12;")


@pytest.mark.parametrize("data", ["\x1b[2J", "aGVsbG8=", "", "a\x07\x1b]0;x\x07"])
def test_what_is_no_picture_is_never_sent_to_the_terminal(data: str) -> None:
    assert pictures(picture(data), "kitty") == ("[picture, base64]",)


@pytest.mark.parametrize(
    ("environment", "way"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "none"),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color"}, "none"),
    ],
)
def test_the_environment_says_what_the_terminal_draws(environment: dict[str, str], way: str) -> None:
    assert drawing_of(environment) == way


def test_a_copy_reaches_the_terminal_as_it_is() -> None:
    plain = sequence("a\x1b[2J ü", {})

    assert base64.b64decode(plain.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode() == "a\x1b[2J ü"
    assert sequence("x" * 80_000, {}) == ""
    assert sequence("a", {"TMUX": "1"}).count("\x1b]52;c;YQ==") == 2


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 9))
def test_portions_are_whole_lines_and_together_all(text: str, most: int) -> None:
    parts = [*portions(text, most)]

    assert "\n".join(parts) == text
    assert all(len(part) <= most or "\n" not in part for part in parts)


def test_a_command_of_the_users_gets_what_follows_its_name(tmp_path: Path) -> None:
    (tmp_path / "fix.md").write_text("---\ndescription: mends\n---\nMend $ARGUMENTS, then test.\n")
    (tmp_path / "plain.md").write_text("Do it.\n")

    assert user_command([tmp_path], "fix", "the parser") == "Mend the parser, then test.\n"
    assert user_command([tmp_path], "plain", "now") == "Do it.\n\nnow"
    assert user_command([tmp_path], "../fix", "") is None


def test_a_long_fence_is_drawn_by_its_end_and_printed_whole() -> None:
    put: list[str] = []
    feed = Feed(put.append, lambda: Look(columns=80))
    pieces = ["```python\n", *(f"x = {number}\n" for number in range(5_000))]
    for piece in pieces:
        feed.hear(grew(piece))
    live = feed.live
    feed.hear(grew("```\n"))
    feed.stop()

    assert live.endswith("x = 4999\n")
    assert len(live) <= SEEN
    assert "".join(pieces) + "```" == "".join(put).strip()
