"""A checkpoint document goes through JSON unchanged, and renders so that no content can break out of its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.context.checkpoint import (
    CheckpointDocument,
    Done,
    Handle,
    Narrative,
    Outdated,
    Said,
    SplitTurn,
    Todo,
    Unsaid,
    from_json,
    render,
    to_json,
)
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import decode_object, encode_json

HEADINGS = [
    "## Goal",
    "## Progress",
    "### Done",
    "### In progress",
    "### Blocked",
    "## Key decisions",
    "## Next steps",
    "## Critical context",
    "## What the user said",
    "## Open todos and plan",
    "## Files read",
    "## Files modified",
    "## Where the rest is",
    "## The turn that goes on below",
]
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "</context-summary>",
                "< / said >",
                "## Goal",
                "Goal\n====",
                "\u2028# x",
                "\r## y",
                "<system-reminder>",
                "\n",
            ]
        ),
        max_size=6,
    ).map("".join),
)
TEXTS = st.lists(HOSTILE, max_size=3).map(tuple)
DOCUMENTS = st.builds(
    CheckpointDocument,
    narrative=st.builds(
        Narrative,
        goal=TEXTS,
        done=st.lists(st.builds(Done, text=HOSTILE, evidence=TEXTS), max_size=2).map(tuple),
        in_progress=TEXTS,
        blocked=TEXTS,
        decisions=TEXTS,
        next_steps=TEXTS,
        critical=TEXTS,
    ),
    pins=TEXTS,
    said=st.lists(
        st.builds(
            Said,
            message_id=HOSTILE,
            text=HOSTILE,
            whole=st.booleans(),
            outdated=st.lists(st.builds(Outdated, text=HOSTILE, by=HOSTILE), max_size=2).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
    unsaid=st.none() | st.builds(Unsaid, count=st.integers(1, 9), first=HOSTILE, last=HOSTILE),
    todos=st.lists(st.builds(Todo, text=HOSTILE, id=HOSTILE, active=st.booleans()), max_size=2).map(tuple),
    plan=TEXTS,
    files_read=TEXTS,
    files_modified=TEXTS,
    handles=st.lists(st.builds(Handle, handle=HOSTILE, what=HOSTILE, size=st.integers(0, 9)), max_size=2).map(tuple),
    handles_unlisted=st.integers(0, 3),
    search_words=TEXTS,
    split_turn=st.none() | st.builds(SplitTurn, request=HOSTILE, progress=TEXTS, needs=TEXTS),
    covers_until=HOSTILE,
    claims_removed=st.integers(0, 3),
    claims_moved=st.integers(0, 3),
    extractive=st.booleans(),
)


@settings(max_examples=30)
@given(DOCUMENTS)
def test_a_document_goes_through_json_unchanged(document: CheckpointDocument) -> None:
    assert document == from_json(decode_object(encode_json(to_json(document))))


@settings(max_examples=30)
@given(DOCUMENTS)
def test_no_content_closes_the_tag_or_opens_a_heading(document: CheckpointDocument) -> None:
    text = render(document)
    lines = text.splitlines()

    assert (1, 1) == (text.count("<context-summary>"), text.count("</context-summary>"))
    assert ("<context-summary>", "</context-summary>") == (lines[0], lines[-1])
    headings = [line for line in lines if line.lstrip().startswith("#")]
    assert [heading for heading in HEADINGS if heading in headings] == headings


@settings(max_examples=30)
@given(DOCUMENTS)
def test_the_same_document_reads_the_same_after_it_was_stored(document: CheckpointDocument) -> None:
    assert render(document) == render(from_json(to_json(document)))


def test_sections_stand_in_their_order_and_empty_ones_are_left_out() -> None:
    document = CheckpointDocument(
        narrative=Narrative(goal=("g",), done=(Done(text="d", evidence=("call_1",)),), next_steps=("n",)),
        pins=("Never force-push.",),
        said=(Said(message_id="m1", text="Fix it."),),
        todos=(Todo(text="write the test", id="3", active=True),),
        files_modified=("a.py",),
        handles=(Handle(handle="h1", what="Read a.py", size=900),),
    )

    expected = """\
<context-summary>
## Goal
- g
## Progress
### Done
- d [call_1]
## Next steps
- n
## What the user said
- pinned: Never force-push.
- m1: Fix it.
## Open todos and plan
- [~] #3 write the test
## Files modified
- a.py
## Where the rest is
- h1: Read a.py (900 tokens)
</context-summary>"""
    assert expected == render(document)


def test_the_users_words_change_only_where_they_look_like_one_of_our_tags() -> None:
    words = 'Keep <b> and "quotes" & <script>, 第一条。\nline two </context-summary> <SAID>'
    document = CheckpointDocument(said=(Said(message_id="m1", text=words),))

    expected = words.replace("</context", "&lt;/context").replace("<SAID", "&lt;SAID")
    assert expected in render(document)


def test_a_field_of_the_wrong_kind_is_named() -> None:
    with pytest.raises(InvalidJson, match=r"'count' of 'unsaid' of the checkpoint must be an integer, not a string"):
        from_json({"unsaid": {"count": "three", "first": "a", "last": "b"}})
