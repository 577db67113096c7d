"""Every kind of edit comes back from its stored form equal, so that a resumed session renders the same bytes."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.context import (
    Attempt,
    Checkpoint,
    ClearThinking,
    ClearToolInput,
    ClearToolResult,
    Commit,
    Edit,
    Engine,
    Ledger,
    NativeCheckpoint,
    PrefixChange,
    Reason,
    ReduceOutput,
    Revert,
    Rung,
    TrimText,
    Why,
    drive,
    overhead_of,
    render,
)
from perdure.kernel.context.checkpoint import CheckpointDocument, Done, Narrative, Said
from perdure.kernel.context.edits import Outcome
from perdure.kernel.context.persist import edit_from_json, edit_to_json
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import Compaction, Json, Message, Text, Transcript, decode_json, encode_json
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.sessions import Scenario, generate

WORDS = st.text(max_size=10)
COUNTS = st.integers(0, 10**7)
REASONS = st.builds(
    Reason,
    rung=st.sampled_from(get_args(Rung)),
    why=st.sampled_from(get_args(Why)),
    at=COUNTS,
    time=st.none() | st.floats(0, 1e12),
    batch=WORDS,
)
AFTER = st.lists(
    st.builds(
        Message,
        id=WORDS,
        role=st.just("user"),
        content=st.lists(st.builds(Text, text=WORDS), max_size=2).map(tuple),
        provenance=st.just("harness"),
    ),
    max_size=2,
).map(tuple)
DOCUMENTS = st.builds(
    CheckpointDocument,
    narrative=st.builds(Narrative, goal=st.lists(WORDS, max_size=2).map(tuple), done=st.just((Done(text="built"),))),
    said=st.just((Said(message_id="m1", text="use tabs"),)),
    covers_until=WORDS,
)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(
        ReduceOutput,
        id=WORDS,
        reason=REASONS,
        message_id=WORDS,
        tool_use_id=WORDS,
        content=WORDS,
        handle=WORDS,
        saved=COUNTS,
    ),
    st.builds(
        ClearToolResult,
        id=WORDS,
        reason=REASONS,
        message_id=WORDS,
        tool_use_id=WORDS,
        content=WORDS,
        handle=WORDS,
        saved=COUNTS,
    ),
    st.builds(
        ClearToolInput,
        id=WORDS,
        reason=REASONS,
        message_id=WORDS,
        tool_use_id=WORDS,
        input=st.dictionaries(WORDS, WORDS | st.none(), max_size=3),
        handle=WORDS,
        saved=COUNTS,
    ),
    st.builds(ClearThinking, id=WORDS, reason=REASONS, message_id=WORDS, handle=WORDS, saved=COUNTS),
    st.builds(
        TrimText, id=WORDS, reason=REASONS, message_id=WORDS, block=COUNTS, content=WORDS, handle=WORDS, saved=COUNTS
    ),
    st.builds(
        Checkpoint,
        id=WORDS,
        reason=REASONS,
        covers_until=WORDS,
        content=WORDS,
        document=DOCUMENTS,
        after=AFTER,
        provisional=st.booleans(),
        split_turn=st.booleans(),
        handle=WORDS,
        tokens_before=COUNTS,
        saved=COUNTS,
    ),
    st.builds(
        NativeCheckpoint,
        id=WORDS,
        reason=REASONS,
        covers_until=WORDS,
        block=st.builds(Compaction, content=st.none() | WORDS, encrypted_content=st.none() | WORDS),
        document=DOCUMENTS,
        after=AFTER,
        provisional=st.booleans(),
        handle=WORDS,
        tokens_before=COUNTS,
        saved=COUNTS,
    ),
    st.builds(Commit, id=WORDS, reason=REASONS, edit_id=WORDS),
    st.builds(
        PrefixChange,
        id=WORDS,
        reason=REASONS,
        part=st.sampled_from(["tools", "system"]),
        overhead=COUNTS,
        rewritten=COUNTS,
    ),
    st.builds(Revert, id=WORDS, reason=REASONS, edit_id=WORDS),
    st.builds(
        Attempt,
        id=WORDS,
        reason=REASONS,
        outcome=st.sampled_from(get_args(Outcome)),
        detail=WORDS,
        rests_until=COUNTS,
    ),
)


@given(EDITS)
def test_every_edit_comes_back_equal(edit: Edit) -> None:
    assert edit == edit_from_json(decode_json(encode_json(edit_to_json(edit))))


def test_a_stored_ledger_renders_the_same_view() -> None:
    session = generate(5, Scenario(requests=120, turns=6, tokens=150_000))
    # The generated counts are those of a session that never folded anything.
    transcript = Transcript(message.counted(None) for message in session.transcript)
    profile = lookup("claude-sonnet-4-5")
    engine = Engine(profile, overhead=overhead_of(profile, system=session.system, tools=session.tools))
    ports = ScriptedPorts(("good",))
    so_far = Transcript()
    for message in transcript:
        if message.role == "assistant":
            drive(engine.project(so_far, message.time), ports)
        so_far = so_far.append(message)
    drive(engine.compact(so_far, "mind the tests", None), ports)
    stored = [encode_json(edit_to_json(edit)) for edit in engine.ledger]
    ledger = Ledger(edit_from_json(decode_json(line)) for line in stored)

    assert {"reduce_output", "checkpoint"} <= {str(edit_to_json(edit)["kind"]) for edit in ledger}
    assert engine.ledger == ledger
    assert render(transcript, engine.ledger).messages == render(transcript, ledger).messages


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ({"kind": "vanish"}, "no edit of the kind 'vanish'"),
        ({"kind": "commit", "id": "e1", "reason": None, "edit_id": "e0"}, "'reason' of the edit"),
        ({"kind": "commit", "id": 7}, "'id' of the edit must be a string"),
        ([], "the edit must be an object"),
    ],
)
def test_a_damaged_edit_is_named(stored: Json, named: str) -> None:
    with pytest.raises(InvalidJson, match=named):
        edit_from_json(stored)
