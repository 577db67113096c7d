"""The replay: every request that a session really made, as a policy would have sent it, priced and checked.

It knows recordings, policies, the cache model and the validity checker. It must never call a model or read a file. The
loop is closed: what the simulated provider counts for a request is what the policy is told as usage, as in real use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Literal, TypeAlias

from perdure.kernel.cache import EMPTY, Bill, Head, PrefixChain, PromptCache, bill_of, plan_marks, price, rolling_mark
from perdure.kernel.context import Lost, Step, Summarize
from perdure.kernel.messages import (
    Mark,
    Message,
    Text,
    Transcript,
    Usage,
    weigh,
)
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import UNCALIBRATED, Calibration, overhead_tokens, text_tokens, tokens_of
from perdure.kernel.value import record, value
from perdure.kernel.wire.validity import Fault, check_messages
from perdure.lab.composition import Composition, Sizes
from perdure.lab.counted import as_counted
from perdure.lab.needed import Recallable, Tally, Visibility, Vocabulary
from perdure.lab.policies import NARRATIVE_TOKENS, Policy, Sent
from perdure.lab.recall import NOTHING, Missed, Sources
from perdure.lab.recording import Asked, Recording

Break: TypeAlias = Literal["edited", "idle", "picture", "model", "compacted", "unexplained"]
"""Why a request could not read what the one before it had left in the cache. `picture`: the first picture of a session
came, which providers cache apart from text alone."""

UNTIMED_STEP = 20.0
"""Seconds between two requests where the recording has no times: the median of those that have."""


@value
class Point:
    """One request under one policy."""

    tokens: int
    """Prompt tokens, fixed overhead included; 0 for a request that could not be made."""
    bill: Bill
    """Of the request itself and of the narratives that had to be written for it."""
    broke: Break | None
    rungs: tuple[str, ...]
    evicted: int
    faults: int
    """What a provider would have refused."""
    over_window: bool
    infeasible: bool
    at: int
    """Messages of the transcript that had come by then."""
    steps: tuple[Step, ...] = ()
    """What the rungs brought and at what price, where the policy tells."""
    lost: tuple[Lost, ...] = ()
    """The loss report of this request, where the policy tells."""
    sizes: Sizes = ()
    """Bytes of text by kind; empty where what was sent is not known."""
    missed: Missed = NOTHING
    """What this request needed and did not show."""


@record(kw_only=True)
class Replayed:
    """One session under one policy."""

    policy: str
    model: str
    window: int | None
    overhead: int = 0
    """Tokens of tools and system blocks that count against the window."""
    points: list[Point] = field(default_factory=list[Point])
    needed: Tally = field(default_factory=Tally)
    seconds: list[float] = field(default_factory=list[float])
    """What each projection took."""
    warnings: list[str] = field(default_factory=list[str])


@value
class Setting:
    """What a replay is made for."""

    profile: ModelProfile
    clock: Callable[[], float]
    """Seconds, for measuring what a projection takes."""
    progress: Callable[[int, int], None] | None = None
    """Told after each request: how many are done, and of how many."""


class Subject:
    """A recording made ready for replays under one model: what is the same for every policy is worked out once."""

    def __init__(self, recording: Recording, profile: ModelProfile) -> None:
        """Prepare a recording."""
        self.recording = recording
        self.profile = profile
        self.calibration = calibrated(recording, profile)
        shown = overhead_tokens(recording.tools, recording.system, profile, self.calibration)
        self.hidden = hidden_overhead(recording, profile, self.calibration, shown)
        window = profile.window.tokens
        counts = window is None or shown + self.hidden <= window // 2
        self.overhead = shown + self.hidden if counts else shown
        """What the policy is told of the fixed overhead, and what counts against the window."""
        self.uncounted = 0 if counts else self.hidden
        """Overhead that is priced and does not count against the window, since most of it would be taken by it."""
        self.head = Head(
            profile=profile,
            tools=recording.tools,
            system=(*recording.system, *_opaque(self.hidden, profile, self.calibration)),
            calibration=self.calibration,
        )
        self.times = times_of(recording)
        self.vocabulary = Vocabulary(recording.transcript)
        self.needs = self.vocabulary.needs(recording.transcript, [asked.at for asked in recording.asked])
        self.answers = [_output_of(recording, asked) for asked in recording.asked]


def replay(subject: Subject, policy_name: str, policy: Policy, setting: Setting) -> Replayed:
    """What a policy would have sent for each request of a session, and what became of it."""
    profile = subject.profile
    result = Replayed(policy=policy_name, model=profile.id, window=profile.window.tokens, overhead=subject.overhead)
    run = policy(profile, subject.overhead)
    provider = _Provider(subject)
    checker = _Checker(subject)
    visibility, recallable = Visibility(subject.vocabulary), Recallable(subject.vocabulary)
    sources = Sources(subject.vocabulary, profile, subject.calibration)
    composition = Composition(subject.head.tools, subject.head.system)
    transcript = Transcript()
    usages: dict[int, Usage] = {}
    for number, asked in enumerate(subject.recording.asked):
        for place in range(len(transcript), asked.at):
            transcript = transcript.append(subject.recording.transcript[place].counted(usages.get(place)))
        now = subject.times[number]
        before = setting.clock()
        sent = run.send(transcript, now)
        result.seconds.append(setting.clock() - before)
        bill, broke = provider.price(sent, now, subject.answers[number])
        usages[asked.at] = provider.usage
        visibility.follow(sent.messages)
        recallable.follow(run.originals())
        sources.follow(transcript)
        missed = NOTHING
        if not sent.infeasible:
            hidden, gone = _tally(result.needed, subject.needs[number], visibility, recallable)
            if hidden or gone:
                missed = Missed(recalled=sources.of(hidden, transcript), gone=sources.of(gone, transcript))
        size = provider.prompt
        result.points.append(
            Point(
                tokens=size,
                bill=bill,
                broke=broke,
                rungs=sent.rungs,
                evicted=sum(lost.tokens for lost in sent.lost),
                faults=0 if sent.infeasible else len(checker.faults(sent)),
                over_window=not sent.infeasible and _over(size - subject.uncounted, profile),
                infeasible=sent.infeasible,
                at=asked.at,
                steps=sent.steps,
                lost=sent.lost,
                sizes=composition.follow(sent.messages),
                missed=missed,
            )
        )
        if setting.progress is not None:
            setting.progress(number + 1, len(subject.recording.asked))
    return result


def calibrated(recording: Recording, profile: ModelProfile) -> Calibration:
    """What the recorded counts say about the tokenizer: appended text against the growth of the prompt."""
    calibration = UNCALIBRATED
    previous: Asked | None = None
    for asked in recording.asked:
        if asked.usage is None or asked.usage.prompt_tokens <= 0:
            previous = None
            continue
        if previous is not None and previous.usage is not None and _extends(previous, asked):
            appended = recording.transcript.weight(previous.at, asked.at)
            media = tokens_of(appended, profile) - tokens_of(replace(appended, media=()), profile)
            grown = asked.usage.prompt_tokens - previous.usage.prompt_tokens
            if grown > 0:
                calibration = calibration.observe(text_tokens(appended, profile), grown - media)
        previous = asked
    return calibration


def _extends(previous: Asked, asked: Asked) -> bool:
    """Whether nothing that was sent before had left: by a compaction, or by edits of ours that are known one by one."""
    return (previous.baseline, previous.ledger) == (asked.baseline, asked.ledger)


def hidden_overhead(recording: Recording, profile: ModelProfile, calibration: Calibration, shown: int) -> int:
    """Tokens of the first request that neither its messages nor the shown overhead account for.

    Recordings often leave out system prompt and tools; the first request that has a count gives their size away.
    """
    for asked in recording.asked:
        if asked.usage is not None and asked.usage.prompt_tokens > 0:
            messages = tokens_of(recording.transcript.weight(asked.baseline, asked.at), profile, calibration)
            return max(0, asked.usage.prompt_tokens - messages - shown)
    return 0


def times_of(recording: Recording) -> list[float]:
    """When each request was made, never going backwards; evenly spaced where the recording has no times."""
    times: list[float] = []
    for asked in recording.asked:
        least = times[-1] if times else 0.0
        times.append(max(least, asked.time) if asked.time is not None else least + UNTIMED_STEP)
    return times


class _Provider:
    """The simulated provider: counts, caches and bills."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._cache: PromptCache = EMPTY
        self._chain = PrefixChain(subject.head)
        self._marks: tuple[Mark, ...] = ()
        self._last: float | None = None
        self._left = 0
        self.prompt = 0
        """Tokens of the last request."""
        self.usage = Usage()
        """What the policy is told of the last request: all that counts against the window."""

    def price(self, sent: Sent, now: float, output: int) -> tuple[Bill, Break | None]:
        """The bill of a request and of what it needed first, and why it could not read what the last one left."""
        written = (*sent.written, *[NARRATIVE_TOKENS] * (len(sent.asks) - len(sent.written)))
        bills = [self._narrative(ask, tokens, now) for ask, tokens in zip(sent.asks, written, strict=True)]
        if sent.infeasible:
            self.prompt, self.usage = 0, Usage()
            return _summed([bill_of(Usage(), self._subject.profile), *bills]), None
        chain = self._chain.over(sent.messages)
        if sent.counted is not None:
            chain = as_counted(chain, self._chain if self._last is not None else None, sent.counted)
        grown = len(chain) >= len(self._chain) and chain.common(self._chain) == len(self._chain)
        static = (True,) * len(self._subject.head.system)
        previous = rolling_mark(self._marks) if grown else None
        marks = plan_marks(chain, static, frontier=sent.frontier, previous=previous)
        bill, self._cache = price(self._cache, chain, marks, now, output_tokens=output)
        broke = self._cause(bill, chain, now, grown=grown, edited=sent.edited)
        self._chain, self._marks, self._last, self.prompt = chain, marks, now, chain.tokens
        self._left = bill.read + bill.written + bill.written_long
        self.usage = Usage(input_tokens=chain.tokens - self._subject.uncounted, output_tokens=bill.output)
        return _summed([bill, *bills]), broke

    def _narrative(self, ask: Summarize, written: int, now: float) -> Bill:
        request = Message(id="ask", role="user", content=(Text(text=ask.instruction),), provenance="harness")
        if not ask.extends:
            alone = PrefixChain(replace(self._subject.head, tools=(), system=()), (request,))
            return price(EMPTY, alone, (), now, output_tokens=written)[0]
        chain = self._chain.over((*ask.messages, request))
        marks = plan_marks(
            chain, (True,) * len(self._subject.head.system), frontier=None, previous=rolling_mark(self._marks)
        )
        bill, self._cache = price(self._cache, chain, marks, now, output_tokens=written)
        return bill

    def _cause(self, bill: Bill, chain: PrefixChain, now: float, *, grown: bool, edited: bool) -> Break | None:
        """A break is a read that fell short of what the last request left by 2,000 tokens and 5 %."""
        short = self._left - bill.read
        if self._last is None or short < 2_000 or short < 0.05 * self._left:
            return None
        lives = self._subject.profile.cache.lives
        if lives and now - self._last > lives[0].seconds:
            return "idle"
        if grown:
            return "unexplained"
        return "edited" if edited else "picture"


