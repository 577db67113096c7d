"""Typed canaries: statements and facts planted by seed, and which of them a policy still shows after each round.

It knows what is planted and looks for it word for word. It must never judge an answer by anything but whether it holds
the value. A round is a fold of the history: a summary, a checkpoint, a reset.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

from perdure.kernel.context import Original
from perdure.kernel.messages import Block, Message, Text, ToolResult, ToolUse, Transcript, encode_json, text_of
from perdure.kernel.models import ModelProfile
from perdure.kernel.tokens import overhead_tokens
from perdure.kernel.value import value
from perdure.lab.policies import Policy, Sent
from perdure.lab.recording import Asked, Recording

CanaryKind: TypeAlias = Literal["rule", "limit", "fact", "task", "preference", "corrected"]

KINDS: tuple[CanaryKind, ...] = get_args(CanaryKind)

_SAID = {
    "rule": "Rule for all of this work: never change anything in the module {value}.",
    "limit": "Limit: no call to {topic} may take longer than {value} milliseconds.",
    "task": "Still to be done at the end: move {topic} over to {value}.",
    "preference": "I prefer to have helpers for {topic} called {value}.",
    "corrected": "Correction: for {topic} the value is not {old} any more, it is {value}.",
}
_FIRST = "For {topic} the value is {value}."
_FACT = "\nnote: the {topic} build carries the id {value}\n"
_ASKED = {
    "rule": "Which module must never be changed?",
    "limit": "How many milliseconds may a call to {topic} take at most?",
    "fact": "Which id does the {topic} build carry?",
    "task": "What is {topic} to be moved over to at the end?",
    "preference": "What are helpers for {topic} to be called?",
    "corrected": "Which value is in force for {topic}?",
}
_TOPICS = ("intake", "ledger", "courier", "harbor", "lantern", "meadow", "quarry", "saddle", "thicket", "willow")
_FOLDS = frozenset({"full_summary", "session_memory", "extractive", "native"})


@value
class Canary:
    """One planted item."""

    kind: CanaryKind
    topic: str
    value: str
    """What must be found again."""
    old: str = ""
    """What a corrected value replaced."""
    at: int
    """Position in the planted transcript of the message that says it."""

    @property
    def question(self) -> str:
        """What only somebody can answer who still knows it."""
        return _ASKED[self.kind].format(topic=self.topic)


@value
class Sighting:
    """One kind of canary in the view that was sent first after a round."""

    round: int
    """Folds so far; 0 is the end of a session that was never folded."""
    kind: CanaryKind
    planted: int
    """Said by then."""
    visible: int
    recallable: int
    stale: int
    """Corrected values of which only the old one is left."""


def plant(recording: Recording, seed: int, per_kind: int = 2) -> tuple[Recording, tuple[Canary, ...]]:
    """The recording with canaries in its first third: the user's as messages of their own, facts in results."""
    # What is planted has to be the same for the same seed; nothing here is a secret.
    dice = random.Random(seed)  # noqa: S311
    messages = list(recording.transcript)
    answers = [asked.at for asked in recording.asked if _may_follow(messages, asked.at)]
    early = answers[: max(1, len(answers) // 3)]
    insertions: dict[int, list[tuple[Message, Canary | None]]] = {}
    canaries: list[tuple[int, Canary]] = []
    kinds: list[CanaryKind] = [kind for kind in KINDS for _ in range(per_kind)]
    for number, kind in enumerate(kinds):
        topic = f"{dice.choice(_TOPICS)}-{number}"
        value = f"{dice.choice('kmprstvz')}{dice.randrange(1000, 9999)}x{dice.randrange(100, 999)}"
        canary = Canary(kind=kind, topic=topic, value=value, at=0)
        if kind == "fact":
            place = _plant_fact(messages, dice, canary)
            canaries += [(place, canary)] if place is not None else []
        elif early:
            first, second = sorted((dice.choice(early), dice.choice(early)))
            if kind == "corrected":
                canary = replace(canary, old=f"old{dice.randrange(1000, 9999)}")
                told = _FIRST.format(topic=topic, value=canary.old)
                insertions.setdefault(first, []).append((_said(f"canary-{number}-first", told), None))
            told = _SAID[kind].format(topic=topic, value=value, old=canary.old)
            insertions.setdefault(second, []).append((_said(f"canary-{number}", told), canary))
    return _woven(recording, messages, insertions, canaries)


def survey(
    recording: Recording, canaries: Sequence[Canary], policy: Policy, profile: ModelProfile
) -> tuple[list[Sighting], Sent]:
    """What a policy shows of the canaries after each round and at the end, and the last request."""
    run = policy(profile, overhead_tokens(recording.tools, recording.system, profile))
    transcript, found, rounds = Transcript(), list[Sighting](), 0
    sent = Sent(messages=transcript)
    for asked in recording.asked:
        # Recorded counts are those of another view; without them every policy estimates.
        new = recording.transcript[len(transcript) : asked.at]
        transcript = transcript.append(*(message.counted(None) for message in new))
        sent = run.send(transcript, asked.time)
        if _FOLDS.intersection(sent.rungs):
            rounds += 1
            found += _sightings(canaries, asked.at, rounds, sent, _archive(run.originals().values()))
    if not rounds:
        found += _sightings(canaries, len(transcript), 0, sent, _archive(run.originals().values()))
    return found, sent


def judged(sent: Sent, canaries: Sequence[Canary], judge: Callable[[str], str]) -> dict[CanaryKind, tuple[int, int]]:
    """For each kind, how many questions a model answers rightly from the last view alone, and of how many."""
    view = "\n\n".join(f"[{message.role}]\n{text_in(message)}" for message in sent.messages)
    right: dict[CanaryKind, tuple[int, int]] = {}
    for canary in canaries:
        answer = judge(f"{view}\n\nAnswer from the conversation above, in one line: {canary.question}\n")
        good, asked = right.get(canary.kind, (0, 0))
        right[canary.kind] = good + (canary.value in answer), asked + 1
    return right


def text_in(message: Message) -> str:
    """All the text of a message: what is said, what came back, what calls were given."""
    return "\n".join(_texts(message.content))


def _texts(content: tuple[Block, ...]) -> Iterator[str]:
    for block in content:
        match block:
            case Text(text=text):
                yield text
            case ToolResult(content=inner):
                yield text_of(inner)
            case ToolUse(input=given):
                yield encode_json(given).decode()
            case _:
                pass


def _archive(originals: Iterable[Original]) -> str:
    """All the text that can be recalled."""
    return "\n".join(
        text
        for original in originals
        for content in (original.content, *(message.content for message in original.messages))
        for text in _texts(content)
    )


def _sightings(canaries: Sequence[Canary], at: int, rounds: int, sent: Sent, archive: str) -> list[Sighting]:
    view = "\n".join(map(text_in, sent.messages))
    found: list[Sighting] = []
    for kind in KINDS:
        said = [canary for canary in canaries if canary.kind == kind and canary.at < at]
        hidden = [canary for canary in said if canary.value not in view]
        found.append(
            Sighting(
                round=rounds,
                kind=kind,
                planted=len(said),
                visible=len(said) - len(hidden),
                recallable=sum(canary.value in archive for canary in hidden),
                stale=sum(bool(canary.old) and canary.old in view for canary in hidden),
            )
        )
    return found


def _may_follow(messages: Sequence[Message], at: int) -> bool:
    """Whether the user may say something right before an answer: every call has its result by then."""
    return 0 < at < len(messages) and messages[at].role == "assistant" and messages[at - 1].role == "user"


def _said(name: str, text: str) -> Message:
    return Message(id=name, role="user", content=(Text(text=text),), provenance="user")


def _plant_fact(messages: list[Message], dice: random.Random, canary: Canary) -> int | None:
    places = [
        place
        for place, message in enumerate(messages[: max(3, len(messages) // 3)])
        if any(isinstance(block, ToolResult) and isinstance(block.content, str) for block in message.content)
    ]
    if not places:
        return None
    place = dice.choice(places)
    fact = _FACT.format(topic=canary.topic, value=canary.value)
    content = tuple(
        replace(block, content=block.content + fact)
        if isinstance(block, ToolResult) and isinstance(block.content, str)
        else block
        for block in messages[place].content
    )
    messages[place] = replace(messages[place], content=content)
    return place


def _woven(
    recording: Recording,
    messages: Sequence[Message],
    insertions: dict[int, list[tuple[Message, Canary | None]]],
    facts: Sequence[tuple[int, Canary]],
) -> tuple[Recording, tuple[Canary, ...]]:
    """Everything in its place, and every request moved to where its messages are now."""
    whole: list[Message] = []
    canaries: list[Canary] = []
    places: list[int] = []
    for place in range(len(messages) + 1):
        for message, canary in insertions.get(place, ()):
            canaries += [replace(canary, at=len(whole))] if canary is not None else []
            whole.append(message)
        places.append(len(whole))
        if place < len(messages):
            whole.append(messages[place])
    canaries += [replace(canary, at=places[place]) for place, canary in facts]
    asked: tuple[Asked, ...] = tuple(
        replace(one, at=places[one.at], baseline=places[one.baseline]) for one in recording.asked
    )
    return replace(recording, transcript=Transcript(whole), asked=asked), tuple(canaries)
