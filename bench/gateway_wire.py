"""The two ends of the comparison of gateways: an upstream that answers at once, and a client that measures.

    .venv/bin/python -m bench.gateway_wire PORT

Bare HTTP/1.1 over sockets, so that neither end takes much of what is measured between them.
"""

from __future__ import annotations

import asyncio
import sys
from time import perf_counter

from perdure.kernel.messages import Json, JsonObject, encode_json

TEXT = "It is done, and the tests pass. "
PIECES = 20
USAGE: JsonObject = {"input_tokens": 100, "output_tokens": 5}
MESSAGE: JsonObject = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": None,
    "stop_sequence": None, "usage": USAGE,
}  # fmt: skip


def events() -> list[bytes]:
    """An answer as Anthropic streams it."""
    start: Json = {"type": "text", "text": ""}
    piece: Json = {"type": "text_delta", "text": TEXT}
    end: Json = {"stop_reason": "end_turn", "stop_sequence": None}
    told: list[JsonObject] = [
        {"type": "message_start", "message": {**MESSAGE, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        *({"type": "content_block_delta", "index": 0, "delta": piece} for _ in range(PIECES)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": USAGE},
        {"type": "message_stop"},
    ]
    return [b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), encode_json(event)) for event in told]


def answers() -> tuple[bytes, list[bytes]]:
    """The bytes of a whole answer, and the chunks of a streamed one."""
    content: Json = [{"type": "text", "text": TEXT * PIECES}]
    body = encode_json({**MESSAGE, "content": content, "stop_reason": "end_turn"})
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
    whole = head % (b"application/json", b"content-length: %d" % len(body)) + body
    chunks = [b"%x\r\n%s\r\n" % (len(event), event) for event in events()]
    return whole, [head % (b"text/event-stream", b"transfer-encoding: chunked"), *chunks, b"0\r\n\r\n"]


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head of a request or an answer, and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding: chunked" in head:
        body = bytearray()
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return head, bytes(body)
    _, named, rest = head.partition(b"\r\ncontent-length:")
    return head, await reader.readexactly(int(rest.split(b"\r\n")[0])) if named else b""


async def upstream(port: int) -> None:
    """Answer whatever comes, at once."""
    whole, chunks = answers()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                _, body = await read_message(reader)
                streams = b'"stream":true' in body or b'"stream": true' in body
                for piece in chunks if streams else [whole]:
                    writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()


class Client:
    """Sends requests to one address, over as many connections as are needed at once."""

    def __init__(self, port: int) -> None:
        """A client of a port of this machine."""
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, body: bytes) -> float:
        """Milliseconds until the answer has come to its end."""
        began = perf_counter()
        request = (
            b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-api-key: any\r\n"
            b"anthropic-version: 2023-06-01\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        )
        while True:
            old = bool(self._idle)
            reader, writer = self._idle.pop() if old else await self._connected()
            try:
                writer.write(request)
                head, answer = await read_message(reader)
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                # A server closes a connection that was idle for long.
                if not old:
                    raise
                began = perf_counter()
        if b" 200 " not in head.split(b"\r\n")[0] or TEXT.encode() not in answer:
            raise SystemExit(f"port {self._port} answered {head[:200]!r} {answer[:500]!r}")
        if b"connection: close" in head:
            writer.close()
        else:
            self._idle.append((reader, writer))
        return (perf_counter() - began) * 1_000

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)

    async def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop()[1].close()


if __name__ == "__main__":
    asyncio.run(upstream(int(sys.argv[1])))