_OPENING = Message(id="opening", role="user", content=(Text(text="(settled)"),), provenance="harness")
"""Stands for everything that was checked before."""


class _Checker:
    """Checks what is sent: whole after an edit, and from the last round on while the view only grows.

    What every rule looks at lies within a round, or at the end; only ids that return from far away need the whole, and
    the readers make those unique.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._settled = 0
        self._first: Message | None = None
        self._last: Message | None = None

    def faults(self, sent: Sent) -> tuple[Fault, ...]:
        """What a provider would refuse."""
        messages, profile = sent.messages, self._subject.profile
        place = self._settled
        grown = 0 < place < len(messages) and messages[place] is self._last and messages[0] is self._first
        found = check_messages(
            (_OPENING, *messages[place:]) if grown else _behind_head(messages), profile, self._subject.recording.dialect
        )
        if not found:
            self._settle(messages)
        return found

    def _settle(self, messages: Sequence[Message]) -> None:
        """The newest answer of the model: every call before it has its result."""
        place = next((at for at in range(len(messages) - 1, 0, -1) if messages[at].role == "assistant"), 0)
        while place > 0 and messages[place - 1].role == "assistant":
            place -= 1
        self._settled = place
        self._first, self._last = messages[0] if messages else None, messages[place] if messages else None


def _recorded_cause(before: Asked, now: Asked, profile: ModelProfile) -> Break:
    lives = profile.cache.lives
    if before.time is not None and now.time is not None and lives and now.time - before.time > lives[0].seconds:
        return "idle"
    if before.baseline != now.baseline:
        return "compacted"
    if before.edits != now.edits:
        return "edited"
    return "model" if before.model != now.model else "unexplained"


def _behind_head(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages without those of system or developer at their head, which a request carries as its system blocks."""
    head = next((place for place, message in enumerate(messages) if message.role in ("user", "assistant")), 0)
    return messages[head:]


