"""What a user typed anywhere in a long session is word for word in the checkpoint, after any number of rounds.

The sentences are ordinary speech, in English and Chinese; several carry no word that says what they are. Nothing tells
the product which of a user's sentences they are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from perdure.kernel.context.checkpoint import CheckpointDocument, Fold, build, render
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse, text_of

ENGLISH = (
    "Nobody but the release bot pushes to the production branch.",
    "The import job has ninety seconds, after that the gateway hangs up.",
    "Anything under vendored/ belongs to another team, so leave it as it is.",
    "Amounts are integers in cents; floats have burnt us twice.",
    "Dates on invoices read like 31.12.2026, that is what the accountants expect.",
    "I'd rather see three small commits than one big one.",
    "Migrations go out on Tuesdays.",
    "Two reviewers sign off on everything that touches billing.",
    "Our oldest customer still runs Postgres 12.",
    "Error texts are shown to nurses, keep jargon out of them.",
    "A customer id is eleven characters, the first of which is a letter.",
    "The mirror for packages is https://mirror.internal.example/simple and there is no other way out.",
    "Comments in this codebase are written in British English.",
    "What we're after is getting the nightly export under 4 GB of memory.",
    "Please don't touch the public signatures in api/v2.py, partners compile against them.",
)
CHINESE = (
    "线上数据库谁都别碰，读也走只读副本。",
    "导出接口最多等四十五秒，再长网关就断了。",
    "金额都按分存成整数。",
    "提交说明写中文，一句话讲清楚原因。",
    "比起继承，我更喜欢组合。",
    "门店编号是八位，前两位是省份。",
    "周五下午五点以后不发版。",
    "测试环境的地址是 10.20.0.7，账号找小组长要。",
    "这个阶段要做的是把夜间对账拆成可以重跑的小任务。",
    "老客户还在用安卓 7，界面得照顾到他们。",
)
CHATTER = (
    "ok, go on",
    "looks good to me so far",
    "thanks!",
    "hm, can you show me what that function returns?",
    "why did that fail?",
    "right, and the other one?",
    "could you run it once more?",
    "I'll grab a coffee, back in a bit",
    "nice",
    "so where are we?",
    "and now?",
    "I think I saw that message before somewhere",
    "take a look at the output above",
    "好的，继续",
    "这个报错是什么意思？",
    "不错",
    "我去开个会，你先跑着",
)


def user(identifier: str, text: str) -> Message:
    return Message(id=identifier, role="user", provenance="user", content=(Text(text=text),))


def exchange(name: str, chance: random.Random) -> list[Message]:
    """A round of work: the assistant says something, reads something long, and reports."""
    lines = [f"{chance.randrange(10**9):09d} row {chance.randrange(10**6)} of the dump" for _ in range(25)]
    return [
        Message(
            id=f"{name}-call",
            role="assistant",
            provenance="assistant",
            content=(
                Text(text="I will read the next part of the dump and compare it with the table."),
                ToolUse(id=f"{name}-use", name="Read", input={"file_path": f"dumps/{name}.txt"}),
            ),
        ),
        Message(
            id=f"{name}-result",
            role="user",
            provenance="tool",
            content=(ToolResult(tool_use_id=f"{name}-use", content="\n".join(lines)),),
        ),
        Message(
            id=f"{name}-answer",
            role="assistant",
            provenance="assistant",
            content=(Text(text="That part agrees with the table."),),
        ),
    ]


def pasted_log(chance: random.Random, lines: int) -> str:
    stamped = (
        f"2026-03-0{chance.randrange(1, 9)} 11:{chance.randrange(10, 60)}:07,120 INFO worker-{n} took batch {chance.random()}"
        for n in range(lines)
    )
    return "\n".join(("this is what it printed:", *stamped))


def session(seed: int, sentences: Sequence[str], turns: int = 200, paste: int = 8) -> list[list[Message]]:
    """Turns of which some hold one of the sentences, alone or inside a longer message; others are chatter or pasted logs."""
    chance = random.Random(seed)
    places = dict(zip(sorted(chance.sample(range(turns - 1), len(sentences))), sentences, strict=True))
    made: list[list[Message]] = []
    for turn in range(turns):
        text = chance.choice(CHATTER)
        if turn in places:
            text = chance.choice(("{}", "{}", f"{text}\n{{}}", f"{{}} {text}")).format(places[turn])
        elif chance.random() < 0.15:
            text = pasted_log(chance, paste)
        made.append([user(f"u{turn}", text), *exchange(f"t{turn}", chance)])
    return made


def size(messages: Sequence[Message]) -> int:
    return sum(tokens(text_of(message.content)) for message in messages)


def tokens(text: str) -> int:
    """Four bytes a token: near enough for sizes, and quick."""
    return (len(text.encode()) + 3) // 4


def checkpoint_after(rounds: int, turns: Sequence[Sequence[Message]], share: float) -> str:
    """The last checkpoint where each round folds a further stretch of turns; `share` is of all that is folded."""
    budget = int(size([message for turn in turns for message in turn]) * share)
    document: CheckpointDocument | None = None
    for number in range(rounds):
        stretch = turns[len(turns) * number // rounds : len(turns) * (number + 1) // rounds]
        folded = [message for turn in stretch for message in turn]
        document = build(Fold(folded=folded, previous=document), budget=budget, measure=tokens)
    assert document is not None
    text = render(document)
    assert tokens(text) <= budget
    return text


@pytest.mark.parametrize("rounds", [1, 5, 20])
@pytest.mark.parametrize("share", [0.2, 0.1])
@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_what_the_user_said_is_word_for_word_in_every_later_checkpoint(
    rounds: int, share: float, sentences: Sequence[str]
) -> None:
    text = checkpoint_after(rounds, session(seed=rounds, sentences=sentences), share)

    assert [] == [sentence for sentence in sentences if sentence not in text]


@pytest.mark.parametrize("rounds", [1, 5, 20])
@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_pasted_logs_yield_before_what_the_user_said(rounds: int, sentences: Sequence[str]) -> None:
    turns = session(seed=7, sentences=sentences, paste=120)
    typed = tokens("\n".join(text_of(turn[0].content) for turn in turns))
    share = 0.25 * typed / size([message for turn in turns for message in turn])

    text = checkpoint_after(rounds, turns, share)

    assert [] == [sentence for sentence in sentences if sentence not in text]
