"""Message threads: histories that the server holds between requests.

It knows threads by the id of their last response. It must never outlive them: five minutes after the last request one
is gone. The full documentation was not available; what combines with what is unverified beyond `context_management`.
"""

from __future__ import annotations

from perdure.kernel.value import record
from perdure.testing.doubles.anthropic.asked import coded
from perdure.testing.doubles.shape import Body, bodies, body_of, digest, without

LIFETIME = 300.0
"""Seconds since the last request."""


@record(kw_only=True)
class _Thread:
    body: Body
    expires: float
    continued: bool = False


class Threads:
    """The threads of one double."""

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}

    def expand(self, body: Body, now: float) -> Body:
        """The full request that a threaded one stands for.

        Raises:
            Refused: the thread is gone, was continued before, or does not go with this request.
        """
        thread = body.get("thread")
        if thread is None:
            return body
        if body.get("context_management") is not None:
            raise coded(
                "thread_unsupported_request",
                "thread: `context_management` is not supported with `thread`",
                unsupported=["context_management"],
            )
        if body_of(thread).get("type") != "continue":
            return body
        previous = str(body_of(thread).get("previous_message_id"))
        held = self._threads.get(previous)
        if held is None or held.expires <= now:
            raise coded("thread_not_found", f"thread: no thread found for message {previous}", status=404)
        if held.continued:
            raise coded("thread_already_continued", f"thread: message {previous} was already continued")
        for name in ("system", "tools"):
            if name in body and digest(body[name]) != digest(held.body.get(name)):
                raise coded("thread_fingerprint_mismatch", f"thread: `{name}` differs from the thread's")
        held.continued = True
        fixed = {name: held.body[name] for name in ("system", "tools") if name in held.body}
        return {**fixed, **body, "messages": [*bodies(held.body.get("messages")), *bodies(body.get("messages"))]}

    def hold(self, full: Body, message: Body, now: float) -> None:
        """Keep the history of a threaded request under the id of its response."""
        if full.get("thread") is None:
            return
        said = {"role": "assistant", "content": message["content"]}
        body = {**without(full, "thread"), "messages": [*bodies(full.get("messages")), said]}
        self._threads[str(message["id"])] = _Thread(body=body, expires=now + LIFETIME)
