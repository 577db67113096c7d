"""Questions to the user through the editor: permissions, what the model wants to know, plans.

It knows how the protocol asks. It must never take silence, a broken connection or an answer that was not offered for a
yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acp.exceptions import RequestError
from acp.helpers import text_block, tool_content
from acp.schema import AllowedOutcome, PermissionOption, PermissionOptionKind, RequestPermissionResponse, ToolCallUpdate
from pydantic import ValidationError

from perdure.acp import calls
from perdure.acp.feed import Feed
from perdure.acp.outbox import Outbox
from perdure.guard.plain import clip, one_line
from perdure.tools import ask_user
from perdure.tools.failed import ToolFailed
from perdure.tools.permissions import Answer, Choice, Question
from perdure.tools.plan import Proposal, Verdict

OFFERED: dict[Choice, tuple[str, PermissionOptionKind]] = {
    "once": ("Allow", "allow_once"),
    "session": ("Allow for this session", "allow_always"),
    "always": ("Always allow", "allow_always"),
    "no": ("Reject", "reject_once"),
}

NO_ANSWER = "none"


class Client(Protocol):
    """The editor, as far as it is asked."""

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        """Have the user choose."""
        ...


class Asks:
    """Whoever sits in front of the editor. `perdure.acp.port.Person`."""

    def __init__(self, client: Client, feed: Feed, outbox: Outbox) -> None:
        self._client, self._feed, self._outbox = client, feed, outbox
        self.session = ""
        """The id of the session that asks, once it has one."""
        self._asked = 0

    async def permit(self, question: Question) -> Answer:
        """Whether something may be done. What is shown with the call stays, and exactly what would be done is added."""
        behind = self._feed.call_behind(question.tool, "\n".join(question.what))
        text = tool_content(text_block(calls.fenced(question.shown, "")))
        update = ToolCallUpdate(
            tool_call_id=behind[0] if behind is not None else self._name(),
            title=calls.title_of(behind[1]) if behind is not None else clip(one_line(question.tool), calls.TITLE),
            kind=calls.kind_of(question.tool),
            status="pending",
            content=[*(calls.planned(behind[1], self._feed.cwd) if behind is not None else ()), text],
        )
        choices: list[Choice] = [choice for choice in OFFERED if choice in question.choices or choice == "no"]
        options = [
            PermissionOption(option_id=choice, name=OFFERED[choice][0], kind=OFFERED[choice][1]) for choice in choices
        ]
        chosen = await self._ask(update, options)
        for choice in choices:
            if choice == chosen:
                return Answer(choice=choice)
        return Answer(choice="no")

    async def answer(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """What the model wants to know: the protocol lets the user choose, and has no way to ask for words.

        Raises:
            ToolFailed: a question without options.
        """
        if not all(question.options for question in questions):
            raise ToolFailed(
                "The user's editor cannot ask for words. Give each question options, or end your answer with it."
            )
        replies: list[ask_user.Reply] = []
        for question in questions:
            labels = [option.label for option in question.options]
            lines = [f"- **{one_line(option.label)}** {one_line(option.means)}" for option in question.options]
            update = ToolCallUpdate(
                tool_call_id=self._name(),
                title=clip(one_line(question.text), calls.TITLE),
                kind="other",
                status="pending",
                content=[tool_content(text_block("\n".join([question.text, "", *lines])))],
            )
            options = [
                PermissionOption(option_id=str(number), name=one_line(label), kind="allow_once")
                for number, label in enumerate(labels)
            ]
            no = PermissionOption(option_id=NO_ANSWER, name="No answer", kind="reject_once")
            chosen = await self._ask(update, [*options, no])
            if chosen is None or chosen not in {option.option_id for option in options}:
                return None
            replies.append(ask_user.Reply(chosen=(labels[int(chosen)],)))
        return tuple(replies)

    async def approve(self, proposal: Proposal) -> Verdict:
        """Whether a plan is agreed to."""
        entering = proposal.step == "enter"
        update = ToolCallUpdate(
            tool_call_id=self._name(),
            title="Plan before anything is changed?" if entering else "Ready to begin?",
            kind="switch_mode",
            status="pending",
            content=[tool_content(text_block(proposal.text or "It asks to plan first."))],
        )
        options = [
            PermissionOption(option_id="yes", name="Yes, plan first" if entering else "Yes, begin", kind="allow_once"),
            PermissionOption(
                option_id="no", name="No, go on" if entering else "No, go on planning", kind="reject_once"
            ),
        ]
        return Verdict(agreed=await self._ask(update, options) == "yes")

    def _name(self) -> str:
        """An id for a question that no call stands behind."""
        self._asked += 1
        return f"question-{self._asked}"

    async def _ask(self, update: ToolCallUpdate, options: Sequence[PermissionOption]) -> str | None:
        """The id of what was chosen; None where nothing was."""
        await self._outbox.flush()
        try:
            response = await self._client.request_permission(self.session, update, list(options))
        except (RequestError, OSError, ValidationError):
            # An editor that cannot ask, or has gone.
            return None
        outcome = response.outcome
        return outcome.option_id if isinstance(outcome, AllowedOutcome) else None
