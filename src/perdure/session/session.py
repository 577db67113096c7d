"""A session: engine, model, tools, log, archive and memory put together, and one conversation that lasts.

It knows what belongs together and in which order it is opened and closed. It must never plan an edit (the engine does),
nor write a line that people read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from perdure.archive import Archive, Recalled, carry_over, open_archive
from perdure.guard import guarded
from perdure.kernel.agent import (
    Agent,
    AgentEnd,
    CompactionEnd,
    CompactionStart,
    Event,
    MessageEnd,
    Model,
    Setup,
    UsageSeen,
)
from perdure.kernel.agent.answers import open_calls
from perdure.kernel.context import (
    Answer,
    Append,
    Checkpoint,
    Done,
    Edit,
    Ladder,
    Ledger,
    NativeCheckpoint,
    Need,
    Projection,
    Rewritten,
    drive_async,
    overhead_of,
    render,
)
from perdure.kernel.context.checkpoint import serialise
from perdure.kernel.errors import DiskError, RevertRefused, UserError
from perdure.kernel.messages import JsonObject, Message, Text, Transcript, Usage, weigh, weigh_text
from perdure.kernel.tokens import tokens_of
from perdure.kernel.value import value
from perdure.log import (
    Counted,
    Labelled,
    ModelChanged,
    Remembered,
    SessionLog,
    SettingsChanged,
    create_log,
    fork_log,
    open_log,
    state_of,
)
from perdure.providers import Edge, HttpModel, Ping, keep_warm
from perdure.session.background import Background, again_behind, as_of_now
from perdure.session.children import Family, children_of
from perdure.session.cleaning import clean_end, cleaned
from perdure.session.committed import committed, newest_loss
from perdure.session.costs import Costs, Tally
from perdure.session.events import Listener, SessionEvent, SubagentHeard
from perdure.session.host import SessionHost
from perdure.session.listing import title_is_far
from perdure.session.remembering import Notes
from perdure.session.retelling import Retelling
from perdure.session.spec import Bench, Spec
from perdure.session.stored import ENDING, model_in, new_id, path_of, same_tools, started_of, system_in
from perdure.session.telling import Teller
from perdure.session.waiting import KEY, Waiting
from perdure.tools.seen import Seen
from perdure.tools.subagent import Ports

COMPACTION = 90.0
"""Seconds that a compaction may take; then it is given up, and nothing has changed."""


FOLDING = frozenset(("asked", "summary"))
"""Why a rewrite begins that hooks hear of beforehand: light edits are none, and what was prepared beside is done."""

SUMMARY = 75.0
"""Seconds that a model may take for the narrative of one: then code alone writes the checkpoint, within the bound."""


def _hear_nothing(_event: SessionEvent) -> None:
    """Nobody listens."""


@value
class _Opened:
    """A log with what stands in it."""

    log: SessionLog
    archive: Archive
    resumed: bool


class Session:
    """One conversation. Open it with `start` or `resume`, and close it."""

    def __init__(self, spec: Spec, opened: _Opened) -> None:
        """Not to be called: see `start` and `resume`."""
        self.spec, self.log, self.archive = spec, opened.log, opened.archive
        self.seen = Seen(spec.clock)
        self.model = spec.model
        self._listen: Listener = _hear_nothing
        self._running, self._asked_to_compact = False, list[str]()
        self._folding = asyncio.Lock()
        """Held by a compaction between two runs."""
        self._narrative: Usage | None = None
        state = state_of(self.log)
        self.costs = Costs(self.log, state, self.folder / "agents", self.model.profile)
        self.tally = Tally(self.model.profile)
        """Counts of the conversation, for a status."""
        self.title = state.name
        bench = Bench(
            session=self.id,
            archive=self.archive,
            seen=self.seen,
            kept=self.folder,
            transcript=lambda: self.transcript if hasattr(self, "_agent") else state.transcript,
            view=render(state.transcript, state.ledger).messages,
            clock=spec.clock,
            agents=self._children(),
        )
        built = tuple(spec.tools(bench))
        logged = state.started.tools if state.started is not None else ()
        self.tools = same_tools(logged, built)
        git = state.started.git if state.started is not None else None
        self.git = spec.opening.snapshot.text if git is None else git
        """The state of the repository when the session began."""
        self.system = system_in(state) or self._blocks()
        self._teller = Teller(spec)
        self._notes = Notes(spec, self.folder, self._measure_notes, self._noted, self._remembered)
        self._notes.bring_back(state.memory, state.transcript)
        self._retelling = Retelling(spec, self.seen, self._teller, self._measure, lambda: self.transcript)
        self._waiting = Waiting(self.id, self._settle)
        self._waiting.bring_back(self.log, state.settings.get(KEY))
        self._host = SessionHost(
            log=self.log,
            originals=self.archive,
            clock=spec.clock,
            restore=self._retelling.restore,
            memory=self._notes.seed,
            rewritten=self._rewritten,
            edited=self._edited,
        )
        self._cache_key = str(state.settings.get("cache_key") or self.id)
        """Routes requests to the provider's cache: a fork goes on where its origin's prefix is warm."""
        pins = state.settings.get("pins")
        self._ladder = guarded(Ladder(), spec.guard)
        self._background = Background(self._perform, SUMMARY)
        self._agent = self._new_agent(state.transcript, state.ledger)
        self._agent.engine.pins = tuple(str(pin) for pin in pins) if isinstance(pins, list) else ()
        if state.started is None:
            more: JsonObject = {"cwd": str(self._cwd), "cache_key": self.id}
            started = started_of(self.system, self.tools, self.git, self.model.profile.id, more)
            self.log.append(started, spec.clock())
        elif opened.resumed and model_in(state) != self.model.profile.id:
            self.log.append(ModelChanged(model=self.model.profile.id), spec.clock())

    @classmethod
    def start(cls, spec: Spec, session: str | None = None) -> Session:
        """Begin a session.

        Raises:
            DiskError: its log cannot be made.
        """
        name = session or new_id(spec.clock())
        log = create_log(path_of(spec.folder, name), name, spec.clock())
        return cls._made(spec, log, resumed=False)

    @classmethod
    def resume(cls, spec: Spec, path: Path) -> Session:
        """Go on with a session.

        Raises:
            LogLocked: another process has it open.
            DiskError: it cannot be opened, or not for writing.
        """
        return cls._made(spec, open_log(path), resumed=True)

    @property
    def id(self) -> str:
        """Its name on the disk."""
        return self.log.path.name.removesuffix(ENDING)

    @property
    def path(self) -> Path:
        """Its log."""
        return self.log.path

    @property
    def folder(self) -> Path:
        """What belongs to it beside the log."""
        return self.log.path.with_suffix("")

    @property
    def transcript(self) -> Transcript:
        """Every message so far."""
        return self._agent.transcript

    @property
    def agent(self) -> Agent:
        """The loop, for what a screen shows of it."""
        return self._agent

    @property
    def pins(self) -> tuple[str, ...]:
        """What every checkpoint carries first."""
        return self._agent.engine.pins

    @property
    def is_running(self) -> bool:
        """Whether the agent works."""
        return self._running

    async def run(self, text: str | None, listen: Listener | None = None) -> AgentEnd:
        """Say something, and let the agent work; None: go on where it was cut off.

        What was typed meanwhile (`say`) is answered before this returns.

        Raises:
            UserError: the agent works already; use `say`.
        """
        if self._running:
            raise UserError("the agent is at work; say it while it works, or interrupt it first")
        self._running, heard = True, listen or _hear_nothing
        try:
            text = await self._at_rest(text)
            self._listen = heard
            end = await self._agent.run(text, self._hear)
            while end.state == "done" and (self._waiting.queued or self._asked_to_compact):
                await self._compact_if_asked()
                if not self._waiting.queued:
                    break
                end = await self._agent.run(self._waiting.queued[0], self._hear)
            return clean_end(end, self.spec.guard)
        finally:
            self._running = False

    def say(self, text: str) -> None:
        """Say something while the agent works: it reads it with its next call."""
        self._waiting.say(text)
        self._agent.steer(text)

    def queue(self, text: str) -> None:
        """Say something once the agent has finished what it does."""
        self._waiting.queue(text)

    @property
    def queued(self) -> tuple[str, ...]:
        """What waits for the agent to finish."""
        return tuple(self._waiting.queued)

    def unqueue(self) -> str | None:
        """Take back what was queued last."""
        return self._waiting.unqueue()

    def interrupt(self) -> None:
        """End the run soon, and leave a conversation that can go on."""
        self._agent.interrupt()

    async def compact(self, instructions: str = "", listen: Listener | None = None) -> Projection | None:
        """Fold the history; while the agent works, between two of its calls, and None is given.

        Raises:
            TimeoutError: it took longer than `COMPACTION`; nothing has changed.
        """
        if self._running:
            self._asked_to_compact.append(instructions)
            return None
        async with self._folding:
            self._listen = listen or self._listen
            return await self._compact(instructions)

    async def expand(self, edit_id: str | None = None) -> Projection:
        """Take back the newest edit that took something out of the view, or the one of this id.

        Raises:
            RevertRefused: there is none, or the view would not fit.
            UserError: the agent works.
        """
        self._refuse_at_work("an edit is taken back between two runs; interrupt the agent first")
        wanted = edit_id or newest_loss(self._agent.engine.ledger)
        if wanted is None:
            raise RevertRefused("nothing has left the context, so there is nothing to bring back")
        entry = self._agent.engine.revert(self.transcript, wanted, self.spec.clock())
        return await drive_async(entry, self._agent)

    def pin(self, text: str) -> None:
        """Have every checkpoint carry a statement first."""
        self._set_pins((*self.pins, text.strip()))

    def unpin(self, text: str) -> bool:
        """Let a pin go; whether it was there."""
        left = tuple(pin for pin in self.pins if pin != text.strip())
        found = len(left) < len(self.pins)
        if found:
            self._set_pins(left)
        return found

    def rename(self, title: str) -> None:
        """Name the session for people."""
        self.log.append(Labelled(text=title), self.spec.clock())
        self.title = title

    async def use_model(self, model: Model) -> None:
        """Let another model answer from here on; its limits hold at once.

        Raises:
            UserError: the agent works.
        """
        self._refuse_at_work("the model is changed between two runs; interrupt the agent first")
        self.log.append(ModelChanged(model=model.profile.id), self.spec.clock())
        pins, ledger = self.pins, self._agent.engine.ledger
        self.model, self.tally = model, Tally(model.profile)
        self._agent = self._new_agent(self.transcript, ledger)
        self._agent.engine.pins = pins

    def fork(self, at: str | None = None) -> Path:
        """Another session with the conversation up to a message; None: all of it. This one stays as it is.

        Raises:
            UserError: no such message.
            DiskError: it cannot be made.
        """
        name = new_id(self.spec.clock())
        leaf = self.log.leaf
        self._go_to(at)
        try:
            made = fork_log(self.log, path_of(self.path.parent, name), name, self.spec.clock())
        finally:
            self.log.go_to(leaf)
        with made, open_archive(made, guard=self.spec.guard) as archive:
            carry_over(self.archive, archive)
        return made.path

    def rewind(self, to: str) -> None:
        """Go back to a message: what came after it stays in the log, on a branch that is left.

        Raises:
            UserError: no such message, or the agent works.
        """
        self._refuse_at_work("interrupt the agent before you go back")
        self._go_to(to)
        # The leaf of a log is its newest entry; one more makes the earlier message the one that a resume goes on from.
        self.log.append(Labelled(text=self.title), self.spec.clock())
        state = state_of(self.log)
        pins = self.pins
        self._agent = self._new_agent(state.transcript, state.ledger)
        self._agent.engine.pins = pins
        self._background.forget()
        self._notes.go_back(state.memory, state.transcript)
        # An earlier entry may say that what has been answered since is still waiting.
        self._waiting.keep()
        # What was read since stands in no view any more.
        self._retelling.forget()
        self.spec.rewound(self.transcript)

    async def keep_warm(self, model: HttpModel, edge: Edge) -> int:
        """Keep the provider's cache alive between two runs, as long as that pays; to be cancelled when somebody types.

        How many requests it took. `model` is the one that answers; nothing is kept warm before its first answer here.
        """
        resting = self._agent.watch.resting()
        if resting is None or self._running or self._folding.locked():
            return 0
        return await keep_warm(model, resting, edge, self._pinged)

    def recall(self, handle: str) -> Recalled:
        """The original of something that left the view.

        Raises:
            HandleGone: there is none.
        """
        return self.archive.recall(handle)

    async def close(self) -> None:
        """Let go of everything; what was said is durable already."""
        await self._notes.close()
        await self._background.close()
        if self.title and title_is_far(self.log):
            # A list of sessions reads the ends of logs alone.
            with suppress(DiskError):
                self.rename(self.title)
        self.archive.close()
        self.log.close()

    @property
    def _cwd(self) -> Path:
        return self.spec.opening.places.cwd

    @classmethod
    def _made(cls, spec: Spec, log: SessionLog, *, resumed: bool) -> Session:
        try:
            archive = open_archive(log, guard=spec.guard)
        except BaseException:
            log.close()
            raise
        try:
            return cls(spec, _Opened(log=log, archive=archive, resumed=resumed))
        except BaseException:
            archive.close()
            log.close()
            raise

    def _blocks(self) -> tuple[Text, ...]:
        definitions = [tool.definition for tool in self.tools]
        system = self.spec.opening.system("leader", definitions)
        return system.blocks

    def _new_agent(self, transcript: Transcript, ledger: Ledger) -> Agent:
        definitions = [tool.definition for tool in self.tools]
        self.fixed = overhead_of(self.model.profile, system=self.system, tools=definitions)
        """Tokens of tools and system blocks."""
        setup = Setup(
            system=self.system,
            tools=self.tools,
            settings=self.spec.settings,
            bounds=self.spec.bounds,
            guards=self.spec.stop_guards,
            session=self._cache_key,
            longest_answer=self.spec.answer_tokens,
            summarizer=self.spec.summarizer,
            summary_seconds=SUMMARY,
            tell=self._tell,
            ladder=self._ladder,
            transcript=transcript,
            ledger=ledger,
        )
        agent = Agent(self.model, setup, self._host)
        for text in self._waiting.said:
            agent.steer(text)
        return agent

    def _refuse_at_work(self, why: str) -> None:
        if self._running or self._folding.locked():
            raise UserError(why)

    async def _at_rest(self, text: str | None) -> str | None:
        """What a run begins with, once a compaction between two runs is over. What is said meanwhile is durable."""
        if self._folding.locked():
            if text is not None:
                self._waiting.queue(text)
            async with self._folding:
                pass
        last = self.transcript[-1] if self.transcript else None
        if text is None and self._waiting.queued and last is not None and last.role == "assistant":
            # Where no call was cut off, what waited is what to go on with.
            return None if last.tool_uses else self._waiting.queued[0]
        return text

    async def _tell(self, view: Sequence[Message], typed: str | None) -> Sequence[str]:
        await self._compact_if_asked()
        await self._swap_in()
        return await self._teller(view, typed)

    async def _swap_in(self) -> None:
        """Bring what was prepared in the background into force: durable first, then in memory."""
        engine, transcript = self._agent.engine, self.transcript
        prepared = self._background.take(engine, transcript)
        if prepared is None:
            return
        before = engine.usage(transcript).usage.tokens
        after = await again_behind(prepared, transcript, before, self._host)
        provisional = not self.spec.settings.commit_on_project
        checkpoint = as_of_now(prepared, engine.ledger, transcript, after, provisional=provisional)
        if checkpoint.saved <= self._measure(after):
            return
        if isinstance(await self._host.perform(Append(edits=(checkpoint,))), Done):
            engine.sync(transcript, engine.ledger.append(checkpoint))
            size = engine.usage(transcript).usage.tokens
            self._hear(CompactionStart(reason="prepared"))
            self._hear(CompactionEnd(reason="prepared", kind="full", tokens_before=before, tokens_after=size))

    async def _compact_if_asked(self) -> None:
        """Between two calls of the model is where a compaction that was asked for meanwhile belongs."""
        if self._asked_to_compact:
            instructions = "\n".join(filter(None, self._asked_to_compact))
            self._asked_to_compact.clear()
            with suppress(TimeoutError, DiskError):
                await self._compact(instructions)

    async def _compact(self, instructions: str) -> Projection:
        try:
            async with asyncio.timeout(COMPACTION):
                projection = await self._agent.compact(instructions, self._hear)
        except BaseException:
            # Between the durable edit and its answer nobody can say which of them holds: the log does.
            state = state_of(self.log)
            self._agent.engine.sync(state.transcript, state.ledger)
            size = self._agent.engine.usage(self.transcript).usage.tokens
            self._listen(CompactionEnd(reason="given up", kind=None, tokens_before=size, tokens_after=size))
            raise
        return projection

    def _hear(self, event: Event) -> None:
        if isinstance(event, UsageSeen) and event.purpose == "summary":
            self._narrative = event.usage
            self._noted("summary", event)
        elif isinstance(event, UsageSeen):
            self.costs.paid.append(event)
        if isinstance(event, MessageEnd):
            self._waiting.taken(event.message)
            self._notes.consider(self.transcript)
            if self.spec.background and event.message.role == "assistant":
                self._background.consider(self._agent.engine, self._ladder, self.transcript, self.spec.clock())
        if isinstance(event, CompactionStart) and event.reason in FOLDING and self.spec.before_compaction is not None:
            self.spec.before_compaction(event.reason)
        if isinstance(event, CompactionEnd) and event.changed and self.spec.after_compaction is not None:
            self.spec.after_compaction(event.reason)
        self._listen(cleaned(event, self.spec.guard))

    def _pinged(self, ping: Ping) -> None:
        self._agent.watch.pinged(ping.warm_until)
        self._noted("keep warm", UsageSeen(usage=ping.usage, predicted_read=0, usd=ping.usd, purpose="summary"))

    def _children(self) -> Ports:
        """The session's side of subagents; they are made when the first task comes, from what then holds."""
        return children_of(
            self.folder / "agents",
            family=lambda: Family(
                spec=self.spec, session=self.id, system=self.system, git=self.git, bounds=self._agent.left
            ),
            hear=lambda number, event: self._listen(SubagentHeard(number=number, event=event)),
            paid=self._paid_for_child,
        )

    def _paid_for_child(self, event: UsageSeen) -> None:
        self.costs.paid.append(event)
        self._agent.charge(event.usage.total_tokens, event.usd)

    def _noted(self, what: str, event: UsageSeen) -> None:
        """A call that answered no request of the conversation. What it cost is worth no failure."""
        self.costs.paid.append(event)
        self.costs.aside(event, self.spec.clock())
        with suppress(DiskError):
            self.log.append(Counted(what=what, usage=event.usage, model=self.model.profile.id), self.spec.clock())

    def _remembered(self, entry: Remembered) -> None:
        self.log.append(entry, self.spec.clock())

    def _rewritten(self, need: Rewritten) -> None:
        """Nothing: the loop tells of rewrites, and the log has the edits."""

    def _edited(self, edits: Sequence[Edit]) -> None:
        """A commit makes a baseline, and a fold takes with it what the model knew of files.

        The edits are durable and hold already, so that nothing here may fail.
        """
        engine = self._agent.engine
        tokens = engine.usage(self.transcript).usage.tokens
        for entry in committed(edits, engine.ledger, tokens, self._narrative):
            with suppress(DiskError):
                self.log.append(entry, self.spec.clock())
        if any(isinstance(edit, Checkpoint | NativeCheckpoint) for edit in edits):
            self._narrative = None
            self._retelling.folded()

    def _measure(self, messages: Sequence[Message]) -> int:
        return sum(tokens_of(weigh(message), self.model.profile) for message in messages)

    def _measure_notes(self, messages: Sequence[Message]) -> int:
        """Tokens of messages as the session memory is told of them, where long results are clipped."""
        return tokens_of(weigh_text(serialise(messages)), self.model.profile)

    async def _perform(self, need: Need) -> Answer:
        return await self._agent.perform(need)

    def _settle(self, settings: JsonObject) -> None:
        self.log.append(SettingsChanged(settings=settings), self.spec.clock())

    def _set_pins(self, pins: tuple[str, ...]) -> None:
        self._settle({"pins": [*pins]})
        self._agent.engine.pins = pins

    def _go_to(self, message_id: str | None) -> None:
        if message_id is None:
            return
        transcript = self.transcript
        place = transcript.index_of(message_id)
        if place is not None and open_calls(transcript[: place + 1]) and place + 1 < len(transcript):
            # A call without its result is no place to go on from: the results go with it.
            message_id = transcript[place + 1].id
        entry = self.log.entry_of(message_id)
        if entry is None:
            raise UserError(f"there is no message {message_id[:80]!r} on this branch; `perdure show` lists them")
        self.log.go_to(entry)
