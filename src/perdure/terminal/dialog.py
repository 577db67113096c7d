"""Questions to the user: permissions, what the model wants to know, plans. One at a time, answered in the input.

It knows how a question reads and what an answer means. It must never take silence, or an answer that it does not
understand, for a yes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from perdure.guard.plain import one_line
from perdure.terminal.plain import clean
from perdure.tools import ask_user
from perdure.tools.permissions import Answer, Choice, Question
from perdure.tools.plan import Proposal, Verdict

LETTERS: Mapping[Choice, str] = {
    "once": "y yes",
    "session": "s for this session",
    "always": "a always",
    "no": "n no, or say what to do instead",
}


class Dialog:
    """Whoever sits in front of the screen."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting: asyncio.Future[str] | None = None
        self._redraw: Callable[[], None] = _nothing
        self._put: Callable[[str], None] = _ignore
        self.shown = ""
        """The question that waits."""

    @property
    def asking(self) -> bool:
        """Whether a question waits for an answer."""
        return self._waiting is not None and not self._waiting.done()

    def open(self, redraw: Callable[[], None], put: Callable[[str], None]) -> None:
        """Tell it how the screen is drawn anew and printed to."""
        self._redraw, self._put = redraw, put

    def answer(self, text: str) -> None:
        """What the user typed."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(text.strip())

    async def permit(self, question: Question) -> Answer:
        """See `Person` of the command line."""
        letters = "  ".join(LETTERS[choice] for choice in question.choices)
        self._put(question.shown)
        said = await self._ask(letters)
        meant: dict[str, Choice] = {"y": "once", "yes": "once", "s": "session", "a": "always", "n": "no", "no": "no"}
        choice = meant.get(said.lower(), "no")
        if choice not in question.choices:
            choice = "no"
        self._put(f"  -> {LETTERS[choice].partition(' ')[2]}" if choice != "no" else "  -> no")
        return Answer(choice=choice, words="" if said.lower() in meant else said)

    async def answer_questions(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """What the model wants to know; None where the user does not want to answer."""
        replies: list[ask_user.Reply] = []
        for question in questions:
            options = [
                f"  {number} {one_line(option.label)}  {one_line(option.means)}"
                for number, option in enumerate(question.options, 1)
            ]
            said = await self._ask(
                "\n".join([clean(question.text), *options, "a number, or words; nothing: no answer"])
            )
            if not said or said.lower() == "n":
                return None
            replies.append(reply_of(question, said))
        return tuple(replies)

    async def approve(self, proposal: Proposal) -> Verdict:
        """Whether a plan is agreed to."""
        self._put(clean(proposal.text))
        said = await self._ask("agree with the plan?  y yes  n no, or say what to change")
        agreed = said.lower() in ("y", "yes")
        return Verdict(agreed=agreed, words="" if agreed or said.lower() in ("n", "no", "") else said)

    async def _ask(self, shown: str) -> str:
        async with self._lock:
            self.shown = shown
            self._waiting = asyncio.get_running_loop().create_future()
            self._redraw()
            try:
                return await self._waiting
            finally:
                self._waiting = None
                self.shown = ""
                self._redraw()


def reply_of(question: ask_user.Question, said: str) -> ask_user.Reply:
    """Numbers choose options; anything else is an answer in words."""
    numbers = said.replace(",", " ").split()
    chosen = [
        question.options[int(number) - 1].label
        for number in numbers
        if number.isdecimal() and 0 < int(number) <= len(question.options)
    ]
    if chosen and len(chosen) == len(numbers) and (question.several or len(chosen) == 1):
        return ask_user.Reply(chosen=tuple(chosen))
    return ask_user.Reply(words=said)


def _nothing() -> None:
    """Nobody draws yet."""


def _ignore(_text: str) -> None:
    """Nobody prints yet."""
