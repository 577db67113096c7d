"""From a seed to a whole session: the same session for the same seed, everywhere and for ever.

It knows how turns, messages, times and usage follow from the work. It must never know how texts are made. Usage is by
its own plain arithmetic: a token for 2.9 bytes, a cache that lives five minutes from the start of the last request.
"""

from __future__ import annotations

from string import Template

from perdure.kernel.messages import (
    Block,
    Image,
    Json,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Transcript,
    Usage,
    encode_json,
    weigh,
)
from perdure.kernel.value import record
from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.equipment import reminder, system, tools
from perdure.testing.sessions.project import Project
from perdure.testing.sessions.session import Finding, GeneratedSession, Scenario
from perdure.testing.sessions.user import User, slots
from perdure.testing.sessions.words import NARRATIONS, REPORTS, THOUGHTS, Language
from perdure.testing.sessions.work import Agent, Call, Shown

BYTES_PER_TOKEN = 2.9
TOKENS_PER_PICTURE = 192
"""A screenshot of 480 x 300 pixels, at 750 pixels a token."""
CACHE_SECONDS = 300.0


def generate(seed: int, scenario: Scenario | None = None) -> GeneratedSession:
    """A realistic session of a coding agent, made up from a seed.

    Raises:
        InvalidSetting: a scenario that no session can have, when the `Scenario` is made.
    """
    scenario = scenario or Scenario()
    writer = _Writer(seed, scenario)
    for turn, requests in enumerate(_requests_per_turn(writer.dice, scenario)):
        writer.write_turn(turn, requests)
    return GeneratedSession(
        seed=seed,
        scenario=scenario,
        system=writer.system,
        tools=writer.tools,
        transcript=Transcript(writer.messages),
        rules=tuple(writer.user.statements),
        findings=tuple(writer.findings),
    )


