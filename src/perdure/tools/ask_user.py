"""The ask_user tool: questions with options, put to the user through a port.

It knows what a question looks like. It must never know a screen. Where there is nobody to ask, the call fails and says
so, since an answer that nobody gave is worse than none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from perdure.guard.plain import clip, one_line
from perdure.kernel.agent import AgentTool
from perdure.kernel.messages import Json, JsonObject, Tool
from perdure.kernel.value import value
from perdure.tools.actions import Harmless, Offered
from perdure.tools.arguments import objects_in
from perdure.tools.failed import ToolFailed

NAME = "ask_user"

MOST_QUESTIONS = 4
MOST_OPTIONS = 6
LONGEST = 1_000
"""Characters of a question."""
LABEL = 200
"""Characters of an option, on one line."""

DESCRIPTION = """\
Asks the user what only the user can decide: what is wanted, which of several ways, whether something risky is agreed. \
Find out first what can be found out. Up to 4 questions at once, each with 2 to 6 options that exclude one another \
(unless `several`), the one that you advise first. The user may always answer in words of their own."""

ASK_USER = Tool(
    name=NAME,
    description=DESCRIPTION,
    schema={
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_QUESTIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "question": {
                            "type": "string",
                            "description": "a whole question, with what is needed to decide",
                        },
                        "options": {
                            "type": "array",
                            "maxItems": MOST_OPTIONS,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "label": {"type": "string", "description": "a few words"},
                                    "means": {"type": "string", "description": "what follows from it"},
                                },
                                "required": ["label"],
                            },
                        },
                        "several": {"type": "boolean", "description": "whether more than one may be chosen"},
                    },
                    "required": ["question"],
                },
            }
        },
        "required": ["questions"],
    },
)


@value
class Option:
    """One of the answers that the model offers."""

    label: str
    means: str = ""


@value
class Question:
    """What the model asks. Text of the model: a screen has to show it as such."""

    text: str
    options: tuple[Option, ...] = ()
    """Empty: the user answers in words."""
    several: bool = False


@value
class Reply:
    """What the user said to one question."""

    chosen: tuple[str, ...] = ()
    """Labels."""
    words: str = ""
    """What the user wrote, beside or instead of a choice."""


Asker: TypeAlias = Callable[[tuple[Question, ...]], Awaitable[tuple[Reply, ...] | None]]
"""Puts questions to the user: one reply for each, or None where the user did not want to answer. Waits as long as the
user takes; cancelled where the run is interrupted."""


def offered(ask: Asker | None) -> Offered:
    """The tool. Without an asker, which is how it stands where no user is present, each call fails."""

    async def run(given: JsonObject) -> str:
        questions = questions_of(given)
        if ask is None:
            raise ToolFailed(
                "Nobody is there to answer: this session runs without a user. Take the most careful choice, "
                "say in your answer which one you took and why, and what the user should check."
            )
        replies = await ask(questions)
        if replies is None:
            return (
                "The user did not answer. Go on without an answer only where nothing depends on it; else stop and say."
            )
        return "\n\n".join(_told(question, reply) for question, reply in zip(questions, replies, strict=True))

    return Offered(tool=AgentTool(definition=ASK_USER, run=run), actions=lambda _given: (Harmless(),))


def questions_of(given: JsonObject) -> tuple[Question, ...]:
    """What a call asks.

    Raises:
        ToolFailed: no question, or too many.
    """
    items = objects_in(given, "questions")
    if not items:
        raise ToolFailed(f"There is no question. Give a list of one to {MOST_QUESTIONS}.")
    if len(items) > MOST_QUESTIONS:
        raise ToolFailed(f"{len(items)} questions at once are too many; ask the {MOST_QUESTIONS} that matter most.")
    return tuple(_question(item, place) for place, item in enumerate(items, 1))


def _question(item: JsonObject, place: int) -> Question:
    text, options = item.get("question"), item.get("options") or []
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise ToolFailed(f"The `question` of question {place} must be a text of at most {LONGEST} characters.")
    if not isinstance(options, list) or len(options) > MOST_OPTIONS:
        raise ToolFailed(f"The `options` of question {place} must be a list of at most {MOST_OPTIONS}.")
    read = tuple(_option(option, place) for option in options)
    if len({option.label for option in read}) < len(read):
        raise ToolFailed(f"Two options of question {place} have the same label.")
    return Question(text=text.strip(), options=read, several=item.get("several") is True)


def _option(item: Json, place: int) -> Option:
    label, means = (item.get("label"), item.get("means")) if isinstance(item, dict) else (item, None)
    if not isinstance(label, str) or not label.strip():
        raise ToolFailed(f"An option of question {place} has no `label`.")
    described = one_line(clip(means.strip(), LABEL)) if isinstance(means, str) else ""
    return Option(label=one_line(clip(label.strip(), LABEL)), means=described)


def _told(question: Question, reply: Reply) -> str:
    said = [", ".join(reply.chosen)] if reply.chosen else []
    if reply.words.strip():
        said.append(reply.words.strip())
    return f"{question.text}\nThe user: {'; '.join(said) or '(no answer)'}"
