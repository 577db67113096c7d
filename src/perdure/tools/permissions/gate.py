"""The gate that every call of a tool passes: looked into, judged, asked about where a person is there, and only then
carried out.

It knows when to ask and what to remember. It must never know how a question is shown, and never let a call go for want
of an answer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from perdure.guard.plain import clip, one_line
from perdure.guard.reading import Caution
from perdure.kernel.agent import AgentTool, Result
from perdure.kernel.errors import DiskRefused
from perdure.kernel.messages import JsonObject, Text
from perdure.kernel.value import record, value
from perdure.project import Places
from perdure.project.settings import Settled
from perdure.tools.actions import Action, Harmless, Offered
from perdure.tools.failed import ToolFailed
from perdure.tools.hooks import Hooks, hooks_of, with_hooks
from perdure.tools.permissions.approvals import NAME, add_approvals, read_approvals
from perdure.tools.permissions.below import Depth, deepened
from perdure.tools.permissions.decide import Choice, Mode, Policy, Verdict, judge
from perdure.tools.permissions.effects import Wish
from perdure.tools.permissions.paths import Ground, ground_of, lending
from perdure.tools.permissions.rules import Rule, parse_rules, place_of
from perdure.tools.permissions.wishes import wish_of
from perdure.tools.sandbox import Walls, confining, walls_of

LINES = 40
"""Lines of a command that a question shows."""
WIDTH = 400
"""Characters of a line."""


@value
class Question:
    """What a person is asked before something is done."""

    tool: str
    """The tool that the model calls."""
    what: tuple[str, ...]
    """Exactly what would be done, one thing each. Texts of the model: a screen has to show them as such."""
    why: str
    """Why it is asked about."""
    choices: tuple[Choice, ...]
    """What may be answered. `session` and `always` hold for exactly what is shown, and for nothing else."""

    @property
    def shown(self) -> str:
        """All of it as lines without what would steer a terminal."""
        rows = [one_line(row) for what in self.what for row in what.split("\n")]
        cut = [f"… {len(rows) - LINES:,} more lines"] if len(rows) > LINES else []
        told = [f"  {clip(row, WIDTH)}" for row in (*rows[:LINES], *cut)]
        return "\n".join([f"{one_line(self.tool)} wants to:", *told, f"({one_line(self.why)})"])


@value
class Answer:
    """What the person said."""

    choice: Choice
    words: str = ""
    """What the model should do instead, or know."""


Ask = Callable[[Question], Awaitable[Answer]]


@record(kw_only=True)
class Gate:
    """Permissions of one session."""

    mode: Mode
    """May be changed at any time; the next call is judged by it."""
    roots: tuple[Path, ...]
    """Folders that may be worked in, the root of the project first."""
    confine: Callable[[Sequence[str], Path], Sequence[str]] | None = None
    """Puts a command into the sandbox; None where none is asked for."""
    cautions: tuple[Caution, ...] = ()
    """What was wrong with what is kept."""
    ground: Ground
    rules: Policy
    """The rules, and what was approved for good when the session began."""
    ask: Ask | None
    approvals: Path
    hooks: Hooks = field(default_factory=Hooks)
    """The user's own commands around each call."""
    session: set[str] = field(default_factory=set[str])
    stored: set[str] = field(default_factory=set[str])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def permit(self, tool: str, actions: Sequence[Action], depth: Depth = "all") -> str:
        """Let a call go, or not, and give the words of the person who let it go. A question waits until the one before
        it is answered. `depth` is how the tool reads a folder that it is given.

        Raises:
            ToolFailed: it may not be carried out; the text says why, and what can be done.
        """
        todo = [action for action in actions if not isinstance(action, Harmless)]
        if not todo or not self._open(await self._wishes(todo, depth)):
            return ""
        async with self.lock:
            # The answer before may have covered it, and the disk may have changed while it waited.
            wishes = await self._wishes(todo, depth)
            pending = self._open(wishes)
            if not pending:
                return ""
            answer = await self._asked(tool, pending)
            if await self._wishes(todo, depth) != wishes:
                raise ToolFailed("Not permitted: what it touches changed while the user was asked. Look again.")
            # A mode that was turned meanwhile may deny it.
            self._open(wishes)
            self._keep([wish.name for wish, _verdict in pending], answer.choice)
            return answer.words.strip()

    async def _wishes(self, actions: Sequence[Action], depth: Depth) -> tuple[Wish, ...]:
        rules = (*self.rules.deny, *self.rules.ask)
        return await asyncio.to_thread(
            lambda: tuple(deepened(wish_of(action, self.ground), rules, self.ground, depth) for action in actions)
        )

    def _open(self, wishes: Sequence[Wish]) -> list[tuple[Wish, Verdict]]:
        """What has to be asked.

        Raises:
            ToolFailed: something is denied.
        """
        policy = replace(self.rules, mode=self.mode, session=frozenset(self.session), stored=frozenset(self.stored))
        judged = [(wish, judge(wish, policy)) for wish in wishes]
        for _wish, verdict in judged:
            if verdict.decision == "deny":
                raise ToolFailed(f"Not permitted: {one_line(verdict.why)}. Nothing was done.")
        return [(wish, verdict) for wish, verdict in judged if verdict.decision == "ask"]

    async def _asked(self, tool: str, pending: Sequence[tuple[Wish, Verdict]]) -> Answer:
        """Ask the person. An answer that was not offered counts for this once.

        Raises:
            ToolFailed: there is none, or the answer is no.
        """
        why = "; ".join(dict.fromkeys(verdict.why for _wish, verdict in pending))
        if self.ask is None:
            opens = "; ".join(dict.fromkeys(verdict.opens for _wish, verdict in pending if verdict.opens))
            raise ToolFailed(_nobody(why, opens))
        choices = min((verdict.choices for _wish, verdict in pending), key=len)
        question = Question(tool=tool, what=tuple(wish.name for wish, _verdict in pending), why=why, choices=choices)
        answer = await self.ask(question)
        words = f" The user says: {answer.words.strip()}" if answer.words.strip() else ""
        if answer.choice == "no":
            raise ToolFailed(f"The user does not permit it ({one_line(why)}). Nothing was done.{words}")
        return answer if answer.choice in choices else replace(answer, choice="once")

    def _keep(self, names: Sequence[str], choice: Choice) -> None:
        if choice in ("session", "always"):
            self.session.update(names)
        if choice == "always":
            try:
                self.stored.update(add_approvals(self.approvals, names))
            except DiskRefused as error:
                # It holds for this session, which is what the person can see.
                self.cautions = (*self.cautions, Caution(place=str(self.approvals), what=str(error)))


