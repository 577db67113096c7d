"""A session line by line: for terminals without a screen of their own, and for people who want none.

It knows lines. It must never move a cursor. What a model or a tool wrote is printed without what would steer a
terminal.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from perdure.cli.agent.hints import hint_of
from perdure.cli.agent.opening import Desk, Opens, opened
from perdure.cli.agent.place import Place
from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import CompactionEnd, MessageDelta, MessageEnd, ToolEnd, ToolStart, Trouble
from perdure.kernel.errors import PerdureError
from perdure.kernel.wire import BlockGrew
from perdure.session import SessionEvent
from perdure.tools import ask_user
from perdure.tools.permissions import Answer, Choice, Question
from perdure.tools.plan import Proposal, Verdict

WIDTH = 100
"""Characters of a line about a tool."""

HELP = """\
/compact [what to keep]   fold the history now
/expand                   take the newest edit of the context back
/mode ask|accept_edits|plan|full
/model NAME               let another model answer
/pin TEXT                 every checkpoint carries this first
/quit                     leave; the session can be resumed"""


class Lines:
    """Somebody who reads and writes lines. `perdure.cli.agent.opening.Person`."""

    async def permit(self, question: Question) -> Answer:
        """See `Person`."""
        print(f"\n{question.shown}")
        said = (await _asked("allow? [y]es, for this [s]ession, [a]lways, [n]o: ")).strip().lower()
        choices: dict[str, Choice] = {"y": "once", "yes": "once", "s": "session", "a": "always"}
        return Answer(choice=choices.get(said, "no"), words="" if said in ("n", "no", "") else said)

    async def answer(self, questions: tuple[ask_user.Question, ...]) -> tuple[ask_user.Reply, ...] | None:
        """See `Person`."""
        replies: list[ask_user.Reply] = []
        for question in questions:
            print(f"\n{one_line(question.text)}")
            for number, option in enumerate(question.options, 1):
                print(f"  {number}. {one_line(option.label)}  {one_line(option.means)}")
            said = (await _asked("answer: ")).strip()
            if not said:
                return None
            replies.append(_reply(question, said))
        return tuple(replies)

    async def approve(self, proposal: Proposal) -> Verdict:
        """See `Person`."""
        print("\n".join(one_line(line) for line in proposal.text.splitlines()))
        said = (await _asked("agree? [y]es, or what to change: ")).strip()
        agreed = said.lower() in ("y", "yes")
        return Verdict(agreed=agreed, words="" if agreed else said)


async def talk(place: Place, resume: Path | None, model: str | None) -> int:
    """Talk until the user leaves."""
    async with opened(place, Opens(person=Lines(), resume=resume, model=model)) as desk:
        for caution in desk.cautions:
            print(f"perdure: {caution}", file=sys.stderr)
        print(f"{desk.chosen.name}, {desk.chosen.because}. /help says what there is.")
        while True:
            try:
                typed = (await _asked("\n> ")).strip()
            except (EOFError, KeyboardInterrupt):
                break
            if typed in ("/quit", "/exit"):
                break
            if typed:
                await _answer(desk, typed)
        print(f"go on with: perdure resume {desk.session.id}")
    return 0


async def _answer(desk: Desk, typed: str) -> None:
    try:
        if typed.startswith("/"):
            await _command(desk, typed)
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, desk.session.interrupt)
        try:
            end = await desk.session.run(typed, _show)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        if end.state != "done":
            print(f"\n[ended as {end.state}] {hint_of(end)}".rstrip())
    except PerdureError as error:
        print(f"perdure: {error}", file=sys.stderr)


async def _command(desk: Desk, typed: str) -> None:
    name, _, rest = typed.partition(" ")
    session, rest = desk.session, rest.strip()
    match name:
        case "/compact":
            await session.compact(rest, _show)
        case "/expand":
            result = await session.expand()
            print(f"[the context has {result.tokens_after:,} tokens]")
        case "/mode" if rest in ("ask", "accept_edits", "plan", "full"):
            desk.turn(rest)
        case "/model" if rest:
            print(await desk.use_model(rest))
        case "/pin" if rest:
            session.pin(rest)
        case _:
            print(HELP)


def _show(event: SessionEvent) -> None:
    match event:
        case MessageDelta(delta=BlockGrew(kind="text", piece=piece)):
            print("\n".join(one_line(line) for line in piece.split("\n")), end="", flush=True)
        case MessageEnd(message=message) if message.role == "assistant":
            print()
        case ToolStart(call=call):
            given = next((value for value in call.input.values() if isinstance(value, str)), "")
            print(f"  {clip(one_line(f'{call.name} {given}'), WIDTH)}")
        case ToolEnd(call=call, result=result) if result.is_error:
            print(f"  {call.name} failed: {clip(one_line(str(result.content)), WIDTH)}")
        case CompactionEnd(changed=True):
            print(f"  [context {event.kind}: {event.tokens_before:,} to {event.tokens_after:,} tokens]")
        case CompactionEnd():
            print("  [nothing could be folded]")
        case Trouble(failure=failure, retry_in=retry_in):
            print(f"  [{failure.kind}: {one_line(failure.message)}{', trying again' if retry_in is not None else ''}]")
        case _:
            pass


def _reply(question: ask_user.Question, said: str) -> ask_user.Reply:
    """Numbers choose options; anything else is an answer in words."""
    numbers: Sequence[str] = said.replace(",", " ").split()
    chosen: list[str] = []
    for number in numbers:
        with suppress(ValueError, IndexError):
            if int(number) > 0:
                chosen.append(question.options[int(number) - 1].label)
    if len(chosen) == len(numbers):
        return ask_user.Reply(chosen=tuple(chosen))
    return ask_user.Reply(words=said)


async def _asked(prompt: str) -> str:
    """A line of the user's, read beside the loop so that what runs goes on."""
    return await asyncio.to_thread(input, prompt)
