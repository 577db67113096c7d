"""What the user said, word for word, through any number of checkpoints.

It knows the user's typed texts, those that an earlier checkpoint carried, and the room there is. It must never change
a word: every statement is a substring of a message, whole as long as there is room. Where there is not, passages that
look like rules, limits, preferences, values and tasks come before others, new before old, what was corrected and what
was pasted last; and what is dropped is counted, so that it can be asked for by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from perdure.kernel.context.checkpoint.corrections import Statement, corrections
from perdure.kernel.context.checkpoint.cues import score, states_task
from perdure.kernel.context.checkpoint.document import CheckpointDocument, Outdated, Said, Unsaid
from perdure.kernel.context.checkpoint.render import said_lines
from perdure.kernel.context.checkpoint.sentences import passages
from perdure.kernel.messages import Message, typed_texts
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

RULE = 3.0
"""The score from which on a passage has room beyond half of the checkpoint."""

RECENCY = 1.0
"""What being the newest is worth beside the cues."""
NOVELTY = 1.5
"""What words that the user uses nowhere else are worth."""
PASTED = -6.0
PASTED_WITH_TASK = 1.0
"""What was pasted along with the current task comes after rules and before talk."""
OUTDATED = -4.0
CURRENT = 100.0
"""The current task comes before everything but the pins."""

_WORDS = pattern(r"[A-Za-z0-9_]+|[\u4e00-\u9fff](?=([\u4e00-\u9fff]?))")


@value
class Spoken:
    """Everything the user said up to the end of the fold."""

    said: tuple[Said, ...]
    """Every statement whole, as far as it still was in the previous checkpoint, with its corrections marked."""
    unsaid: Unsaid | None
    """What earlier checkpoints dropped."""
    current: str
    """The id of the message that holds the current task; empty where nothing was said."""


@value
class Ranked:
    """A passage that may be chosen."""

    said: int
    """Position of its statement."""
    start: int
    """Position in the statement's text."""
    text: str
    pasted: bool
    outdated: bool
    cost: int
    """Tokens, with its id in front."""
    score: float = 0.0

    @property
    def end(self) -> int:
        """Position behind its last character."""
        return self.start + len(self.text)


def spoken(messages: Iterable[Message], previous: CheckpointDocument | None) -> Spoken:
    """What the user said: carried from the previous checkpoint, then typed in these messages."""
    carried = previous.said if previous is not None else ()
    fresh = tuple(
        Said(message_id=message.id, text=text.text)
        for message in messages
        for text in typed_texts(message)
        if text.text.strip()
    )
    said = _with_corrections((*carried, *fresh), settled=len(carried))
    return Spoken(said=said, unsaid=previous.unsaid if previous is not None else None, current=_current(said))


def size_of(said: Iterable[Said], measure: Callable[[str], int]) -> int:
    """Tokens of these statements, with what stands around them."""
    return sum(map(measure, said_lines(said, {})))


def rank(spoken: Spoken, measure: Callable[[str], int]) -> tuple[Ranked, ...]:
    """The passages of everything that was said, those first that should be kept first."""
    found = [unit for place, said in enumerate(spoken.said) for unit in _passages(place, said, measure)]
    newest = max(len(spoken.said) - 1, 1)
    scored = [
        replace(unit, score=_score(unit, spoken) + NOVELTY * fresh + RECENCY * unit.said / newest)
        for unit, fresh in zip(found, _novelty(found), strict=True)
    ]
    return tuple(sorted(scored, key=lambda unit: (-unit.score, -unit.said, unit.start)))


def size_of_rules(ranking: Iterable[Ranked]) -> int:
    """Tokens of the passages that look like something to keep, and of the current task."""
    return sum(unit.cost for unit in ranking if unit.score >= RULE)


def choose(spoken: Spoken, ranking: Iterable[Ranked], *, room: int, measure: Callable[[str], int]) -> tuple[Said, ...]:
    """The passages that fit into `room` tokens, in the order of speaking."""
    return _gathered(spoken.said, _taken(ranking, spoken.said, room, measure))


def unsaid_of(spoken: Spoken, kept: Iterable[Said]) -> Unsaid | None:
    """The count of messages of which nothing is kept, earlier ones included."""
    present = {said.message_id for said in kept}
    lost = list(dict.fromkeys(said.message_id for said in spoken.said if said.message_id not in present))
    before = spoken.unsaid
    if not lost:
        return before
    if before is None:
        return Unsaid(count=len(lost), first=lost[0], last=lost[-1])
    return Unsaid(count=before.count + len(lost), first=before.first, last=lost[-1])


def _current(said: Sequence[Said]) -> str:
    """The newest message that speaks of a task, else the newest one that is more than chatter, else the newest."""
    newest = said[-1:]
    weighty = [each for each in said[-12:] if any(score(p.text) > 0 and not p.pasted for p in passages(each.text))]
    tasks = [each for each in weighty[-4:] if states_task(each.text)]
    return next((each.message_id for each in (*tasks[-1:], *weighty[-1:], *newest)), "")


