"""The generated user: what he asks for, demands, corrects, takes back and pastes.

It knows what he said so far. It must never know what the agent will do about it.
"""

from __future__ import annotations

from dataclasses import replace
from string import Template

from perdure.kernel.value import value
from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.outputs import service_log, stack_trace
from perdure.testing.sessions.project import Project
from perdure.testing.sessions.session import Statement
from perdure.testing.sessions.sources import plural
from perdure.testing.sessions.vocabulary import HOSTS, QUALITIES, VERBS, WORDS
from perdure.testing.sessions.words import CORRECTIONS, DEMANDS, FOLLOW_UPS, TASKS, WITHDRAWALS, Demand, Language


def slots(dice: Dice, project: Project) -> dict[str, str]:
    """Words of the project for the places of a sentence."""
    entity, fields = dice.pick(project.domain.entities)
    return {
        "package": project.domain.package,
        "entity": entity,
        "entities": plural(entity),
        "field": dice.pick(fields),
        "quality": dice.pick(QUALITIES),
        "verb": dice.pick(VERBS),
        "word": dice.pick(WORDS),
        "host": dice.pick(HOSTS),
    }


@value
class _Active:
    """A demand that holds at present."""

    demand: Demand
    index: int
    value: str


class User:
    """Speaks once per turn, and remembers what he demanded."""

    def __init__(self, dice: Dice, project: Project, chinese: float) -> None:
        self._dice = dice.fork("user")
        self._project = project
        self._chinese = chinese
        self._active: dict[str, _Active] = {}
        self.statements: list[Statement] = []

    @property
    def values(self) -> list[str]:
        """What an agent that listens has to keep in mind now."""
        return [active.value for active in self._active.values()]

    def speak(self, message_id: str, *, first: bool) -> str:
        """The text of a turn, with the demands in it."""
        dice = self._dice
        language: Language = "chinese" if dice.chance(self._chinese) else "english"
        opening = TASKS if first or dice.chance(0.35) else FOLLOW_UPS
        asked = Template(dice.pick(opening[language])).substitute(slots(dice, self._project))
        said = [self._demand(language, message_id) for _ in range(3 if first else dice.pick((0, 0, 1, 1, 2)))]
        if not first and dice.chance(0.4):
            said.append(self._change(language, message_id))
        parts = [asked, *(text for text in said if text)]
        text = ("\n" if dice.chance(0.5) else " ").join(parts)
        return text + (self._paste() if dice.chance(0.45) else "")

    def _demand(self, language: Language, message_id: str) -> str:
        """A demand on a topic that he has not spoken about, or nothing where all are used up."""
        fresh = [demand for demand in DEMANDS if demand.topic not in {said.topic for said in self.statements}]
        if not fresh:
            return ""
        demand = self._dice.pick(fresh)
        value = self._value(demand, "")
        text = _sentence(demand, language).substitute(value=value)
        self._state(demand, value, text, message_id, kind_is_new=True)
        return text

    def _change(self, language: Language, message_id: str) -> str:
        """A change of mind about something that still holds."""
        if not self._active:
            return ""
        old = self._dice.pick(list(self._active.values()))
        withdrawn = self._dice.chance(0.25)
        self.statements[old.index] = replace(self.statements[old.index], in_force=False)
        value = "" if withdrawn else self._value(old.demand, old.value)
        sentence = self._dice.pick((WITHDRAWALS if withdrawn else CORRECTIONS)[language])
        text = Template(sentence).substitute(topic=old.demand.topic, old=old.value, value=value)
        self._state(old.demand, value, text, message_id, kind_is_new=False)
        return text

    def _state(self, demand: Demand, value: str, text: str, message_id: str, *, kind_is_new: bool) -> None:
        kind = demand.kind if kind_is_new else "correction" if value else "withdrawal"
        if value:
            self._active[demand.topic] = _Active(demand=demand, index=len(self.statements), value=value)
        else:
            del self._active[demand.topic]
        self.statements.append(
            Statement(
                kind=kind,
                topic=demand.topic,
                value=value,
                text=text,
                message_id=message_id,
                in_force=bool(value),
            )
        )

    def _value(self, demand: Demand, other_than: str) -> str:
        words = slots(self._dice, self._project)
        values = [Template(value).substitute(words) for value in demand.values]
        return self._dice.pick([value for value in values if value != other_than])

    def _paste(self) -> str:
        dice = self._dice
        writer = dice.pick((service_log, stack_trace))
        return f"\n\n```\n{writer(dice, self._project, dice.between(600, 7_000)).text}\n```"


def _sentence(demand: Demand, language: Language) -> Template:
    return Template(demand.english if language == "english" else demand.chinese)
