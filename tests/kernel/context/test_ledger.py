"""The ledger: only grows, and tells what is in force."""

import pytest

from perdure.kernel.context import Attempt, ClearThinking, ClearToolResult, Ledger, Reason, ReduceOutput, Revert
from perdure.kernel.errors import InvalidMessage


def reason(at: int) -> Reason:
    return Reason(rung="asked", why="asked", at=at, time=None, batch="b")


def cleared(name: str, at: int = 5) -> ClearToolResult:
    return ClearToolResult(
        id=name, reason=reason(at), message_id="m2", tool_use_id="t", content="gone", handle="h", saved=9
    )


def reduced(name: str) -> ReduceOutput:
    return ReduceOutput(
        id=name, reason=reason(3), message_id="m2", tool_use_id="t", content="less", handle="h", saved=3
    )


def test_the_last_edit_on_a_target_wins() -> None:
    assert cleared("e1") == Ledger([reduced("e0"), cleared("e1")]).in_force.lights["m2"]["result:t"]


def test_a_revert_brings_the_edit_before_it_back_into_force() -> None:
    ledger = Ledger([reduced("e0"), cleared("e1"), Revert(id="e2", reason=reason(6), edit_id="e1")])

    assert reduced("e0") == ledger.in_force.lights["m2"]["result:t"]


def test_a_revert_never_brings_thinking_back() -> None:
    thinking = ClearThinking(id="e0", reason=reason(3), message_id="m2", handle="h", saved=1)
    ledger = Ledger([thinking, Revert(id="e1", reason=reason(4), edit_id="e0")])

    assert thinking == ledger.in_force.lights["m2"]["thinking"]


def test_appending_leaves_the_shorter_ledger_as_it_was() -> None:
    before = Ledger([reduced("e0")])
    after = before.append(cleared("e1"))

    assert (1, 2) == (len(before), len(after))
    assert reduced("e0") == before.in_force.lights["m2"]["result:t"]


def test_an_attempt_changes_nothing_that_is_in_force() -> None:
    before = Ledger([reduced("e0")])
    attempt = Attempt(id="e1", reason=reason(4), outcome="model_failed", detail="")

    assert before.in_force is before.append(attempt).in_force


def test_an_id_given_twice_or_an_order_that_goes_back_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="two edits with the id 'e0'"):
        Ledger([reduced("e0"), cleared("e0")])
    with pytest.raises(InvalidMessage, match="behind one planned at 5"):
        Ledger([cleared("e0"), reduced("e1")])


def test_ids_count_on_behind_a_gap() -> None:
    assert [0, 1, 8] == [ledger.next_number for ledger in (Ledger(), Ledger([reduced("e0")]), Ledger([reduced("e7")]))]
