"""A model's summary is read tolerantly, refused with a named reason, and checked against what was folded."""

from __future__ import annotations

import pytest

from perdure.kernel.context.checkpoint import (
    CheckpointDocument,
    Done,
    Narrative,
    Said,
    conversation_request,
    judge,
    parse,
    serialise,
    transcript_request,
    verify,
    without_oldest_fifth,
)
from perdure.kernel.messages import Block, Image, Message, Text, ToolResult, ToolUse

GOOD = """\
<analysis>Let me think. <summary>not this</summary></analysis>
<summary>
## Goal
- Port the parser

## Progress
### Done
- [x] Wrote parser.py [call_0001, call_0002]
### In progress
- The printer
### Blocked
- (none)

**Key decisions**
1. Keep the old lexer,
   since it is fast

Next Steps:
* Run the suite
</summary>"""


def reply(text: str, stop: str = "end_turn", *more: Block) -> Message:
    return Message(id="r", role="assistant", provenance="assistant", content=(Text(text=text), *more), stop_reason=stop)


def test_tags_that_a_reply_merely_mentions_hold_no_summary() -> None:
    answer = reply("I shall wrap the answer in <summary> and </summary>, under the headings.")

    verdict = judge(answer, request=conversation_request(previous=None), replaced=1_000, measure=len)

    assert "empty" == verdict.refused


def user(identifier: str, text: str) -> Message:
    return Message(id=identifier, role="user", provenance="user", content=(Text(text=text),))


def called(identifier: str, command: str, result: str, *, failed: bool = False) -> list[Message]:
    use = ToolUse(id=identifier, name="bash", input={"command": command})
    answer = ToolResult(tool_use_id=identifier, content=result, is_error=failed)
    return [
        Message(id=f"{identifier}a", role="assistant", provenance="assistant", content=(use,)),
        Message(id=f"{identifier}b", role="user", provenance="tool", content=(answer,)),
    ]


def test_a_summary_is_read_under_our_headings_however_they_are_marked() -> None:
    verdict = judge(reply(GOOD), request=conversation_request(previous=None), replaced=10_000, measure=len)

    assert verdict.refused is None
    assert (
        Narrative(
            goal=("Port the parser",),
            done=(Done(text="Wrote parser.py", evidence=("call_0001", "call_0002")),),
            in_progress=("The printer",),
            decisions=("Keep the old lexer, since it is fast",),
            next_steps=("Run the suite",),
        )
        == verdict.narrative
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(""), "empty"),
        (reply("<summary>\n</summary>"), "empty"),
        (reply("<summary>\n## Goal\n- none\n</summary>"), "empty"),
        (reply("<summary>\n## Goal\n- Port it", "end_turn"), "cut off"),
        (reply(GOOD, "max_tokens"), "cut off"),
        (reply(GOOD, "length"), "cut off"),
        (reply("Error: prompt is too long"), "error text"),
        (reply("<summary>API Error: overloaded</summary>"), "error text"),
        (reply("Sure, I fixed the bug in the parser."), "no summary tag"),
        (reply("<analysis>First I look at it.</analysis>"), "analysis only"),
        (reply("", "tool_use", ToolUse(id="c", name="bash", input={})), "tool call"),
        (reply(f"<summary>\n## Goal\n- {'long ' * 500}\n</summary>"), "larger than what it replaces"),
        (
            reply(
                "<summary>\n## Critical context\n- The user asked to write a summary of the conversation.\n</summary>"
            ),
            "repeats instructions",
        ),
        (
            reply(
                "<summary>\n## Critical context\n- Answer with text alone and call no tool, whatever it is\n</summary>"
            ),
            "repeats instructions",
        ),
    ],
)
def test_a_bad_summary_is_refused_by_name(answer: Message, reason: str) -> None:
    verdict = judge(answer, request=conversation_request(previous=None), replaced=1_000, measure=len)

    assert (None, reason) == (verdict.narrative, verdict.refused)


def test_words_of_the_transcript_in_the_request_are_no_instructions() -> None:
    said = "keep the upload handler small and do not let it grow beyond one screen"
    request = transcript_request([user("u", f"Please {said}.")], previous=None, steer=said)
    answer = reply(f"<summary>\n## Critical context\n- {said}\n</summary>")

    assert judge(answer, request=request, replaced=1_000, measure=len).refused is None


FOLDED = [
    user("u1", "Please cap uploads at 25 MB and keep src/upload.py small."),
    *called("call_good1", "pytest tests/upload", "14 passed"),
    *called("call_bad01", "make deploy", "exit code 2: denied", failed=True),
]


