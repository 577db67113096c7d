"""Plan mode begins and ends only with the user's word."""

import asyncio
from collections.abc import Awaitable
from typing import cast

import pytest

from perdure.kernel.messages import JsonObject
from perdure.tools.failed import ToolFailed
from perdure.tools.plan import Approve, Planning, Proposal, Verdict, offered

PLAN: JsonObject = {"plan": "1. Warm the pot\n2. Brew"}


class Session:
    """What a session holds of plan mode."""

    def __init__(self, *, planning: bool = False, verdict: Verdict | None = None) -> None:
        self.planning, self.asked = planning, list[Proposal]()

        async def approve(proposal: Proposal) -> Verdict:
            self.asked.append(proposal)
            return verdict or Verdict(agreed=True)

        self.approve: Approve | None = approve

    def turn(self, planning: bool) -> None:
        self.planning = planning

    def call(self, place: int, given: JsonObject) -> str:
        async def go() -> str:
            tools = offered(Planning(is_on=lambda: self.planning, turn=self.turn, approve=self.approve))
            return await cast("Awaitable[str]", tools[place].tool.run(given))

        try:
            return asyncio.run(go())
        except ToolFailed as error:
            return f"Error: {error}"

    def enter(self) -> str:
        return self.call(0, {"why": "It is large."})

    def leave(self, given: JsonObject = PLAN) -> str:
        return self.call(1, given)


def test_planning_begins_when_the_user_agrees() -> None:
    session = Session()

    assert session.enter().startswith("The user agreed. Plan mode is on")
    assert (True, [Proposal(step="enter", text="It is large.")]) == (session.planning, session.asked)


def test_planning_does_not_begin_when_the_user_does_not_want_it() -> None:
    session = Session(verdict=Verdict(agreed=False, words="Just do it."))

    assert session.enter().endswith("Go on with the task itself.\nThe user says: Just do it.")
    assert session.planning is False


def test_planning_ends_when_the_user_agrees_with_the_plan() -> None:
    session = Session(planning=True, verdict=Verdict(agreed=True, words="Use the red pot."))

    said = session.leave()

    assert "The user agreed with the plan. Plan mode is over: begin.\nThe user says: Use the red pot." == said
    assert (False, "1. Warm the pot\n2. Brew") == (session.planning, session.asked[0].text)


def test_a_plan_that_is_not_agreed_is_an_error_with_the_users_words_and_planning_goes_on() -> None:
    session = Session(planning=True, verdict=Verdict(agreed=False, words="No milk."))

    assert "Error: The user does not agree with the plan yet. Plan mode stays on.\nThe user says: No milk." == (
        session.leave()
    )
    assert session.planning is True


def test_a_plan_outside_of_plan_mode_is_refused() -> None:
    assert Session().leave().startswith("Error: Plan mode is not on")


def test_entering_twice_asks_nobody() -> None:
    session = Session(planning=True)

    assert ("Plan mode is on already.", []) == (session.enter(), session.asked)


@pytest.mark.parametrize("given", [{}, {"plan": " "}, {"plan": 3}, {"plan": "x" * 40_001}])
def test_a_plan_that_nobody_could_read_reaches_nobody(given: JsonObject) -> None:
    session = Session(planning=True)

    assert ("Error: ", []) == (session.leave(given)[:7], session.asked)


def test_without_a_user_neither_happens() -> None:
    idle, planning = Session(), Session(planning=True)
    idle.approve = planning.approve = None

    assert ["Error: Nobody is there", "Error: Nobody is there"] == [idle.enter()[:22], planning.leave()[:22]]
    assert (False, True) == (idle.planning, planning.planning)
