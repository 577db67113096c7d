"""What a session cost so far, and what append-only would have cost: followed message by message.

It knows usages, prices and what edits saved. It must never know a request's bytes: what it says of append-only is an
estimate, made of the provider's own counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from perdure.kernel.agent import UsageSeen
from perdure.kernel.cache import Parts, bill, bill_of
from perdure.kernel.context import Attempt, Commit, Edit, Ledger, PrefixChange, Revert
from perdure.kernel.errors import DiskError, InvalidJson
from perdure.kernel.messages import Message, Transcript, Usage
from perdure.kernel.models import ModelProfile, lookup
from perdure.log import KINDS, Counted, Said, SessionLog, SessionState, read_log

SPENDING = frozenset({KINDS[Said], KINDS[Counted]})
"""Kinds of entries that hold a usage."""


class Costs:
    """What the calls of a session cost, those of former processes, of branches left and of subagents included."""

    def __init__(self, log: SessionLog, state: SessionState, agents: Path, profile: ModelProfile) -> None:
        """The costs of a session that was just opened.

        Args:
            log: Its log.
            state: What the branch of the log adds up to, so that it is not read twice.
            agents: The folder of its subagents' logs.
            profile: Its model; an answer of another model is priced as that.
        """
        self.paid: list[UsageSeen] = []
        """What every call of a model cost in this process."""
        self.beside: list[tuple[float, float]] = []
        """When calls that answered no request of the conversation were made, in Unix seconds, and their USD."""
        self._profile = profile
        on_branch = {row.id for row in log.branch()}
        left = [log.payload(row.id) for row in log.rows() if row.kind in SPENDING and row.id not in on_branch]
        times = (row.time for row in log.branch() if row.kind == KINDS[Counted])
        for time, counted in zip(times, state.counted, strict=True):
            self.beside.append((time, self._usd(counted.usage, counted.model)))
        answers = sum(self._usd(message.usage, message.model) for message in state.transcript)
        self._before = answers + sum(usd for _, usd in self.beside) + sum(self._of(payload) for payload in left)
        self._agents = tuple(agents.glob("*.jsonl"))

    def aside(self, event: UsageSeen, time: float) -> None:
        """A call beside the conversation was paid; it is among `paid` as well."""
        self.beside.append((time, event.usd or 0.0))

    @property
    def usd(self) -> float:
        """USD so far, as far as prices are known. A fork begins with what its branch had cost."""
        return self._before + self._of_agents + sum(event.usd or 0.0 for event in self.paid)

    @cached_property
    def _of_agents(self) -> float:
        """USD of subagents of former processes, whose logs stand still. One that cannot be read counts nothing."""
        return sum(self._of(payload) for path in self._agents for payload in _spending(path))

    def _of(self, payload: object) -> float:
        match payload:
            case Said(message=message):
                return self._usd(message.usage, message.model)
            case Counted(usage=usage, model=model):
                return self._usd(usage, model)
            case _:
                return 0.0

    def _usd(self, usage: Usage | None, model: str | None) -> float:
        if usage is None:
            return 0.0
        profile = self._profile if model in (None, self._profile.id) else lookup(model or "")
        return bill_of(usage, profile).usd or 0.0


class Tally:
    """Counts of a conversation, and an estimate of what it would have cost if nothing had ever left the view.

    Each request of append-only is taken to have been as large as the provider counted ours, and as much larger as edits
    had made ours smaller by then. It reads all of the request before where ours was sent within the life of that one's
    entries, or where ours was read from the cache as well; the rest it writes. It goes on until a request with its
    answer no longer fits the window: from there on append-only can do no work, and nothing is saved or lost against it.
    """

    def __init__(self, profile: ModelProfile) -> None:
        self._profile = profile
        self._begin()

    def _begin(self) -> None:
        self.typed = 0
        """Messages that the user typed."""
        self.answers = 0
        """Answers of the model."""
        self.counted = 0
        """Answers whose prompt the provider counted."""
        self.cached = 0
        """Tokens that it said its cache had or took, in all of them."""
        self.append_only = 0.0
        """USD of append-only, up to its overflow."""
        self.own = 0.0
        """USD of the same answers of ours."""
        self.overflowed: float | None = None
        """Unix seconds of the request at which append-only no longer fits; None while it does."""
        self.newest: Message | None = None
        """The newest answer that the provider counted."""
        self.newest_at = -1
        """Its place in the transcript."""
        self._seen, self._edits, self._left = 0, 0, 0
        self._last: Message | None = None
        self._saved: dict[str, int] = {}
        self._size = 0
        self._started: float | None = None

    def follow(self, transcript: Transcript, ledger: Ledger) -> None:
        """Take in what is new; all of it, where the conversation went back."""
        if self._seen and (len(transcript) < self._seen or transcript[self._seen - 1] is not self._last):
            self._begin()
        for message in transcript[self._seen :]:
            self._edited(ledger)
            self._take(message, transcript[self._seen - 1] if self._seen else None)
            self._seen += 1
            self._last = message

    def _edited(self, ledger: Ledger) -> None:
        for edit in ledger[self._edits :]:
            if edit.reason.at > self._seen:
                break
            self._edits += 1
            self._left += self._change(edit)

    def _change(self, edit: Edit) -> int:
        match edit:
            case Revert(edit_id=other):
                return -self._saved.get(other, 0)
            case Attempt() | Commit() | PrefixChange():
                return 0
            case _:
                self._saved[edit.id] = edit.saved
                return edit.saved

    def _take(self, message: Message, before: Message | None) -> None:
        self.typed += message.is_typed
        if message.role != "assistant":
            return
        self.answers += 1
        usage = message.usage
        if usage is None or not usage.prompt_tokens:
            return
        self.counted += 1
        self.cached += usage.cache_read_tokens + usage.cache_write_tokens
        self.newest, self.newest_at = message, self._seen
        if self.overflowed is None:
            known = message.model in (None, self._profile.id)
            profile = self._profile if known else lookup(message.model or "")
            self._request(usage, before.time if before is not None else None, profile)

    def _request(self, usage: Usage, start: float | None, profile: ModelProfile) -> None:
        size = usage.prompt_tokens + max(0, self._left)
        window = profile.window.tokens
        if window is not None and self._left > 0 and size + usage.output_tokens > window:
            self.overflowed = start or 0.0
            return
        own = bill_of(usage, profile).usd or 0.0
        self.own += own
        # As long as nothing has left, the request is append-only's own.
        parts = self._parts(size, usage, start, profile) if self._left > 0 else None
        self.append_only += own if parts is None else bill(parts, profile).usd or 0.0
        self._size, self._started = size, start

    def _parts(self, size: int, usage: Usage, start: float | None, profile: ModelProfile) -> Parts:
        lives = profile.cache.lives
        if not lives:
            return Parts(fresh=size, output=usage.output_tokens)
        known = start is not None and self._started is not None
        within = not known or (start or 0.0) - (self._started or 0.0) < lives[0].seconds
        held = self._size if within or usage.cache_read_tokens * 2 > usage.prompt_tokens else 0
        read = min(held, size)
        return Parts(read=read, written=size - read, output=usage.output_tokens)


def saved_usd(tally: Tally, beside: Sequence[tuple[float, float]], profile: ModelProfile) -> float | None:
    """USD that edits have saved against append-only so far, what their summaries cost taken off; negative where they
    cost more than they brought yet. None where nobody publishes the model's prices."""
    if profile.prices is None:
        return None
    until = tally.overflowed
    own = tally.own + sum(usd for time, usd in beside if until is None or time <= until)
    return tally.append_only - own


def _spending(path: Path) -> Iterator[object]:
    try:
        with read_log(path) as log:
            for row in log.rows():
                if row.kind in SPENDING:
                    yield log.payload(row.id)
    except (DiskError, InvalidJson):
        return
