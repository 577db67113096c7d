"""What was made with reasoning that is gone stands for itself."""

from perdure.kernel.context import ClearThinking, Ledger, Reason, render
from perdure.kernel.messages import JsonObject, Transcript
from perdure.kernel.wire import RESPONSES
from perdure.kernel.wire.responses import unpaired

ANSWER: list[JsonObject] = [
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"},
    {
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Look.", "annotations": []}],
    },
    {
        "id": "fc_1",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "read",
        "arguments": "{}",
    },
]


def test_items_lose_their_ids_and_nothing_else_with_the_reasoning() -> None:
    (message,) = RESPONSES.decode_messages(ANSWER)
    reason = Reason(rung="editing", why="asked", at=1, time=None, batch="b1")
    edit = ClearThinking(id="e1", reason=reason, message_id=message.id, handle="h1", saved=1)
    view = render(Transcript((message,)), Ledger((edit,)))
    wanted = [{name: value for name, value in item.items() if name != "id"} for item in ANSWER[1:]]

    assert wanted == RESPONSES.encode_messages(view.messages)


def test_what_kept_its_reasoning_goes_back_with_its_ids() -> None:
    assert ANSWER == RESPONSES.encode_messages(RESPONSES.decode_messages(ANSWER))


def test_what_has_no_id_stays_the_same_value() -> None:
    (message,) = RESPONSES.decode_messages(ANSWER)
    bare = unpaired(message.content)

    assert bare == unpaired(bare)
    assert all(one is other for one, other in zip(bare, unpaired(bare), strict=True))