def recorded(subject: Subject) -> Replayed | None:
    """The bill that the session's own usage numbers show; None where it has none."""
    asked = [one for one in subject.recording.asked if one.usage is not None]
    if not asked:
        return None
    return _recorded(subject, asked)


def _recorded(subject: Subject, asked: Sequence[Asked]) -> Replayed:
    profile = subject.profile
    result = Replayed(policy="recorded", model=profile.id, window=profile.window.tokens, overhead=subject.overhead)
    left, last = 0, None
    for one in asked:
        usage = one.usage or Usage()
        bill = bill_of(usage, profile)
        short = left - bill.read
        broke: Break | None = None
        if last is not None and short >= 2_000 and short >= 0.05 * left:
            broke = _recorded_cause(last, one, profile)
        left, last = bill.read + bill.written + bill.written_long, one
        result.points.append(
            Point(
                tokens=usage.prompt_tokens,
                bill=bill,
                broke=broke,
                rungs=(),
                evicted=0,
                faults=0,
                over_window=_over(usage.prompt_tokens - subject.uncounted, profile),
                infeasible=False,
                at=one.at,
            )
        )
    return result


def _opaque(tokens: int, profile: ModelProfile, calibration: Calibration) -> tuple[Text, ...]:
    """A system block of about that many tokens, for what a recording leaves out."""
    if tokens <= 0:
        return ()
    return (Text(text=" " * int(tokens * profile.tokenizer.bytes_per_token / calibration.scale)),)


