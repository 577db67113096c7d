"""The engine for a program that holds its messages as the dicts of a provider's API.

It knows codecs and the engine, and keeps what left a view in memory. It must never call a model by itself: a function
that does may be handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from perdure.kernel.context.drive import InMemory, drive
from perdure.kernel.context.engine import Engine, Projecting, overhead_of
from perdure.kernel.context.ports import Failed, Original, Refused, Reply, Summarize
from perdure.kernel.context.results import Lost, Projection
from perdure.kernel.context.settings import Settings, with_window
from perdure.kernel.errors import InvalidMessage, InvalidSetting
from perdure.kernel.messages import (
    JsonObject,
    Message,
    Request,
    Text,
    Transcript,
    Usage,
    encode_json,
    freeze_object,
    readable,
)
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES
from perdure.kernel.wire.codec import Codec, Dialect

T = TypeVar("T")

CODECS: Mapping[Dialect, Codec] = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}


@value
class Sending:
    """What to send, and what became of the rest."""

    messages: list[JsonObject]
    """In the form in which they came."""
    projection: Projection
    """Everything else: size, edits, prices, the loss report."""

    @property
    def tokens(self) -> int:
        """Size of the request, tools and system included."""
        return self.projection.usage.tokens

    @property
    def lost(self) -> tuple[Lost, ...]:
        """What left the view with this call, each with the handle that recalls it."""
        return self.projection.lost


class Context:
    """One conversation, kept inside the model's window.

    Hand over the whole conversation at each call, as an ever longer list; nothing of it is changed.
    """

    def __init__(
        self,
        model: str | ModelProfile,
        *,
        dialect: Dialect = "anthropic",
        request: Mapping[str, object] | None = None,
        settings: Settings | None = None,
        window: int | None = None,
        recall_tool: str | None = None,
    ) -> None:
        """A context for one conversation.

        Args:
            model: The model's id, or its profile.
            dialect: The form of the messages: `anthropic`, `chat` (OpenAI Chat Completions) or `responses`.
            request: What every request carries besides its messages, such as `system` and `tools`, in the form of the
                provider's API; it counts as fixed overhead.
            settings: Limits; None for `balanced`.
            recall_tool: Name of a tool of yours that answers with `recall(handle)`; without one no handle is offered.
            window: Tokens, where the model's own window is not known or a smaller one is wanted.

        Raises:
            InvalidSetting: an unknown dialect or a window that holds nothing.
            InvalidMessage: `request` is none.
        """
        codec = CODECS.get(dialect)
        if codec is None:
            raise InvalidSetting(f"no dialect {dialect!r}; there are {', '.join(CODECS)}")
        profile = lookup(model) if isinstance(model, str) else model
        profile = profile if window is None else with_window(profile, window)
        fixed = _fixed(codec, profile.id, request or {})
        overhead = overhead_of(profile, system=fixed.system, tools=fixed.tools)
        self.engine = Engine(profile, replace(settings or Settings(), recall_tool=recall_tool), overhead=overhead)
        """The engine behind it."""
        self.summarize: Callable[[list[JsonObject], str], str | None] | None = None
        """Asked for a checkpoint's narrative: given the messages so far and an instruction, it returns the model's
        answer. None: code excerpts the narrative. An exception of it, or no text, counts as a failure and is not
        raised."""
        self._codec = codec
        self._ports = _Ports(self._summary)
        self._given: list[bytes] = []
        self._transcript = Transcript()

    def project(
        self, messages: Sequence[Mapping[str, object]], *, now: float | None = None, prompt_tokens: int | None = None
    ) -> Sending:
        """What to send for the next call of the model.

        Args:
            messages: The whole conversation so far.
            now: Unix seconds; with it the engine knows when the provider's cache has gone cold.
            prompt_tokens: What the provider counted for the request before, cached tokens included.

        Raises:
            InvalidMessage: the conversation does not extend the one of the call before.
            Infeasible: fixed overhead and the current request alone exceed the window.
        """
        transcript = self._follow(messages, now, prompt_tokens)
        return self._sending(self.engine.project(transcript, now))

    def compact(
        self, messages: Sequence[Mapping[str, object]], instructions: str = "", *, now: float | None = None
    ) -> Sending:
        """Fold everything but the newest messages into a checkpoint, because somebody asked.

        It clears and trims nothing: before the next call of the model comes `project`, as always, which makes it fit.
        """
        return self._sending(self.engine.compact(self._follow(messages, now, None), instructions, now))

    def recover_overflow(
        self, messages: Sequence[Mapping[str, object]], error: str = "", *, now: float | None = None
    ) -> Sending:
        """What to send instead, once, when the provider said that the request is too long."""
        return self._sending(self.engine.recover_overflow(self._follow(messages, now, None), error, now))

    def recall(self, handle: str) -> str | None:
        """The readable text of what left the view under this handle, whole; None where there is no such handle."""
        original = self._ports.archive.get(handle)
        return None if original is None else _readable(original)

    def _sending(self, entry: Projecting) -> Sending:
        projection = drive(entry, self._ports)
        return Sending(messages=self._codec.encode_messages(projection.view.messages), projection=projection)

    def _follow(
        self, messages: Sequence[Mapping[str, object]], now: float | None, prompt_tokens: int | None
    ) -> Transcript:
        """The transcript of the conversation; only what is new is decoded."""
        known = len(self._given)
        if len(messages) < known or (known and encode_json(freeze_object(messages[known - 1])) != self._given[-1]):
            raise InvalidMessage(
                f"the conversation has to extend the one of the call before, whose {known} messages stay as they were; "
                f"make a new Context for another conversation"
            )
        fresh = [freeze_object(message) for message in messages[known:]]
        decoded = self._codec.decode_messages(fresh, first=len(self._transcript))
        self._given += [encode_json(message) for message in fresh]
        self._transcript = self._transcript.append(*_stamped(decoded, now, prompt_tokens))
        return self._transcript

    def _summary(self, ask: Summarize) -> Reply | Failed | Refused:
        """The model's answer, by the function that was handed in."""
        if self.summarize is None:
            return Refused(reason="no function for summaries was handed in")
        try:
            text = self.summarize(self._codec.encode_messages(ask.messages), ask.instruction)
        # Whatever a caller's function raises is a failed summary, for which there is the next rung.
        except Exception as error:  # noqa: BLE001
            return Failed(reason=f"the summarizer raised {type(error).__name__}", too_long="too long" in str(error))
        if text is None:
            return Failed(reason="the summarizer gave no text")
        return Reply(
            message=Message(id="summary", role="assistant", content=(Text(text=text),), provenance="assistant")
        )


class _Ports(InMemory):
    """Ports with a way to have a narrative written."""

    def __init__(self, write: Callable[[Summarize], Reply | Failed | Refused]) -> None:
        super().__init__()
        self._write = write

    def summarize(self, ask: Summarize) -> Reply | Failed | Refused:
        """The narrative, if somebody writes one."""
        return self._write(ask)


def _fixed(codec: Codec, model: str, request: Mapping[str, object]) -> Request:
    empty: JsonObject = {"input" if codec.dialect == "responses" else "messages": []}
    return codec.decode_request({"model": model, **empty, **request})


def _stamped(messages: Sequence[Message], now: float | None, prompt_tokens: int | None) -> list[Message]:
    """Decoded messages with their time, and with the provider's count on the first answer among them."""
    counted = False
    stamped: list[Message] = []
    for message in messages:
        usage = None
        if message.role == "assistant" and not counted and prompt_tokens is not None:
            usage, counted = Usage(input_tokens=prompt_tokens), True
        stamped.append(replace(message, time=now, usage=usage))
    return stamped


def _readable(original: Original) -> str:
    parts = [
        readable(original.content),
        *(f"[{message.role}] {readable(message.content)}" for message in original.messages),
    ]
    return "\n\n".join(part for part in parts if part)
