"""Models for tests: one that follows a script, and one that does everything a provider's stream can do, and more.

They know turns and streams. They must never know what a loop makes of them.

    model = ScriptedModel('''
        say Let me look.
        call read {"path": "a.py"}
        ---
        say It is empty.
    ''')
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from typing import get_args

import httpx

from perdure.kernel.agent import Answered, Ask, Failure, FailureKind, ModelEvent
from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import (
    Block,
    Extra,
    Json,
    JsonObject,
    Message,
    Request,
    Response,
    Text,
    Thinking,
    ToolUse,
    Usage,
    decode_object,
    encode_json,
)
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import ANTHROPIC, Codec, Dialect
from perdure.kernel.wire.validity import check
from perdure.providers import Edge, HttpModel, anthropic
from perdure.testing.doubles import (
    Call,
    ErrorInStream,
    Fault,
    Overloaded,
    RateLimited,
    Say,
    Script,
    ServerError,
    Slow,
    Think,
    Turn,
)

OVER = "(the script is over)"
"""What a scripted model says when nothing is left."""


@value
class ScriptTurn:
    """One answer, or one failure."""

    blocks: tuple[Block, ...] = ()
    stop_reason: str = ""
    """Empty: what follows from the blocks."""
    failure: Failure | None = None


class ScriptedModel:
    """A model that says what it was told, turn by turn, through the codec's own events."""

    def __init__(
        self,
        script: str | Sequence[ScriptTurn],
        *,
        profile: ModelProfile | None = None,
        codec: Codec = ANTHROPIC,
        clock: Sequence[float] = (),
    ) -> None:
        """A model with a script.

        Args:
            script: Turns, or their text: lines `say`, `think`, `call NAME JSON`, `stop REASON` and `fail KIND MESSAGE`,
                with `---` between turns.
            profile: What it passes for; None: Claude Opus 5.5.
            codec: The dialect of its events.
            clock: Answers of its clock, the last of which repeats; empty: it has none.

        Raises:
            InvalidSetting: a line that is none of these.
        """
        self._turns = list(parse_script(script) if isinstance(script, str) else script)
        self._profile = profile or lookup("claude-opus-5-5")
        self._codec = codec
        self._times = list(clock)
        self.asked: list[Ask] = []
        """Every question, in order."""

    def then(self, script: str | Sequence[ScriptTurn]) -> None:
        """More turns, behind those that are left."""
        self._turns += parse_script(script) if isinstance(script, str) else script

    @property
    def profile(self) -> ModelProfile:
        """What it passes for."""
        return self._profile

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        return self._codec

    def now(self) -> float | None:
        """The next time of its clock."""
        if len(self._times) > 1:
            return self._times.pop(0)
        return self._times[0] if self._times else None

    def request(self, ask: Ask) -> Request:
        """A plain request of the question."""
        params: JsonObject = {"max_tokens": ask.max_tokens or 1_000, "stream": True}
        marks = ask.marks if self._codec.dialect == "anthropic" else ()
        return Request(
            model=self._profile.id,
            messages=tuple(ask.messages),
            system=ask.system,
            tools=ask.tools,
            marks=marks,
            params=params,
        )

    async def stream(self, ask: Ask) -> AsyncGenerator[ModelEvent, None]:
        """The next turn."""
        self.asked.append(ask)
        turn = self._turns.pop(0) if self._turns else ScriptTurn(blocks=(Text(text=OVER),))
        if turn.failure is not None:
            yield turn.failure
            return
        size = len(self._codec.encode_request(self.request(ask))) // 4
        decoder = self._codec.stream()
        for event in self._codec.encode_events(_response(turn, size, len(self.asked))):
            for delta in decoder.feed(event):
                yield delta
        yield Answered(response=decoder.response())


def parse_script(text: str) -> list[ScriptTurn]:
    """The turns of a script.

    Raises:
        InvalidSetting: a line that says nothing.
    """
    turns: list[ScriptTurn] = []
    for part in text.split("---"):
        turn, calls = ScriptTurn(), 0
        for line in filter(None, map(str.strip, part.splitlines())):
            word, _, rest = line.partition(" ")
            match word:
                case "say":
                    turn = replace(turn, blocks=(*turn.blocks, Text(text=rest)))
                case "think":
                    thinking = Thinking(thinking=rest, signature=f"signed-{len(turns)}")
                    turn = replace(turn, blocks=(*turn.blocks, thinking))
                case "call":
                    name, _, arguments = rest.partition(" ")
                    identity = f"call_{len(turns)}_{calls}"
                    call = ToolUse(id=identity, name=name, input=decode_object(arguments or "{}"))
                    turn, calls = replace(turn, blocks=(*turn.blocks, call)), calls + 1
                case "stop":
                    turn = replace(turn, stop_reason=rest)
                case "fail":
                    turn = replace(turn, failure=_failure(rest))
                case _:
                    raise InvalidSetting(f"a script has no line {word!r}; say, think, call, stop or fail")
        turns.append(turn)
    return turns