def _output_of(recording: Recording, asked: Asked) -> int:
    """Tokens of an answer: as counted where that is plausible, else estimated. Recorded counts of streamed answers
    are often those of their first piece."""
    counted = asked.usage.output_tokens if asked.usage is not None else 0
    if asked.at >= len(recording.transcript) or recording.transcript[asked.at].role != "assistant":
        return counted
    return max(counted, weigh(recording.transcript[asked.at]).bytes // 4)


def _tally(
    tally: Tally, needs: frozenset[str], visibility: Visibility, recallable: Recallable
) -> tuple[list[str], list[str]]:
    """Count what one answer needed; gives the names that are only recallable, and those that are gone."""
    hidden: list[str] = []
    gone: list[str] = []
    for name in sorted(name for name in needs if not visibility.shows(name)):
        (hidden if recallable.holds(name) else gone).append(name)
    tally.add(
        Tally(
            asked=len(needs),
            visible=len(needs) - len(hidden) - len(gone),
            recallable=len(hidden),
            gone=len(gone),
        )
    )
    return hidden, gone


def _over(tokens: int, profile: ModelProfile) -> bool:
    window = profile.window.tokens
    return window is not None and tokens > window


def _summed(bills: Sequence[Bill]) -> Bill:
    first, *others = bills
    total = first
    for other in others:
        total = replace(
            total,
            read=total.read + other.read,
            written=total.written + other.written,
            written_long=total.written_long + other.written_long,
            fresh=total.fresh + other.fresh,
            output=total.output + other.output,
            units=total.units + other.units,
            usd=None if total.usd is None or other.usd is None else total.usd + other.usd,
        )
    return total
