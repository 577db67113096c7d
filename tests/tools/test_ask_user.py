"""Questions reach the user as they were asked, and answers the model as they were given."""

import asyncio
from collections.abc import Awaitable
from typing import cast

import pytest

from perdure.kernel.messages import Json
from perdure.tools.ask_user import Asker, Option, Question, Reply, offered
from perdure.tools.failed import ToolFailed

TEA: Json = {"question": "Which tea?", "options": [{"label": "Assam", "means": "Strong."}, {"label": "Oolong"}]}


def asked(ask: Asker | None, *questions: Json) -> str:
    async def go() -> str:
        return await cast("Awaitable[str]", offered(ask).tool.run({"questions": list(questions)}))

    return asyncio.run(go())


def answering(*replies: Reply) -> tuple[Asker, list[Question]]:
    seen: list[Question] = []

    async def ask(questions: tuple[Question, ...]) -> tuple[Reply, ...]:
        seen.extend(questions)
        return replies

    return ask, seen


def test_a_choice_and_the_users_own_words_both_reach_the_model() -> None:
    ask, seen = answering(Reply(chosen=("Assam",), words="with milk"), Reply(words="Tomorrow."))

    said = asked(ask, TEA, {"question": "When?"})

    assert "Which tea?\nThe user: Assam; with milk\n\nWhen?\nThe user: Tomorrow." == said
    options = (Option(label="Assam", means="Strong."), Option(label="Oolong"))
    assert [Question(text="Which tea?", options=options), Question(text="When?")] == seen


def test_without_a_user_the_call_fails_and_says_what_to_do() -> None:
    with pytest.raises(ToolFailed, match="this session runs without a user"):
        asked(None, TEA)


def test_a_user_who_does_not_answer_is_no_error() -> None:
    async def ask(_questions: tuple[Question, ...]) -> None:
        return None

    assert asked(ask, TEA).startswith("The user did not answer.")


def test_what_could_steer_a_terminal_is_written_as_an_escape_in_a_label() -> None:
    ask, seen = answering(Reply())
    asked(ask, {"question": "Which?", "options": [{"label": "As\x1b[2Jsam"}]})

    assert "As\\x1b[2Jsam" == seen[0].options[0].label


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([], "There is no question"),
        ([TEA] * 5, "too many"),
        (["Which?"], "must be an object"),
        ([{"question": ""}], "must be a text"),
        ([{"question": "?" * 1_001}], "must be a text"),
        ([{"question": "Which?", "options": "Assam"}], "must be a list"),
        ([{"question": "Which?", "options": [{"label": str(n)} for n in range(7)]}], "at most 6"),
        ([{"question": "Which?", "options": [{"means": "x"}]}], "no `label`"),
        ([{"question": "Which?", "options": ["Assam", "Assam"]}], "the same label"),
    ],
)
def test_questions_that_are_none_are_refused_before_anybody_is_asked(questions: list[Json], said: str) -> None:
    ask, seen = answering()
    with pytest.raises(ToolFailed) as caught:
        asked(ask, *questions)

    assert (True, []) == (said in str(caught.value), seen)