def _requests_per_turn(dice: Dice, scenario: Scenario) -> list[int]:
    """How many requests each turn takes: few for a question, many for a task."""
    shares = [dice.pick((1, 2, 3, 5, 8, 12)) for _ in range(scenario.turns)]
    left = scenario.requests - scenario.turns
    counts = [1 + left * share // sum(shares) for share in shares]
    counts[0] += scenario.requests - sum(counts)
    return counts


class _Writer:
    """Writes a session message by message."""

    def __init__(self, seed: int, scenario: Scenario) -> None:
        self.dice = Dice(seed)
        self.project = Project(self.dice)
        self.user = User(self.dice, self.project, scenario.chinese)
        self.agent = Agent(self.dice, self.project)
        self.system = system(self.project)
        self.tools = tools()
        self.messages: list[Message] = []
        self.findings: list[Finding] = []
        self._scenario = scenario
        self._clock = _Clock(start=scenario.start, overhead=_overhead(self))
        self._focus = slots(self.dice, self.project)
        self._request = 0
        self._bytes_left = scenario.tokens * 3
        self._huge = _huge_sizes(self.dice, scenario)
        self._looks = _spread(self.dice, scenario.images, scenario.requests)

    def write_turn(self, turn: int, requests: int) -> None:
        """What the user says, the agent's steps, and its report."""
        self._pause(first=turn == 0)
        self._say(turn)
        self.agent.begin_turn()
        self._focus = slots(self.dice, self.project)
        for _ in range(requests - 1):
            self._step()
        self._report()

    def _pause(self, *, first: bool) -> None:
        if first:
            return
        away = self.dice.chance(self._scenario.pauses)
        # Hours are rarer than minutes: the square of an even draw.
        self._clock.wait(360 + self.dice.below(134) ** 2 if away else self.dice.between(8, 220))

    def _say(self, turn: int) -> None:
        name = self._next_id()
        text = Text(text=self.user.speak(name, first=turn == 0))
        told = turn == 0 or self.dice.chance(0.25)
        content = (Text(text=reminder(self.project, self._clock.now)), text) if told else (text,)
        self._add(
            Message(id=name, role="user", content=content, provenance="user", plain=not told, time=self._clock.now)
        )

    def _step(self) -> None:
        """One request that ends in calls, and their results."""
        kind, calls = self._work()
        used, self.agent.memory.used = self.agent.memory.used, []
        thought = self.dice.chance(0.7)
        content: list[Block] = [self._thinking(used)] if thought else []
        if self.dice.chance(0.75):
            content.append(Text(text=self._sentence(NARRATIONS[kind], used)))
        uses = [ToolUse(id=f"toolu_{self.dice.hex(20)}", name=call.tool, input=call.input) for call in calls]
        self._answer([*content, *uses], "tool_use", used)
        web = all(call.tool == "fetch" for call in calls)
        self._clock.wait(self.dice.between(1, 45) if kind in ("test", "build") else self.dice.between(1, 3))
        results = tuple(_result(use, call) for use, call in zip(uses, calls, strict=True))
        provenance: Provenance = "web" if web else "tool"
        message = Message(id=self._next_id(), role="user", content=results, provenance=provenance, time=self._clock.now)
        self._add(message)
        self.agent.memory.settle(message.id, calls)

    def _work(self) -> tuple[str, list[Call]]:
        number = self._request
        # A special step whose turn came while the agent reported is made up for.
        if self._huge and number >= self._huge[0][0]:
            return self.agent.huge(self._huge.pop(0)[1])
        if self._looks and number >= self._looks[0]:
            del self._looks[0]
            return self.agent.look()
        left = max(1, self._scenario.requests - number)
        planned = sum(size for _, size in self._huge)
        share = max(0, self._bytes_left - planned) // left
        return self.agent.step(share * self.dice.pick(_FACTORS) // 10)

    def _report(self) -> None:
        """The last answer of a turn: words alone."""
        chinese = self.dice.chance(self._scenario.chinese)
        language: Language = "chinese" if chinese else "english"
        self.agent.memory.recall(self.dice)
        used, self.agent.memory.used = self.agent.memory.used, []
        text = self._sentence(REPORTS[language], used)
        values = [value for value in self.user.values if self.dice.chance(0.2)]
        if values:
            text += f"\n\nKept in mind: {', '.join(values)}."
        self._answer([Text(text=text)], "end_turn", used)

    def _thinking(self, used: list[Shown]) -> Thinking:
        dice = self.dice
        thought = " ".join(self._sentence((one,), used) for one in dice.some(THOUGHTS, dice.between(1, 4)))
        return Thinking(thinking=thought, signature=f"Er{dice.hex(dice.between(120, 420))}==")

    def _sentence(self, choices: tuple[str, ...], used: list[Shown]) -> str:
        words = self._focus if self.dice.chance(0.7) else slots(self.dice, self.project)
        seen = used[-1].text.strip() if used else words["word"]
        return Template(self.dice.pick(choices)).substitute(words, path=self.agent.path, seen=seen)

    def _answer(self, content: list[Block], stop_reason: str, used: list[Shown]) -> None:
        name = self._next_id()
        draft = Message(id=name, role="assistant", content=tuple(content), provenance="assistant")
        usage = self._clock.request(_tokens(draft))
        self._add(
            Message(
                id=name,
                role="assistant",
                content=draft.content,
                provenance="assistant",
                time=self._clock.now,
                model=self._scenario.model,
                stop_reason=stop_reason,
                usage=usage,
            )
        )
        self._request += 1
        said = encode_json(_readable(content)).decode()
        for seen in used:
            if encode_json(seen.text.strip()).decode()[1:-1] in said:
                self.findings.append(Finding(text=seen.text.strip(), shown_in=seen.message_id, used_in=name))

    def _next_id(self) -> str:
        return f"m{len(self.messages):04d}"

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        weight = weigh(message)
        self._bytes_left -= weight.bytes
        self._clock.context += _tokens(message)


@record()
class _Clock:
    """Time and the size of the context: what usage is reckoned from."""

    start: float
    overhead: int
    context: int = 0
    """Tokens of all messages so far."""
    cached: int = 0
    """Tokens of the last request, which its cache entry covers."""
    waited: float = 0.0
    """Seconds since the start."""
    last_request: float | None = None

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.start + self.waited

    def wait(self, seconds: int) -> None:
        self.waited += seconds

    def request(self, output_tokens: int) -> Usage:
        """Send a request now, and wait for the answer."""
        prompt = self.overhead + self.context
        read = self.cached if self.last_request is not None and self.waited - self.last_request <= CACHE_SECONDS else 0
        self.cached, self.last_request = prompt - _UNCACHED, self.waited
        self.waited += 2 + output_tokens // 64
        return Usage(
            input_tokens=_UNCACHED,
            cache_read_tokens=read,
            cache_write_tokens=prompt - _UNCACHED - read,
            output_tokens=output_tokens,
        )


_UNCACHED = 4
"""Tokens behind the last mark."""

_FACTORS = (2, 2, 3, 4, 5, 6, 7, 9, 12, 16, 24, 45)
"""Tenths of the even share that the outputs of a step get: many small ones, a few large ones, on average all of it."""


def _overhead(writer: _Writer) -> int:
    size = sum(len(block.text.encode()) for block in writer.system)
    size += sum(len(tool.description or "") + len(encode_json(tool.schema)) for tool in writer.tools)
    return _rounded(size)


def _tokens(message: Message) -> int:
    weight = weigh(message)
    return _rounded(weight.bytes) + TOKENS_PER_PICTURE * len(weight.media) + 4 * weight.blocks


def _rounded(size: int) -> int:
    return -(-size * 10 // 29)


def _result(use: ToolUse, call: Call) -> ToolResult:
    if call.picture:
        source = {"type": "base64", "media_type": "image/png", "data": call.picture}
        return ToolResult(tool_use_id=use.id, content=(Image(source={**source}),))
    return ToolResult(tool_use_id=use.id, content=call.output.text, is_error=True if call.output.is_error else None)


def _readable(content: list[Block]) -> list[Json]:
    """What an assistant message says in readable form."""
    said: list[Json] = []
    for block in content:
        match block:
            case Text(text=text):
                said.append(text)
            case Thinking(thinking=text):
                said.append(text)
            case ToolUse(input=given):
                said.append(given)
            case _:
                pass
    return said


def _spread(dice: Dice, count: int, requests: int) -> list[int]:
    """Requests at which something special happens, spread over the session."""
    if not count:
        return []
    step = max(1, requests // count)
    return [place * step + dice.below(max(1, step // 2)) for place in range(min(count, requests))]


def _huge_sizes(dice: Dice, scenario: Scenario) -> list[tuple[int, int]]:
    """The requests with huge outputs, and their bytes. Together they take at most half of the session."""
    places = _spread(dice, int(scenario.requests * scenario.huge_share), scenario.requests)
    most = scenario.huge_tokens
    sizes: list[tuple[int, int]] = []
    left = scenario.tokens // 2
    for place in places:
        # Most are near the lower end: the square of an even draw.
        tokens = min(10_000, most) + max(0, most - 10_000) * dice.below(101) ** 2 // 10_000
        if tokens <= left:
            sizes.append((place, tokens * 3))
            left -= tokens
    return sizes
