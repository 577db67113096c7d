"""Plan mode: two tools by which the model begins to plan, and asks for its plan to be agreed.

It knows what each of them needs. It must never enforce the mode: permissions do, and whoever runs the session tells
the model of it with `kernel.prompt.plan_mode`. Both tools are there from the start, so that the list never changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import JsonObject, Tool, kind_of
from perdure.kernel.value import value
from perdure.tools.actions import Harmless, Offered
from perdure.tools.failed import ToolFailed

ENTER, EXIT = "enter_plan_mode", "exit_plan_mode"

LONGEST = 40_000
"""Characters of a plan."""

ENTER_PLAN = Tool(
    name=ENTER,
    description=(
        "Asks the user whether you may plan before you change anything: for work that is large, risky or open to "
        "several ways. Once agreed, you may look and not change, until exit_plan_mode is agreed as well."
    ),
    schema={
        "type": "object",
        "properties": {"why": {"type": "string", "description": "why this needs a plan, in a sentence"}},
    },
)

EXIT_PLAN = Tool(
    name=EXIT,
    description=(
        "Shows the user the finished plan and asks whether to begin. Only while plan mode is on. The plan says "
        "what will change, in which files, in which order, how it will be checked and what may go wrong."
    ),
    schema={
        "type": "object",
        "properties": {"plan": {"type": "string", "description": "the whole plan, as Markdown, one step a line"}},
        "required": ["plan"],
    },
)


@value
class Proposal:
    """What the user is asked to agree to. Text of the model: a screen has to show it as such."""

    step: Literal["enter", "exit"]
    text: str
    """Why a plan is needed, or the plan."""


@value
class Verdict:
    """What the user said to it."""

    agreed: bool
    words: str = ""
    """What the user wants changed, or adds."""


Approve: TypeAlias = Callable[[Proposal], Awaitable[Verdict]]


@value
class Planning:
    """The session's side of plan mode."""

    is_on: Callable[[], bool]
    turn: Callable[[bool], None]
    """Turns the mode on or off, which changes what permissions allow from the next call on."""
    approve: Approve | None
    """Asks the user; None where nobody is there."""


def offered(planning: Planning) -> tuple[Offered, Offered]:
    """The two tools."""

    async def enter(given: JsonObject) -> str:
        if planning.is_on():
            return "Plan mode is on already."
        why = given.get("why")
        verdict = await _asked(planning, Proposal(step="enter", text=why.strip() if isinstance(why, str) else ""))
        if not verdict.agreed:
            return _with_words("The user does not want a plan first. Go on with the task itself.", verdict)
        planning.turn(True)
        return _with_words("The user agreed. Plan mode is on: look, change nothing, and end with a plan.", verdict)

    async def leave(given: JsonObject) -> str:
        if not planning.is_on():
            raise ToolFailed("Plan mode is not on, so there is no plan to agree on. Go on with the task itself.")
        verdict = await _asked(planning, Proposal(step="exit", text=plan_of(given)))
        if not verdict.agreed:
            raise ToolFailed(_with_words("The user does not agree with the plan yet. Plan mode stays on.", verdict))
        planning.turn(False)
        return _with_words("The user agreed with the plan. Plan mode is over: begin.", verdict)

    return (
        Offered(tool=AgentTool(definition=ENTER_PLAN, run=enter), actions=lambda _given: (Harmless(),)),
        Offered(tool=AgentTool(definition=EXIT_PLAN, run=leave), actions=lambda _given: (Harmless(),)),
    )


def plan_of(given: JsonObject) -> str:
    """The plan that a call gives.

    Raises:
        ToolFailed: there is none, or it is too long to be read.
    """
    plan = given.get("plan")
    if not isinstance(plan, str) or not plan.strip():
        raise ToolFailed(f"`plan` is {kind_of(plan)}. Give the whole plan as text: it is what the user agrees to.")
    if len(plan) > LONGEST:
        raise ToolFailed(f"The plan has {len(plan):,} characters, which nobody reads; {LONGEST:,} are the most.")
    return plan.strip()


async def _asked(planning: Planning, proposal: Proposal) -> Verdict:
    if planning.approve is not None:
        return await planning.approve(proposal)
    if proposal.step == "enter":
        raise ToolFailed("Nobody is there to agree to a plan: this session runs without a user. Go on with the task.")
    raise ToolFailed(
        "Nobody is there to agree to the plan: this session runs without a user, and only looks. "
        "Give the plan as your answer and end there."
    )


def _with_words(text: str, verdict: Verdict) -> str:
    return f"{text}\nThe user says: {verdict.words.strip()}" if verdict.words.strip() else text
