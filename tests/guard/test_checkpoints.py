"""No rung of the ladder carries a secret into a checkpoint, and what was said is told all the same."""

import pytest

from perdure.guard import SecretGuard, guarded, redact_document
from perdure.kernel.context import Engine, Ladder, SessionMemory, Settings, drive, with_window
from perdure.kernel.context.checkpoint import CheckpointDocument, Done, Handle, Narrative, Said, SplitTurn, Todo
from perdure.kernel.context.checkpoint.document import to_json
from perdure.kernel.messages import encode_json, text_of
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
PROFILE = with_window(lookup("claude-sonnet-4-6"), 200_000)


@pytest.mark.parametrize("rung", ["session_memory", "full_summary", "extractive"])
def test_what_the_user_typed_is_quoted_without_its_secret(rung: str) -> None:
    talk = Talk().typed(f"Deploy with {TOKEN} and mind the schema.").rounds(40, 9_000)
    memory = SessionMemory(text=f"## Goal\n- Deploy with {TOKEN}.", covers_until=talk.messages[-3].id)
    ports = ScriptedPorts(("good",), memory=memory if rung == "session_memory" else None)
    ladder = Ladder(folds=tuple(strategy for strategy in Ladder().folds if strategy.name == rung))
    engine = Engine(PROFILE, Settings(clear_growth=None), ladder=guarded(ladder, SecretGuard()))
    sent = drive(engine.project(talk.transcript, None), ports)
    told = text_of(sent.messages[0].content)

    assert rung == sent.strategy
    assert TOKEN not in told + repr(engine.ledger.in_force.checkpoint)
    assert f"Deploy with [secret, {talk.messages[0].id}] and mind the schema." in told


def test_every_text_of_a_document_is_redacted_and_every_name_kept() -> None:
    text = f"see {TOKEN}"
    document = CheckpointDocument(
        narrative=Narrative(
            goal=(text,),
            done=(Done(text=text, evidence=("t1",)),),
            in_progress=(text,),
            blocked=(text,),
            decisions=(text,),
            next_steps=(text,),
            critical=(text,),
        ),
        pins=(text,),
        said=(Said(message_id="m1", text=text),),
        todos=(Todo(text=text, id="7"),),
        plan=(text,),
        files_read=(text,),
        files_modified=(text,),
        handles=(Handle(handle="h1", what=text, size=9),),
        search_words=(TOKEN,),
        split_turn=SplitTurn(request=text, progress=(text,), needs=(text,)),
        covers_until="m9",
    )
    clean = encode_json(to_json(redact_document(document, SecretGuard()))).decode()

    assert TOKEN not in clean
    assert 18 == clean.count("[secret")
    assert [] == [name for name in ('"m1"', '"t1"', '"7"', '"h1"', '"m9"') if name not in clean]
