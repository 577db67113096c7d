"""What was typed and is no part of the conversation yet: it waits for the agent, and a kill does not take it.

It knows texts and how they stand in a log: as a setting, which holds what waited then. It must never decide when one is
answered. A text is gone from here once its message is durable, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from perdure.kernel.errors import DiskError
from perdure.kernel.messages import Json, JsonObject, Message, Text
from perdure.log import Said, SessionLog, SettingsChanged

KEY = "waiting"
"""The setting. It names its session, since a fork has the entries of its origin and nobody typed them there."""


class Waiting:
    """The texts that wait in one session."""

    def __init__(self, session: str, write: Callable[[JsonObject], object]) -> None:
        """Nothing waits. `write` makes settings durable."""
        self._session, self._write = session, write
        self.queued: list[str] = []
        """To be answered once the agent has finished, the oldest first."""
        self.said: list[str] = []
        """To be read by the agent with its next call, the oldest first."""

    def bring_back(self, log: SessionLog, last: Json) -> None:
        """Take over what waited when the log was left. `last` is the newest setting on its branch."""
        if not isinstance(last, dict) or last.get("session") != self._session:
            return
        for _, payload in log.payloads():
            match payload:
                case SettingsChanged(settings={"waiting": {"queued": [*queued], "said": [*said]}}):
                    self.queued, self.said = [str(text) for text in queued], [str(text) for text in said]
                case Said(message=message):
                    self.taken(message)
                case _:
                    pass

    def queue(self, text: str) -> None:
        """A text waits for the agent to finish."""
        self.queued.append(text)
        self.keep()

    def say(self, text: str) -> None:
        """A text waits for the next call."""
        self.said.append(text)
        self.keep()

    def unqueue(self) -> str | None:
        """Take back what was queued last."""
        if not self.queued:
            return None
        text = self.queued.pop()
        self.keep()
        return text

    def taken(self, message: Message) -> None:
        """A message became part of the conversation: what it says waits no more."""
        if not message.is_typed or not (self.queued or self.said):
            return
        texts = set(_texts(message))
        for waiting in (self.said, self.queued):
            place = next((place for place, text in enumerate(waiting) if text in texts), None)
            if place is not None:
                del waiting[place]
                return

    def keep(self) -> None:
        """Make durable what waits. Where the disk refuses, it waits in this process alone."""
        state: JsonObject = {"session": self._session, "queued": [*self.queued], "said": [*self.said]}
        with suppress(DiskError):
            self._write({KEY: state})


def _texts(message: Message) -> Iterator[str]:
    return (block.text for block in message.content if isinstance(block, Text))
