"""The codecs: encoding a request of a million tokens whose last message alone is new, and decoding it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.measure import Figure, Row, Took, in_turns, middle, once, repeat
from bench.session import MESSAGES, body
from perdure.kernel.messages import JsonObject, Mark, Request, encode_json
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES
from perdure.kernel.wire.codec import Codec

ROUNDS = 15
SMALL: JsonObject = {"path": "src/app/main.py", "limit": 40, "pattern": "def handle_"}


def figures() -> Iterator[Row]:
    """Encoding and decoding, for each dialect."""
    whole = ANTHROPIC.decode_request(encode_json(body()))
    for codec in (ANTHROPIC, CHAT, RESPONSES):
        text = codec.encode_request(Request(model="m", messages=whole.messages, params={"stream": True}))
        yield from _encoding(codec, text)
        yield from _decoding(f"{codec.dialect}: decode, 1,000,000 tokens", codec, text)
        small = codec.encode_request(Request(model="m", messages=ANTHROPIC.decode_messages(_small_calls())))
        yield from _decoding(f"{codec.dialect}: decode, small calls alone", codec, small)


def _encoding(codec: Codec, text: bytes) -> Iterator[Row]:
    request = codec.decode_request(text)
    assert codec.encode_request(request) == text
    encoded = middle([_grown(codec, request, turn) for turn in range(ROUNDS)])
    copied = repeat(lambda: text[:-1], ROUNDS)
    name = f"{codec.dialect}: encode {len(text) / 1e6:.1f} MB, last message new"
    yield Figure(what=name, ours=encoded.cpu, wall=encoded.wall)
    yield Figure(what="  one copy of the same bytes", ours=copied.cpu, wall=copied.wall)
    # The pieces are scattered over memory, which one copy of the whole is not; joining them is the least there is.
    pieces = [text[start : start + 350] for start in range(0, len(text), 350)]
    joined = repeat(lambda: b",".join(pieces), ROUNDS)
    yield Figure(what="  one join of as many pieces, which is the copy that is made", ours=joined.cpu, wall=joined.wall)
    yield Figure(what="  encoding beyond that", ours=max(0.0, encoded.cpu - joined.cpu), most=2.0)


def _grown(codec: Codec, request: Request, turn: int) -> Took:
    added = codec.decode_messages([{"role": "user", "content": f"go on {turn}"}], first=len(request.messages))
    marks: tuple[Mark, ...] = ()
    if codec is ANTHROPIC:
        marks = (Mark(part="messages", index=MESSAGES - 1), Mark(part="messages", index=MESSAGES))
    grown = Request(model="m", messages=(*request.messages, *added), marks=marks, params=request.params)
    return once(lambda: codec.encode_request(grown))


def _decoding(what: str, codec: Codec, text: bytes) -> Iterator[Row]:
    ours, theirs = in_turns(lambda: codec.decode_request(text), lambda: json.loads(text), ROUNDS)
    yield Figure(what=what, ours=ours.cpu, wall=ours.wall, peer="json.loads", theirs=theirs.cpu)
    yield Figure(what="  times json.loads", ours=ours.cpu / theirs.cpu, unit="x", most=3.0)


def _small_calls() -> list[JsonObject]:
    """Rounds of short calls and short results, where every byte is in a value of its own."""
    listed: list[JsonObject] = [{"role": "user", "content": "go on"}]
    for number in range(2_000):
        name = f"call_{number}"
        use: JsonObject = {"type": "tool_use", "id": name, "name": "grep", "input": SMALL}
        result: JsonObject = {"type": "tool_result", "tool_use_id": name, "content": "12: def handle_it():"}
        listed.append({"role": "assistant", "content": [use]})
        listed.append({"role": "user", "content": [result]})
    return listed
