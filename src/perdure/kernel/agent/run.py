"""The loop itself: performs what `step` says comes next, and tells what happens.

It knows the order of effects: a message is recorded before anything is made of it, the engine projects before every
call of the model, and results follow their calls in order. It must never decide where a run goes (`step`) or what a
request holds (the engine). The only file of the kernel that waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from inspect import isawaitable
from itertools import count

from perdure.kernel.agent import answers, events
from perdure.kernel.agent.host import MemoryHost
from perdure.kernel.agent.mend import arguments_of
from perdure.kernel.agent.ports import AgentTool, Answered, Failure, Host, Model, Result, Retrying
from perdure.kernel.agent.setup import Setup
from perdure.kernel.agent.state import Bounds, Signal, State, left, nudged, round_failed, spent
from perdure.kernel.agent.step import step
from perdure.kernel.agent.watch import CacheWatch
from perdure.kernel.cache import bill_of
from perdure.kernel.context import (
    Answer,
    Engine,
    Failed,
    Need,
    Projection,
    Reply,
    Summarize,
    drive_async,
    overhead_of,
)
from perdure.kernel.context.engine import Projecting
from perdure.kernel.errors import Infeasible, Overflow
from perdure.kernel.messages import Message, Response, Text, ToolResult, ToolUse, Transcript, Usage
from perdure.kernel.prompt import remind

Listener = Callable[[events.Event], None]
"""Hears every event, in order, at once. May not raise and may not block."""


class Agent:
    """One conversation with one model."""

    def __init__(self, model: Model, setup: Setup | None = None, host: Host | None = None) -> None:
        """An agent.

        Args:
            model: Answers.
            setup: Tools, system blocks, limits, and the conversation to go on with.
            host: Keeps messages and originals; None: memory does, and a tool to recall from it is added.
        """
        setup = setup or Setup()
        if host is None:
            setup = setup.with_recall((host := MemoryHost()).kept)
        self._tools = {tool.definition.name: tool for tool in setup.tools}
        recall = setup.settings.recall_tool if setup.settings.recall_tool in self._tools else None
        self.transcript: Transcript = setup.transcript
        """Every message so far."""
        self.engine = Engine(
            model.profile,
            replace(setup.settings, recall_tool=recall),
            overhead=overhead_of(model.profile, system=setup.blocks, tools=setup.definitions),
            ledger=setup.ledger,
            ladder=setup.ladder,
        )
        self._model, self._setup, self._host = model, setup, host
        self.watch = CacheWatch(model.profile)
        """What is known of the provider's cache; `resting` says what keeps it warm between runs."""
        self._stopped, self._writing = asyncio.Event(), asyncio.Lock()
        self._listen: Listener = lambda _event: None
        self._state, self._drop_block, self._refused_thinking = State(), False, False
        self._projection: Projection | None = None
        self._rewriting = False
        self._used = answers.call_ids(setup.transcript)
        self._partial: dict[int, Text] = {}
        self._results: dict[str, ToolResult] = {}
        self._steering: list[str] = []
        self._failure: Failure | None = None
        self._error: Infeasible | Overflow | None = None
        self._last: Message | None = None

    def steer(self, text: str) -> None:
        """Say something while the agent works: the model reads it with its next call."""
        self._steering.append(text)

    def charge(self, tokens: int, usd: float | None) -> None:
        """Count against the bounds of the run what a tool spent for it, as a subagent does."""
        self._state = spent(self._state, tokens, usd)

    @property
    def left(self) -> Bounds:
        """How far an agent may go that works for the present run."""
        return left(self._setup.bounds, self._state)

    def interrupt(self) -> None:
        """End the run soon, and leave a conversation that can go on."""
        self._stopped.set()

    async def run(self, text: str | None, listen: Listener | None = None) -> events.AgentEnd:
        """Say something, and let the agent work until the run ends; what happens is told to `listen`.

        None says nothing: the agent goes on where it was cut off.

        Never raises for what a model, a tool, a provider or a host did: the end has a state.
        """
        self._listen = listen or self._listen
        self._state, self._failure, self._error, self._last, self._partial = State(), None, None, None, {}
        self._stopped.clear()
        self._listen(events.AgentStart(model=self._model.profile.id))
        signal = await self._guarded(self._begin(text))
        if signal != "fits":
            self._state = step(self._state, signal, self._setup.bounds)
        while self._state.ended is None:
            signal = await self._until_interrupted(self._perform())
            if signal == "interrupted":
                # What was said stays, and no call is left open.
                signal = await self._guarded(self._close())
            self._state = step(self._state, signal, self._setup.bounds)
        self._listen(end := self._end())
        return end

    async def compact(self, instructions: str = "", listen: Listener | None = None) -> Projection:
        """Fold the history because somebody asked; not to be called while a run goes on."""
        tell = listen or self._listen
        tell(events.CompactionStart(reason="asked"))
        self._rewriting = True
        projection = await drive_async(self.engine.compact(self.transcript, instructions, self._model.now()), self)
        tell(events.outcome_of(projection, "asked"))
        return projection

    async def perform(self, need: Need) -> Answer:
        """What the engine needs: a narrative from the model, everything else from the host."""
        if not isinstance(need, Summarize):
            return await self._host.perform(need)
        if not self._rewriting:
            self._rewriting = True
            self._listen(events.CompactionStart(reason="summary"))
        try:
            async with asyncio.timeout(self._setup.summary_seconds):
                return await self._narrative(need)
        except TimeoutError:
            return Failed(reason=f"no summary came within {self._setup.summary_seconds} s")

    async def _until_interrupted(self, doing: Coroutine[None, None, Signal]) -> Signal:
        """Do it unless an interruption comes first. What is done when both come together counts as done."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._guarded(doing))
            stop = group.create_task(self._stopped.wait())
            await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
            # Not in the middle of a write, of which nobody could say whether it happened.
            async with self._writing:
                work.cancel()
            stop.cancel()
        return "interrupted" if work.cancelled() else work.result()

    async def _guarded(self, doing: Coroutine[None, None, Signal]) -> Signal:
        """An exception of a port ends the run in a state."""
        try:
            return await doing
        # Ports are other people's code, and whatever they raise has to end the run with a name.
        except Exception as error:  # noqa: BLE001
            self._fail(answers.broken(error))
            return "raised"

    async def _begin(self, text: str | None) -> Signal:
        """Take what the user typed, before anything can go wrong with it. Calls that are open came from elsewhere."""
        missing = answers.open_calls(self.transcript)
        if missing:
            results = [answers.failed(call, answers.UNKNOWN) for call in missing]
            await self._take(answers.results_message(self._id(), results, self._model.now()))
        if text is not None:
            await self._say(text)
        return "fits"

    async def _say(self, text: str) -> None:
        """What the user typed, behind what the harness has to tell."""
        await self._tell(text)
        await self._take(answers.said_message(self._id(), text, self._model.now()))

    async def _tell(self, typed: str | None) -> None:
        if self._setup.tell is None:
            return
        told = await self._setup.tell(self.engine.view(self.transcript).messages, typed)
        message = remind(told, id=self._id(), time=self._model.now())
        if message is not None:
            await self._take(message)
            for text in told:
                self._listen(events.Reminder(text=text))

    async def _perform(self) -> Signal:
        match self._state.phase:
            case "project":
                return await self._project()
            case "call":
                return await self._call()
            case "tools":
                return await self._work()
            case _:
                return await self._recover()

    async def _project(self) -> Signal:
        while self._steering:
            await self._say(self._steering[0])
            del self._steering[0]
        if self._state.turns:
            await self._tell(None)
        self.engine.kept_warm(self.watch.warm_until(self.transcript))
        return await self._make(self.engine.project(self.transcript, self._model.now()))

    async def _recover(self) -> Signal:
        said = self._failure.message if self._failure is not None else ""
        return await self._make(self.engine.recover_overflow(self.transcript, said, self._model.now()))

    async def _make(self, entry: Projecting) -> Signal:
        """Run an entry of the engine, and tell what it did."""
        self._rewriting = False
        try:
            projection = await drive_async(entry, self)
        except Infeasible as error:
            self._error = error
            return "cannot_fit"
        self._projection = projection
        # What the provider demanded once it demands again; what edits demand follows from them, also after a resume.
        self._drop_block = self._refused_thinking or "drop_block_needed" in projection.notes
        outcome = events.outcome_of(projection, "asked")
        if outcome.changed and not self._rewriting:
            self._listen(events.CompactionStart(reason=outcome.reason))
        if outcome.changed or self._rewriting:
            self._listen(outcome)
        return "fits"

    async def _call(self) -> Signal:
        """Ask the model; once more with thinking dropped, where that is what stood in the way."""
        signal = await self._ask_once()
        if signal == "no_answer" and self._failure and self._failure.kind == "thinking_bound" and not self._drop_block:
            self._drop_block, self._refused_thinking, self._failure = True, True, None
            signal = await self._ask_once()
        return signal

    async def _ask_once(self) -> Signal:
        projection = self._projection
        if projection is None:
            raise RuntimeError("a call comes after a projection")
        asked = self._setup.question(projection, self._model.profile, drop_block=self._drop_block)
        ask = self.watch.marked(asked, projection, self.transcript, self.engine.ledger, now=self._model.now())
        self.watch.sent(self._model.request(ask))
        self._listen(events.TurnStart(number=self._state.turns + 1, tokens=projection.usage.tokens))
        self._partial = {}
        async with aclosing(self._model.stream(ask)) as stream:
            async for event in stream:
                match event:
                    case Answered(response=response):
                        return await self._answered(response)
                    case Failure():
                        return self._unanswered(event)
                    case Retrying():
                        self._partial = {} if event.shown else self._partial
                        self._listen(events.Trouble(failure=event.failure, retry_in=event.wait, void=event.shown))
                    case _:
                        answers.grow(self._partial, event)
                        self._listen(events.MessageDelta(delta=event))
        return self._unanswered(Failure(kind="cut", message="the model's stream ended without an answer"))

    async def _answered(self, response: Response) -> Signal:
        self._last = message = replace(response.message, id=self._id(), time=self._model.now())
        self._partial, self._results = {}, {}
        if message.usage is not None:
            self._counted(message.usage)
        signal = answers.signal_of(message, self._model.profile.window.tokens)
        if signal in ("too_long", "refused"):
            kind = "overflow" if signal == "too_long" else "refusal"
            said = f"the answer ended with {message.stop_reason!r}"
            return self._unanswered(Failure(kind=kind, message=said, code=message.stop_reason or ""))
        kept = answers.taken(message, signal, self._model.codec.dialect, self._used)
        if kept is not None:
            await self._take(kept)
        if signal == "cut":
            await self._remind(answers.CUT_OFF_NOTE)
        if signal == "said" and (self._steering or await self._objected(message)):
            return "more"
        return signal

    async def _objected(self, message: Message) -> bool:
        """Whether a guard sends the model on."""
        if self._state.nudges >= self._setup.bounds.nudges:
            return False
        for guard in self._setup.guards:
            given = guard(message)
            said = await given if isawaitable(given) else given
            if said:
                self._state = nudged(self._state)
                await self._remind(f"<system-reminder>\n{said}\n</system-reminder>")
                return True
        return False

    async def _remind(self, text: str) -> None:
        await self._take(answers.note_message(self._id(), text, self._model.now()))
        self._listen(events.Reminder(text=text))

    def _unanswered(self, failure: Failure) -> Signal:
        self._fail(failure)
        if failure.kind == "overflow":
            if self._state.recovered:
                self._error = answers.overflow_of(failure, self._projection, self._model.profile)
            return "too_long"
        return "refused" if failure.kind == "refusal" else "no_answer"

    async def _work(self) -> Signal:
        """Run the calls of the last answer. What finished is kept beside, for an interruption."""
        calls = answers.open_calls(self.transcript)
        self._results = {}
        for group in answers.groups_of(calls, self._tools):
            async with asyncio.TaskGroup() as running:
                for call in group:
                    running.create_task(self._use(call))
        results = self._results_of(calls)
        await self._take(results)
        self._state = round_failed(self._state, failed=all(result.is_error for result in results.tool_results))
        return "results"

    async def _use(self, call: ToolUse) -> None:
        self._listen(events.ToolStart(call=call))
        result = answers.refused_result(call, self._tools)
        if result is None:
            self._results[call.id] = answers.failed(call, answers.INTERRUPTED)
            result = await _run(self._tools[call.name], call)
        self._results[call.id] = result
        self._listen(events.ToolEnd(call=call, result=result))

    def _results_of(self, calls: Sequence[ToolUse]) -> Message:
        """One result for each call, in their order."""
        results = [self._results.get(call.id) or answers.failed(call, answers.NOT_RUN) for call in calls]
        return answers.results_message(self._id(), results, self._model.now())

    async def _close(self) -> Signal:
        if self._state.phase == "call" and self._partial:
            rest = answers.interrupted_message(self._id(), self._partial, self._model.profile.id, self._model.now())
            if rest is not None:
                await self._take(rest)
        calls = answers.open_calls(self.transcript)
        if calls:
            await self._take(self._results_of(calls))
        return "interrupted"

    async def _take(self, message: Message) -> None:
        """A message is part of the conversation once its host has it."""
        async with self._writing:
            await self._host.record((message,))
            self.transcript = self.transcript.append(message)
        self._listen(events.MessageEnd(message=message))

    async def _narrative(self, need: Summarize) -> Answer:
        model = self._model if need.extends else self._setup.summarizer or self._model
        ask = self._setup.request_to_summarise(need, drop_block=self._drop_block)
        async with aclosing(model.stream(ask)) as stream:
            async for event in stream:
                match event:
                    case Answered(response=response):
                        if response.message.usage is not None:
                            self._paid(response.message.usage, 0, summary=True)
                        return Reply(message=replace(response.message, id="summary"))
                    case Failure(kind=kind, message=said):
                        return Failed(reason=said, too_long=kind == "overflow")
                    case _:
                        pass
        return Failed(reason="the stream ended without an answer")

    def _counted(self, usage: Usage) -> None:
        seen = self.watch.answered(usage, self._model.codec)
        self._paid(usage, seen.predicted, summary=False)
        if seen.reading is not None and seen.reading.outcome == "break":
            self._listen(events.CacheBreak(reading=seen.reading, where=seen.where, byte=seen.byte))

    def _paid(self, usage: Usage, predicted: int, *, summary: bool) -> None:
        usd = bill_of(usage, self._model.profile).usd
        self._state = spent(self._state, usage.total_tokens, usd)
        purpose = "summary" if summary else "answer"
        self._listen(events.UsageSeen(usage=usage, predicted_read=predicted, usd=usd, purpose=purpose))

    def _fail(self, failure: Failure) -> None:
        self._failure = failure
        self._listen(events.Trouble(failure=failure, retry_in=None, void=bool(self._partial)))

    def _end(self) -> events.AgentEnd:
        state = self._state
        return events.AgentEnd(
            state=state.ended or "broken",
            answer=answers.answer_text(self._last),
            turns=state.turns,
            tokens=state.tokens,
            usd=state.usd if state.usd or self._model.profile.prices is not None else None,
            failure=None if state.ended == "done" else self._failure,
            error=self._error,
        )

    def _id(self) -> str:
        """The next free id: the place in the transcript, unless a conversation that was handed in uses it already."""
        taken = self.transcript.index_of
        return next(name for number in count(len(self.transcript)) if taken(name := f"m{number}") is None)


async def _run(tool: AgentTool, call: ToolUse) -> ToolResult:
    try:
        made: Result | Awaitable[Result] = tool.run(arguments_of(call) or {})
        return ToolResult(tool_use_id=call.id, content=await made if isawaitable(made) else made)
    # A tool is other people's code; what it raises is for the model to read.
    except Exception as error:  # noqa: BLE001
        return answers.raised(call, error)