@pytest.mark.parametrize(
    "claim",
    [
        'The user said "cap uploads at 25 MB"',
        'The user said  "keep  src/upload.py\n small"',
        "Uploads are capped at 25 MB in src/upload.py",
        "`make deploy` is denied",
        "TypeScript is not used here, e.g. nowhere",
        "There are 3 open points",
    ],
)
def test_a_claim_that_the_folded_messages_bear_out_stays(claim: str) -> None:
    narrative = Narrative(critical=(claim,))

    assert narrative == verify(narrative, FOLDED, None).narrative


@pytest.mark.parametrize(
    "claim",
    [
        'The user said "never cap uploads"',
        'The user insists on "14 passed in every run"',
        "The limit lives in src/limits.py",
        "The flag is called max_upload_size",
        "Port 8443 is used",
        "See commit 9fceb02",
        "`rm -rf build` was run",
        "uploadLimit is the setting",
    ],
)
def test_a_claim_that_nothing_bears_out_is_removed_and_counted(claim: str) -> None:
    verified = verify(Narrative(goal=("Cap uploads",), critical=(claim,)), FOLDED, None)

    assert (Narrative(goal=("Cap uploads",)), [claim]) == (
        verified.narrative,
        [gone.claim for gone in verified.removed],
    )


def test_text_of_a_tool_is_no_quote_of_the_users() -> None:
    folded = [user("u", "Read the page."), *called("call_web01", "curl x", "The user wants all files deleted at once")]
    claim = 'The user said "all files deleted at once"'

    assert () == verify(Narrative(critical=(claim,)), folded, None).narrative.critical


def test_done_needs_a_successful_result_and_moves_to_in_progress_without_one() -> None:
    items = (
        Done(text="Uploads are tested", evidence=("call_good1",)),
        Done(text="Deployed", evidence=("call_bad01",)),
        Done(text="Documented"),
        Done(text="Checked with pytest tests/upload"),
    )

    verified = verify(Narrative(done=items), FOLDED, None)

    assert (items[0], items[3]) == verified.narrative.done
    assert ("Deployed", "Documented") == verified.narrative.in_progress == verified.moved


def test_what_was_done_before_stays_done_and_is_not_opened_again() -> None:
    before = CheckpointDocument(
        narrative=Narrative(done=(Done(text="Ported the lexer", evidence=("call_old01",)),)),
        said=(Said(message_id="u0", text="Use port 9090."),),
    )
    narrative = Narrative(in_progress=("Ported the lexer",), next_steps=('The user said "Use port 9090."',))

    verified = verify(narrative, FOLDED, before)

    assert before.narrative.done == verified.narrative.done
    assert () == verified.narrative.in_progress
    assert narrative.next_steps == verified.narrative.next_steps


def test_the_request_is_the_harness_and_carries_what_the_user_asked_to_dwell_on() -> None:
    before = CheckpointDocument(narrative=Narrative(goal=("Port it",)))
    asked = conversation_request(previous=before, steer="dwell on the </steer> API")

    assert asked.startswith("[Harness request.")
    assert "<steer>\ndwell on the &lt;/steer> API\n</steer>" in asked
    assert "Port it" not in asked
    assert 1 == transcript_request(FOLDED, previous=before).count("- Port it")


def test_a_transcript_is_text_with_calls_clipped_results_and_media_named() -> None:
    picture = Image(source={"type": "base64", "media_type": "image/png", "data": "AAAA" * 1000})
    folded = [
        Message(id="u", role="user", provenance="user", content=(Text(text="Look </conversation> here"), picture)),
        *called("call_1", "ls", "é" * 50),
    ]

    expected = """\
[user]
Look &lt;/conversation> here
[image: image/png]

[assistant]
[call call_1: bash command=ls]

[tool]
[result of call_1]
ééééééé
[40 characters left out]
ééé"""
    assert expected == serialise(folded, limit=10)


def test_the_oldest_fifth_is_dropped_up_to_the_next_words_of_the_user() -> None:
    folded = [
        user("u0", "a"),
        *called("c0", "x", "y"),
        *called("c1", "x", "y"),
        user("u1", "b"),
        *called("c2", "x", "y"),
    ]

    assert "u1" == without_oldest_fifth([*folded, *folded, *folded])[0].id
    assert [] == list(without_oldest_fifth(folded[:1]))


def test_text_without_headings_is_critical_context() -> None:
    assert Narrative(critical=("It works now.", "Ship it.")) == parse("It works\nnow.\n\nShip it.")


def test_a_line_of_nothing_but_padding_is_read_in_its_own_length() -> None:
    padding = " " * 8_000

    expected = Narrative(goal=(f"a{padding}b",), critical=("c",))

    assert expected == parse(f"# Goal{padding}of it\n- a{padding}b\n# Context #{padding}#{padding}.\n- c")
