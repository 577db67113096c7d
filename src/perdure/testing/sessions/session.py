"""What a generated session is: the scenario it was made from, what its user demanded, and the session itself.

It knows values. It must never know how they are made.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.errors import InvalidSetting
from perdure.kernel.messages import Message, Text, Tool, Transcript
from perdure.kernel.value import value

StatementKind: TypeAlias = Literal["rule", "limit", "preference", "value", "correction", "withdrawal"]
"""What the user did: forbade or demanded, set a bound, said what he likes, told a value, corrected or took one back."""


@value
class Scenario:
    """What kind of session is wanted. The defaults follow what recorded sessions of coding agents show."""

    requests: int = 400
    """Model requests, each answered by one assistant message; at least one for each turn."""
    turns: int = 14
    """Messages that the user types."""
    tokens: int = 400_000
    """About how large the transcript becomes, at three bytes per token."""
    huge_share: float = 0.0125
    """Share of requests whose output is huge: 10,000 to 40,000 tokens of a log, a listing or JSON."""
    huge_tokens: int = 40_000
    """The largest output, in tokens."""
    pauses: float = 0.3
    """Share of turns before which the user was away for longer than a cache lives: 6 minutes to 5 hours."""
    chinese: float = 0.15
    """Share of what the user types in Chinese."""
    images: int = 2
    """Screenshots that the agent looks at."""
    model: str = "claude-sonnet-4-6"
    """The model named in the answers."""
    start: float = 1_790_000_000.0
    """When the session starts, in seconds since 1970."""

    def __post_init__(self) -> None:
        """Refuse a scenario that no session can have.

        Raises:
            InvalidSetting: a number out of its range.
        """
        if not 1 <= self.turns <= self.requests:
            raise InvalidSetting(f"a session of {self.requests} requests cannot have {self.turns} turns")
        shares = {"huge_share": self.huge_share, "pauses": self.pauses, "chinese": self.chinese}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise InvalidSetting(f"{name} is {share}; it is a share from 0 to 1")
        counts = {"tokens": self.tokens, "huge_tokens": self.huge_tokens, "images": self.images}
        for name, count in counts.items():
            if count < 0:
                raise InvalidSetting(f"{name} is {count}; it cannot be negative")


@value
class Statement:
    """One thing that the user demanded, word for word."""

    kind: StatementKind
    topic: str
    """What it is about; a later statement on the same topic replaces it."""
    value: str
    """The name, number or path that an agent has to remember; empty for a withdrawal."""
    text: str
    """The sentence as it stands in the message."""
    message_id: str
    in_force: bool
    """False where a later statement replaced it or took it back, and for the taking back itself."""


@value
class Finding:
    """Something that an output showed and that the agent used again later."""

    text: str
    """The identifier, path or number."""
    shown_in: str
    """The id of the message whose output showed it first."""
    used_in: str
    """The id of the message whose call or text used it."""


@value
class GeneratedSession:
    """A whole session, as a recording would hold it."""

    seed: int
    scenario: Scenario
    system: tuple[Text, ...]
    tools: tuple[Tool, ...]
    transcript: Transcript
    rules: tuple[Statement, ...]
    """What the user demanded, in order."""
    findings: tuple[Finding, ...]
    """What the agent needed later."""

    @property
    def responses(self) -> tuple[Message, ...]:
        """The assistant's messages: one for each request, with its usage."""
        return tuple(message for message in self.transcript if message.role == "assistant")

    @property
    def sent_tokens(self) -> int:
        """The prompt tokens of all requests together, as their usage says."""
        return sum(message.usage.prompt_tokens for message in self.responses if message.usage)
