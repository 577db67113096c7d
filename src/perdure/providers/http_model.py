"""A model behind an HTTP API: our bytes go out as they are, events come in, and failures are classified.

It knows requests, streams and retries. It must never know a provider's fields (its `Api` does) or change a byte of the
body: a prompt cache compares bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from itertools import count

import httpx

from perdure.kernel.agent import Answered, Ask, Failure, ModelEvent, Retrying
from perdure.kernel.errors import InvalidJson, InvalidMessage
from perdure.kernel.messages import JsonObject, Request, Usage, decode_json
from perdure.kernel.models import ModelProfile
from perdure.kernel.wire import Codec, StreamDecoder
from perdure.providers.api import Api, Endpoint, request_of
from perdure.providers.edge import Edge
from perdure.providers.failures import classify, told
from perdure.providers.halves import Halves
from perdure.providers.retry import Patience
from perdure.providers.sse import EventReader
from perdure.providers.surrogates import sendable

LONGEST_ERROR = 65_536
"""Bytes of a refusal that are read."""
BURST = 8
"""Events of a stream between two pauses in which others get their turn."""


class HttpModel:
    """One model at one endpoint."""

    def __init__(
        self,
        profile: ModelProfile,
        api: Api,
        endpoint: Endpoint,
        *,
        name: str = "",
        edge: Edge | None = None,
        patience: Patience | None = None,
    ) -> None:
        """A model that can be asked.

        Args:
            profile: What is known of it.
            api: How it is asked.
            endpoint: Where.
            name: What the endpoint calls it; empty: the profile's id.
            edge: The world; None for a real one.
            patience: Retries; None for six tries.
        """
        self._profile, self.api, self._endpoint = profile, api, endpoint
        self.name = name or profile.id
        """What the endpoint calls it."""
        self._edge, self._patience = edge or Edge(), patience or Patience()
        self._previous: str | None = None

    @property
    def profile(self) -> ModelProfile:
        """What is known of it."""
        return self._profile

    @property
    def codec(self) -> Codec:
        """Its dialect."""
        return self.api.codec

    def now(self) -> float | None:
        """Unix seconds, by the edge's clock."""
        return self._edge.clock()

    def request(self, ask: Ask) -> Request:
        """The request as it would be sent."""
        return request_of(self.api, self._profile, self.name, ask, self._previous)

    async def close(self) -> None:
        """Close the connections."""
        await self._edge.close()

    async def stream(self, ask: Ask) -> AsyncGenerator[ModelEvent, None]:
        """Ask; the same bytes again after a failure that may pass. See `perdure.kernel.agent.Model`."""
        request = self.request(ask)
        body, headers = sendable(self.codec.encode_request(request)), self.api.headers(request)
        for attempt in count(2):
            shown = False
            failure = Failure(kind="cut", message="the answer broke off")
            async with aclosing(self._once(body, headers)) as events:
                async for event in events:
                    if isinstance(event, Failure):
                        failure = event
                        break
                    shown = True
                    yield event
                    if isinstance(event, Answered):
                        return
            wait = self._patience.wait_before(attempt, failure, self._edge.dice)
            if wait is None:
                yield failure
                return
            yield Retrying(failure=failure, attempt=attempt, wait=wait, shown=shown)
            await self._edge.sleep(wait)

    async def ping(self, ask: Ask) -> Usage | Failure:
        """Have the provider read the prompt of a question again, and answer as little as it may."""
        request = self.request(ask)
        request = replace(request, params=self.api.ping(request.params))
        answer = await self.post(self.api.path, self.codec.encode_request(request), self.api.headers(request))
        if isinstance(answer, Failure):
            return answer
        try:
            return self.codec.decode_response(answer).message.usage or Usage()
        except InvalidMessage as error:
            return Failure(kind="server", message=f"the answer makes no sense: {error}", status=200)

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> JsonObject | Failure:
        """One call without a stream: counting, compaction. The failure is classified and not retried."""
        try:
            response = await self._edge.client.post(
                self._endpoint.url + path, content=sendable(body), headers=self._headers(headers)
            )
        except httpx.HTTPError as error:
            return self._unreachable(error)
        if response.status_code != 200:
            return classify(response.status_code, response.content[:LONGEST_ERROR], _lower(response.headers))
        try:
            value = decode_json(response.content)
        except InvalidJson as error:
            return Failure(kind="server", message=f"the answer is no JSON: {error}", status=200)
        return (
            value if isinstance(value, dict) else Failure(kind="server", message="the answer is no object", status=200)
        )

    async def _once(self, body: bytes, headers: Mapping[str, str]) -> AsyncGenerator[ModelEvent, None]:
        """One try: deltas, and at the end one `Answered` or one `Failure`."""
        began = False
        try:
            async with self._edge.client.stream(
                "POST", self._endpoint.url + self.api.path, content=body, headers=self._headers(headers)
            ) as response:
                if response.status_code != 200:
                    yield classify(response.status_code, await _start_of(response), _lower(response.headers))
                    return
                if "text/html" in response.headers.get("content-type", ""):
                    yield self._no_model()
                    return
                if "json" in response.headers.get("content-type", ""):
                    yield self._whole(await response.aread())
                    return
                async with aclosing(self._events(response)) as events:
                    async for event in events:
                        began = True
                        yield event
        except httpx.HTTPError as error:
            yield Failure(kind="cut", message=_said(error)) if began else self._unreachable(error)
        except (InvalidJson, InvalidMessage) as error:
            yield Failure(kind="cut", message=f"the stream makes no sense: {error}")

    def _no_model(self) -> Failure:
        """A page instead of an answer: another program listens there, or a proxy in between has something to say."""
        url = httpx.URL(self._endpoint.url)
        where = f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"
        return Failure(kind="not_found", message=f"{where} answered with a web page; is that the model's base_url?")

    def _unreachable(self, error: httpx.HTTPError) -> Failure:
        """With the host, since a person may have named the wrong one; without what else the address may hold."""
        url = httpx.URL(self._endpoint.url)
        return Failure(kind="network", message=f"{url.scheme}://{url.netloc.decode('ascii')}: {_said(error)}")

    async def _events(self, response: httpx.Response) -> AsyncGenerator[ModelEvent, None]:
        decoder, reader, halves = self.codec.stream(), EventReader(), Halves()
        chunks, events = response.aiter_bytes(), count(1)
        async for chunk in chunks:
            for event in reader.feed(chunk):
                for delta in halves.joined(decoder.feed(event)):
                    yield delta
                if next(events) % BURST == 0:
                    # One look at the socket may bring hundreds: without a pause nobody takes a key meanwhile.
                    await asyncio.sleep(0)
            # A chunk with the usage follows the end of a chat answer; the others end with their last event.
            if decoder.error is not None or reader.done or (decoder.complete and self.codec.dialect != "chat"):
                break
        for event in reader.end():
            decoder.feed(event)
        yield self._outcome(decoder)

    def _outcome(self, decoder: StreamDecoder) -> ModelEvent:
        if decoder.error is not None:
            return classify(None, {"error": decoder.error})
        if not decoder.complete:
            return Failure(kind="cut", message="the stream ended before the answer did")
        response = decoder.response()
        identity = response.params.get("id")
        self._previous = identity if isinstance(identity, str) else None
        return Answered(response=response)

    def _whole(self, body: bytes) -> ModelEvent:
        """The answer of a server that does not stream."""
        value = decode_json(body)
        if isinstance(value, dict) and isinstance(value.get("error"), dict):
            return classify(200, value)
        return Answered(response=self.codec.decode_response(body))

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {"content-type": "application/json", **self._endpoint.headers, **more}


def _lower(headers: httpx.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _start_of(response: httpx.Response) -> bytes:
    """A refusal's body, no further than it can say something."""
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) >= LONGEST_ERROR:
            break
    return bytes(read[:LONGEST_ERROR])


def _said(error: httpx.HTTPError) -> str:
    return told(f"{type(error).__name__}: {error}") if str(error) else type(error).__name__