def _with_corrections(said: Sequence[Said], *, settled: int) -> tuple[Said, ...]:
    statements: list[Statement] = []
    places: list[int] = []
    settled_statements = 0
    for place, each in enumerate(said):
        for passage in passages(each.text):
            if not passage.pasted:
                statements.append(Statement(message_id=each.message_id, text=passage.text))
                places.append(place)
        if place < settled:
            settled_statements = len(statements)
    outdated: dict[int, list[Outdated]] = {}
    for found in corrections(statements, settled=settled_statements):
        passage = Outdated(text=statements[found.old].text, by=statements[found.new].message_id)
        outdated.setdefault(places[found.old], []).append(passage)
    return tuple(
        replace(each, outdated=(*each.outdated, *outdated[place])) if place in outdated else each
        for place, each in enumerate(said)
    )


def _passages(place: int, said: Said, measure: Callable[[str], int]) -> Iterator[Ranked]:
    stale = {passage.text for passage in said.outdated}
    for passage in passages(said.text):
        yield Ranked(
            said=place,
            start=passage.start,
            text=passage.text,
            pasted=passage.pasted,
            outdated=passage.text in stale or not said.in_force,
            cost=measure(_alone(said, passage.text)) + 1,
        )


def _score(unit: Ranked, spoken: Spoken) -> float:
    current = spoken.said[unit.said].message_id == spoken.current
    if unit.pasted:
        return PASTED_WITH_TASK if current else PASTED
    return score(unit.text) + OUTDATED * unit.outdated + CURRENT * current


def _novelty(units: Sequence[Ranked]) -> list[float]:
    """For each passage the share of its words that the user uses in few others."""
    words = [frozenset(_words(unit.text[:600])) for unit in units]
    used: dict[str, int] = {}
    for each in words:
        for word in each:
            used[word] = used.get(word, 0) + 1
    rare = max(2, len(units) // 100)
    return [sum(used[word] <= rare for word in each) / max(len(each), 4) for each in words]


def _words(text: str) -> Iterator[str]:
    """Words in lower case; Chinese as pairs of characters, since single ones recur everywhere."""
    return (f"{match.group()}{match.group(1) or ''}".lower() for match in _WORDS.finditer(text))


def _taken(
    ranking: Iterable[Ranked], said: Sequence[Said], room: int, measure: Callable[[str], int]
) -> Iterator[Ranked]:
    seen: set[str] = set()
    for unit in ranking:
        if unit.cost > room:
            if not seen:
                yield from _shortened(unit, said[unit.said], room, measure)
                return
            continue
        same = _sameness(unit)
        if same not in seen:
            seen.add(same)
            room -= unit.cost
            yield unit


def _sameness(unit: Ranked) -> str:
    """Two passages are as good as one where this is equal. What is outdated is no stand-in for what is in force."""
    return f"{unit.outdated} {' '.join(_words(unit.text))}"


def _alone(said: Said, text: str) -> str:
    """How a passage reads when it is the only one of its message."""
    whole = said.whole and text == said.text.strip()
    return "\n".join(said_lines([Said(message_id=said.message_id, text=text, whole=whole)], {}))


def _shortened(unit: Ranked, said: Said, room: int, measure: Callable[[str], int]) -> Iterator[Ranked]:
    """The beginning of the first passage, where it does not fit even alone."""
    text = unit.text
    while text and measure(_alone(said, text)) + 1 > room:
        text = text[: len(text) // 2].rstrip() if room > 0 else ""
    if text:
        yield replace(unit, text=text)


def _gathered(said: Sequence[Said], taken: Iterable[Ranked]) -> tuple[Said, ...]:
    """The chosen passages in the order of speaking; neighbours are joined, and a message that is complete is whole."""
    by_place: dict[int, list[Ranked]] = {}
    for unit in taken:
        by_place.setdefault(unit.said, []).append(unit)
    return tuple(part for place in sorted(by_place) for part in _parts(said[place], by_place[place]))


def _parts(said: Said, units: list[Ranked]) -> Iterator[Said]:
    spans: list[tuple[int, int]] = []
    for unit in sorted(units, key=lambda unit: unit.start):
        if spans and not said.text[spans[-1][1] : unit.start].strip():
            spans[-1] = (spans[-1][0], unit.end)
        else:
            spans.append((unit.start, unit.end))
    if len(spans) == 1 and said.text[slice(*spans[0])] == said.text.strip():
        yield said
        return
    for start, end in spans:
        text = said.text[start:end]
        outdated = tuple(passage for passage in said.outdated if passage.text in text)
        yield Said(message_id=said.message_id, text=text, whole=False, outdated=outdated)
