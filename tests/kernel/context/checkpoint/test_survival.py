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
    # rules
    "Schema changes pass through Ingrid before they reach staging.",
    "If a test needs the network, throw the test away.",
    "Secrets come from the vault, never from the environment.",
    "We don't swallow exceptions in this service.",
    "The folder called legacy is frozen.",
    "Whatever you log, customer names stay out of it.",
    "Each endpoint answers in JSON, errors included.",
    # limits
    "A page weighs 300 kB and not a byte more.",
    "The batch has to be through by six in the morning.",
    "Stay below twelve database connections per worker.",
    "Our plan allows 40 builds a day.",
    "Functions longer than a screen get sent back by the reviewers.",
    # preferences
    "I like early returns better than nested branches.",
    "Plain SQL suits me more than the query builder.",
    "For commit messages the imperative mood, please.",
    "Give me the short answer first and the reasons afterwards.",
    "Tabs in Go files, spaces everywhere else.",
    # values
    "The sandbox listens on 7443.",
    "Rounding is half to even.",
    "Warehouse 17 is the one in Gdynia.",
    "Session tokens expire after twenty minutes.",
    "The tenant header is spelled X-Acme-Tenant.",
    # the task
    "The aim of all this is to get rid of the cron jobs.",
    "So: move the invoice mailer over to the queue, and keep the old one running beside it for a week.",
)
CHINESE = (
    # 规矩
    "改表结构要先过一遍老周。",
    "日志里不能出现手机号。",
    "legacy 目录冻结了，里面的东西原样留着。",
    "凡是涉及退款的改动，两个人看过才能合。",
    "异常不许吞掉，往上抛。",
    # 限度
    "首屏体积三百 KB 封顶。",
    "批处理得赶在早上六点前跑完。",
    "每个进程的数据库连接别超过十二个。",
    "一个函数长过一屏就要拆。",
    # 偏好
    "先给结论，再讲理由。",
    "我习惯提前返回，少嵌套。",
    "变量名用英文全拼，缩写看着累。",
    # 取值
    "沙箱监听 7443 端口。",
    "会话二十分钟过期。",
    "十七号仓库在嘉兴。",
    # 任务
    "整件事的目的是把定时脚本全部下掉。",
    "这一轮先把发票邮件迁到消息队列，旧的并行跑一个礼拜。",
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

TALK = (
    "I had another look at {} this morning and it seems a little slower than it used to be.",
    "Can you walk me through what happens in {} when the second request comes in while the first is still open?",
    "That last diff for {} reads well, I only stumbled over the name of the second variable for a moment.",
    "Funny, I remember we had the same thing in {} about a year ago and it turned out to be a typo.",
    "The output for {} looks like what I saw on my own machine yesterday.",
    "I'm not sure I follow, what has {} got to do with the other failure?",
    "Could you print the first few rows of {} so that I can compare them with the sheet?",
    "My colleague says {} behaved strangely in the demo, but she couldn't reproduce it afterwards.",
    "我早上又看了一下{}，好像比之前慢一点，也可能是我网络的问题。",
    "给我讲讲{}这里第二个请求进来的时候会发生什么？",
    "我记得去年{}也出过类似的事，后来发现是拼写错了。",
)


def user(identifier: str, text: str) -> Message:
    return Message(id=identifier, role="user", provenance="user", content=(Text(text=text),))


def exchange(name: str, chance: random.Random) -> list[Message]:
    """A round of work: the assistant says something, reads something long, and reports."""
    lines = [f"{chance.randrange(10**9):09d} row {chance.randrange(10**6)} of the dump" for _ in range(18)]
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
        f"2026-03-0{chance.randrange(1, 9)} 11:{chance.randrange(10, 60)}:07 INFO worker-{n} took {chance.random()}"
        for n in range(lines)
    )
    return "\n".join(("this is what it printed:", *stamped))


def session(seed: int, sentences: Sequence[str], turns: int = 200, paste: int = 8) -> list[list[Message]]:
    """Turns of which some hold one of the sentences, alone or in a longer message; others are chatter or logs."""
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
    turns = session(seed=7, sentences=sentences, paste=60)
    typed = tokens("\n".join(text_of(turn[0].content) for turn in turns))
    share = 0.25 * typed / size([message for turn in turns for message in turn])

    text = checkpoint_after(rounds, turns, share)

    assert [] == [sentence for sentence in sentences if sentence not in text]


@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_talk_yields_before_what_must_last_when_the_user_said_twice_as_much_as_fits(
    rounds: int, sentences: Sequence[str]
) -> None:
    turns = talkative_session(seed=3, sentences=sentences)
    typed = tokens("\n".join(text_of(turn[0].content) for turn in turns))
    share = 0.5 * typed / size([message for turn in turns for message in turn])

    text = checkpoint_after(rounds, turns, share)

    assert [] == [sentence for sentence in sentences if sentence not in text]


def talkative_session(seed: int, sentences: Sequence[str], turns: int = 200) -> list[list[Message]]:
    """As `session`, with a user who talks in whole sentences all the time."""
    chance = random.Random(seed)
    topics = ("login", "search", "the export", "checkout", "upload", "billing", "the parser", "the queue")
    places = dict(zip(sorted(chance.sample(range(turns - 1), len(sentences))), sentences, strict=True))

    def talk() -> str:
        return " ".join(chance.choice(TALK).format(chance.choice(topics)) for _ in range(chance.choice((1, 2, 3))))

    return [
        [user(f"u{turn}", f"{talk()} {places[turn]}" if turn in places else talk()), *exchange(f"t{turn}", chance)]
        for turn in range(turns)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Run the dev server on port 8080.", "No, use 9090 instead."),
        ("The retry limit is 3.", "Set the retry limit to 5."),
        ("Keep answers under 200 words.", "Keep answers under 80 words from now on."),
        ("Indent with tabs.", "Use spaces instead of tabs."),
        ("Deploy to eu-west-1.", "Change of plan: deploy to eu-central-1, not eu-west-1."),
        ("端口用 8080。", "端口改成 9090。"),
        ("超时三十秒。", "超时改成 45 秒。"),
    ],
)
@pytest.mark.parametrize("rounds", [1, 5, 20])
def test_the_corrected_value_is_the_one_in_force(first: str, second: str, rounds: int) -> None:
    chance = random.Random(1)
    turns = [[user(f"u{turn}", chance.choice(CHATTER)), *exchange(f"t{turn}", chance)] for turn in range(60)]
    turns[10][0], turns[35][0] = user("u10", first), user("u35", second)

    lines = checkpoint_after(rounds, turns, 0.2).splitlines()

    assert [f"- u10 (superseded by u35): {first}", f"- u35 (in force instead of u10): {second}"] == [
        line for line in lines if line.startswith(("- u10 ", "- u35 "))
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The frontend listens on port 3000.", "The backend listens on port 4000."),
        ("Never push to main.", "Don't run the slow tests twice."),
        ("Log entries keep 7 days.", "Invoices keep 10 years."),
    ],
)
def test_two_rules_that_differ_in_more_than_a_value_both_stay_in_force(first: str, second: str) -> None:
    document = build(Fold(folded=[user("a", first), user("b", second)], previous=None), budget=10_000, measure=tokens)

    assert (True, True) == tuple(said.in_force for said in document.said)