def _failure(text: str) -> Failure:
    kind, _, message = text.partition(" ")
    known = next((name for name in get_args(FailureKind) if name == kind), None)
    if known is None:
        raise InvalidSetting(f"no failure of the kind {kind!r}; there are {', '.join(get_args(FailureKind))}")
    return Failure(kind=known, message=message or kind)


def _response(turn: ScriptTurn, size: int, number: int) -> Response:
    calls = any(isinstance(block, ToolUse) for block in turn.blocks)
    message = Message(
        id="m0",
        role="assistant",
        content=turn.blocks,
        provenance="assistant",
        model="scripted",
        stop_reason=turn.stop_reason or ("tool_use" if calls else "end_turn"),
        usage=Usage(input_tokens=size, output_tokens=20 * len(turn.blocks)),
    )
    return Response(message=message, params={"id": f"msg_{number}", "type": "message"})


class ChaosTransport(httpx.AsyncBaseTransport):
    """A connection to a provider that has gone mad, the same madness for the same seed.

    It streams legal answers of every kind, and streams with missing, repeated, swapped and broken events, cut anywhere,
    errors of every status, and bodies that are no JSON. Every request is judged by the validity checker.
    """

    def __init__(self, seed: int, profile: ModelProfile, tools: Sequence[str], codec: Codec = ANTHROPIC) -> None:
        self._dice = random.Random(seed)
        self._profile, self._tools, self._codec = profile, list(tools), codec
        self.bodies: list[bytes] = []
        """Every request."""
        self.faults: list[str] = []
        """What the checker found wrong with them; empty for a client that is right."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer, somehow."""
        body = await request.aread()
        self.bodies.append(body)
        asked = self._codec.decode_request(body)
        self.faults += [f"{fault.kind} {fault.where}" for fault in check(asked, self._profile, self._codec.dialect)]
        dice = self._dice
        match dice.randrange(12):
            case 0:
                return httpx.Response(dice.choice((400, 401, 413, 429, 500, 503, 529)), content=_refusal(dice))
            case 1:
                raise httpx.ConnectError("nobody listens")
            case _:
                chunks = _chunks(dice, self._events(asked, len(body)))
                return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=chunks)

    def _events(self, asked: Request, size: int) -> list[bytes]:
        made = _blocks(self._dice, self._tools, len(self.bodies))
        blocks = tuple(filter(None, (_spoken(block, self._codec.dialect) for block in made)))
        reasons = ["", "", "", "", "max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "new_reason"]
        turn = ScriptTurn(blocks=blocks, stop_reason=self._dice.choice(reasons))
        response = _response(turn, size // 4, len(self.bodies))
        events = [*self._codec.encode_events(response)]
        if self._dice.random() < 0.4:
            events = _harmed(self._dice, events, self._codec.dialect)
        return [b"data: " + encode_json(event) + b"\n\n" for event in events]


def chaos_model(seed: int, profile: ModelProfile, tools: Sequence[str]) -> tuple[HttpModel, ChaosTransport]:
    """A model behind a mad connection, that waits for nothing; and the connection, to look at."""

    async def sleep(_seconds: float) -> None:
        """No time passes."""

    transport = ChaosTransport(seed, profile, tools)
    client = httpx.AsyncClient(transport=transport, trust_env=False)
    edge = Edge(client, lambda: 1_000.0, sleep, random.Random(seed))
    return anthropic(profile, api_key="any", url="http://chaos", edge=edge), transport


def _blocks(dice: random.Random, tools: Sequence[str], number: int) -> tuple[Block, ...]:
    """An answer: any mixture of text, thinking and calls, of known tools and others, sometimes nothing."""
    blocks: list[Block] = []
    for place in range(dice.choice((0, 1, 1, 2, 3, 6))):
        match dice.randrange(5):
            case 0:
                blocks.append(Thinking(thinking="hm " * dice.randrange(40), signature=f"s{number}-{place}"))
            case 1 | 2:
                blocks.append(Text(text="word " * dice.choice((0, 1, 5, 400))))
            case _:
                name = dice.choice([*tools, "no_such_tool"])
                # Some servers count their calls anew in each answer.
                identity = dice.choice((f"call_{number}_{place}", f"call_{place}", "call"))
                blocks.append(ToolUse(id=identity, name=name, input={"n": dice.randrange(100)}))
    return tuple(blocks)


def _spoken(block: Block, dialect: Dialect) -> Block | None:
    """The block as a provider of this dialect would make it; None where it has none of the kind."""
    if not isinstance(block, Thinking):
        return block
    match dialect:
        case "anthropic":
            return block
        case "responses":
            fields: tuple[tuple[str, Json], ...] = (("id", f"rs_{block.signature}"), ("summary", []))
            extra = Extra(dialect=dialect, fields=fields, keys=("id", "type", "summary", "encrypted_content"))
            return Thinking(thinking="", signature=block.signature, extra=extra)
        case _:
            fields = (("reasoning_content", block.thinking),)
            return Thinking(thinking=block.thinking, extra=Extra(dialect=dialect, fields=fields))


def _harmed(dice: random.Random, events: list[JsonObject], dialect: Dialect) -> list[JsonObject]:
    """The same stream with something wrong."""
    place = dice.randrange(len(events))
    match dice.randrange(7):
        case 0:
            return events[:place]
        case 1:
            return events[:place] + events[place + 1 :]
        case 2:
            return [*events[: place + 1], *events[place:]]
        case 3:
            return [*events[:place], {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}]
        case 4:
            return [*events[:place], {"type": dice.choice(("ping", "brand_new"))}, *events[place:]]
        case 5:
            other = dice.randrange(len(events))
            swapped = list(events)
            swapped[place], swapped[other] = swapped[other], swapped[place]
            return swapped
        case _:
            return [*events[:place], _stray(dice.randrange(3), dialect), *events[place:]]


def _stray(index: int, dialect: Dialect) -> JsonObject:
    """A piece of arguments that belongs nowhere."""
    piece = '{"n": '
    match dialect:
        case "anthropic":
            delta: JsonObject = {"type": "input_json_delta", "partial_json": piece}
            return {"type": "content_block_delta", "index": index, "delta": delta}
        case "responses":
            return {"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece}
        case _:
            call: JsonObject = {"index": index, "function": {"arguments": piece}}
            return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}


async def _chunks(dice: random.Random, events: list[bytes]) -> AsyncIterator[bytes]:
    """The bytes of a stream, cut anywhere, and sometimes off."""
    whole = b"".join(events)
    stop = dice.randrange(len(whole) + 1) if dice.random() < 0.1 else len(whole)
    start = 0
    while start < stop:
        size = dice.choice((1, 7, 100, 4_000))
        yield whole[start : min(stop, start + size)]
        start += size
    if stop < len(whole) and dice.random() < 0.5:
        raise httpx.ReadError("the connection broke")


def _refusal(dice: random.Random) -> bytes:
    texts = ("prompt is too long: 9000 tokens > 8000 maximum", "Overloaded", "no", "")
    body: JsonObject = {"type": "error", "error": {"type": "unheard_of", "message": dice.choice(texts)}}
    return dice.choice((encode_json(body), b"<html>gateway</html>", b""))


def chaos_script(seed: int) -> Script:
    """A script for a double: any legal answer, of calls above all, the same for the same seed."""
    dice = random.Random(seed)

    def turn(body: JsonObject) -> Turn:
        tools = body.get("tools")
        listed = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
        names = [str(tool.get("name") or "read") for tool in listed]
        parts: list[Say | Think | Call] = [Think(text="hm " * dice.randrange(60), redacted=dice.random() < 0.1)]
        if dice.random() < 0.7:
            parts.append(Say(text="word " * dice.choice((1, 20, 300))))
        if names and dice.random() < 0.75:
            for _ in range(dice.choice((1, 1, 2, 5))):
                parts.append(Call(name=dice.choice(names), arguments={"n": dice.randrange(100)}))
        reasons = ("max_tokens", "refusal") if dice.random() < 0.06 else ("",)
        return Turn(parts=tuple(parts), stop_reason=dice.choice(reasons))

    return turn


def chaos_faults(seed: int, count: int) -> list[Fault]:
    """Faults for a double's next requests, most of which are none."""
    dice = random.Random(seed)
    kinds: list[Fault] = [Overloaded(), RateLimited(), ServerError(), ErrorInStream(after=3)]
    return [dice.choice(kinds) if dice.random() < 0.15 else Slow(wait=lambda: None) for _ in range(count)]