def gate_of(settled: Settled, places: Places, environment: Mapping[str, str], *, ask: Ask | None) -> Gate:
    """The gate that settings ask for. `ask` is None where nobody can be asked: then whatever would be asked is denied.

    Raises:
        UserError: a rule is no rule.
    """
    home = Path(environment.get("HOME") or Path.home())
    roots = tuple(
        dict.fromkeys((places.root, *(_root(text, places, home) for text in settled.texts("permissions.roots"))))
    )
    own = (places.home, places.own)
    ground = lending(
        ground_of(places.root, roots, home, own),
        (places.memory, places.user_memory),
        (places.kept / "sessions", places.home / "skills"),
    )
    approvals = places.kept / NAME
    approved = read_approvals(approvals)
    allow, asked, deny = (
        parse_rules(settled.texts(name), f"{settled.source(name)}: {name}")
        for name in ("permissions.allow", "permissions.ask", "permissions.deny")
    )
    mode = _mode(settled.text("permissions.mode"))
    confine = None
    if settled.flag("permissions.sandbox"):
        network = settled.flag("permissions.network")
        confine = confining(lambda: _walls(ground, own, deny, network=network), environment.get("PATH"))
    return Gate(
        mode=mode,
        roots=roots,
        confine=confine,
        cautions=(approved.caution,) if approved.caution is not None else (),
        ground=ground,
        rules=Policy(mode=mode, ground=ground, allow=allow, ask=asked, deny=deny),
        ask=ask,
        approvals=approvals,
        hooks=hooks_of(settled, places.cwd, environment),
        stored=set(approved.names),
    )


def gated(offered: Offered, gate: Gate) -> AgentTool:
    """A tool whose calls pass the gate before they are carried out."""
    name, run = offered.tool.definition.name, offered.tool.run

    async def permitted(given: JsonObject) -> Result:
        # Hooks come first: what they do to the disk is seen by whoever judges.
        before = await gate.hooks.before(name, given)
        if before.objection:
            raise ToolFailed(f"A hook of the user objects, and nothing was done: {before.objection}")
        words = await gate.permit(name, offered.actions(given), _depth(name, given))
        try:
            result = run(given)
            result = await result if isinstance(result, Awaitable) else result
        except ToolFailed as error:
            after = await gate.hooks.after(name, given, str(error), failed=True)
            raise ToolFailed(str(with_hooks(with_hooks(str(error), before), after))) from error
        after = await gate.hooks.after(name, given, _told(result), failed=False)
        return _with_words(with_hooks(with_hooks(result, before), after), words)

    return replace(offered.tool, run=permitted)


def _depth(tool: str, given: JsonObject) -> Depth:
    """A pattern of `grep` for names also finds what git ignores."""
    if tool in ("ls", "glob"):
        return "names"
    return "kept" if tool == "grep" and not given.get("glob") else "all"


def _with_words(result: Result, words: str) -> Result:
    said = f"[The user, who permitted this, says: {words}]"
    if not words:
        return result
    return f"{result}\n{said}" if isinstance(result, str) else (*result, Text(text=said))


def _told(result: Result) -> str:
    return result if isinstance(result, str) else "\n".join(one.text for one in result if isinstance(one, Text))


def _nobody(why: str, opens: str) -> str:
    remedy = f" It would go with: {opens}." if opens else " No setting allows it without a person."
    return (
        f"Not permitted: {one_line(why)}; and nobody can be asked in this session. Nothing was done.{one_line(remedy)}"
        " Go on another way, or say in your answer what you need permitted."
    )


def _root(text: str, places: Places, home: Path) -> Path:
    path = home / text[2:] if text.startswith("~/") else home if text == "~" else places.root / text
    return Path(os.path.realpath(path))


def _mode(text: str | None) -> Mode:
    match text:
        case "accept_edits" | "plan" | "full":
            return text
        case _:
            return "ask"


def _walls(ground: Ground, own: Sequence[Path], deny: Sequence[Rule], *, network: bool) -> Walls:
    """What a deny rule names without a pattern is hidden as well: in the sandbox it holds for every program."""
    named = [place_of(rule, ground.root, ground.home) for rule in deny if rule.kind == "read"]
    hidden = [place for place in named if place is not None]
    return walls_of(ground.roots, ground.home, own, hidden, network=network)
