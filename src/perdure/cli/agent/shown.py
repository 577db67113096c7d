"""A session on the screen, and another one behind it where the user goes on to one.

It knows how a desk becomes a screen. It must never know a key.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from perdure.cli.agent.opening import Opens, opened
from perdure.cli.agent.place import Place
from perdure.kernel.value import record
from perdure.session.spec import wall_clock
from perdure.terminal.dialog import Dialog
from perdure.terminal.screen import Screen
from perdure.tools import ask_user
from perdure.tools.permissions import Answer, Question
from perdure.tools.plan import Proposal, Verdict


@record(frozen=True)
class Sitting:
    """The screen's dialog as the `Person` that a session asks."""

    dialog: Dialog

    async def permit(self, question: Question) -> Answer:
        """See `Person`."""
        return await self.dialog.permit(question)

    async def answer(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """See `Person`."""
        return await self.dialog.answer_questions(questions)

    async def approve(self, proposal: Proposal) -> Verdict:
        """See `Person`."""
        return await self.dialog.approve(proposal)


async def show(place: Place, resume: Path | None, model: str | None, first: str | None = None) -> int:
    """Show a session, and the ones that the user goes on to, until the user leaves."""
    dialog = Dialog()
    screen = Screen(
        dialog,
        os.environ,
        wall_clock,
        theme=place.settled.text("screen.theme") or "auto",
        thinking=place.settled.flag("screen.thinking"),
    )
    while True:
        async with opened(place, Opens(person=Sitting(dialog), resume=resume, model=model)) as desk:
            for caution in desk.cautions:
                print(f"perdure: {caution}", file=sys.stderr)
            going = f", {len(desk.session.transcript):,} messages" if resume is not None else ""
            print(f"{desk.chosen.name}, {desk.chosen.because}{going}. /help says what there is.")
            leave = await screen.show(desk, first)
            if leave.to is None:
                print(f"go on with: perdure resume {desk.session.id}")
                return 0
            resume, first = (None if leave.to == "new" else leave.to), None
