"""How much a passage looks like something that must last: a rule, a limit, a preference, a value, a task.

It knows general cues of English and Chinese, as a table. It must never be told what a passage is, and never know a
transcript: recency, novelty and room are `said`'s business. A passage without any cue still scores by what it states,
so that the table orders and never decides alone.
"""

from __future__ import annotations

import re

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value


@value
class Cue:
    """One row of the table: a reading that `pattern` suggests, and what it is worth."""

    reading: str
    weight: float
    pattern: re.Pattern[str]


def _cue(reading: str, weight: float, *patterns: str) -> Cue:
    return Cue(reading=reading, weight=weight, pattern=pattern("|".join(patterns), re.IGNORECASE))


CUES = (
    _cue(
        "obligation",
        3.0,
        r"\b(?:must|ha(?:s|ve) to|need(?:s|ed)? to|requir(?:e|es|ed|ement)|shall|should|ought|supposed to)\b",
        r"\b(?:make sure|be sure|ensure|remember(?: to| that|:)|keep in mind|mandatory|important|essential|"
        r"crucial|critical|guarantee[sd]?)\b",
        r"必须|务必|一定要|应该|应当|需要|得先|要求|确保|保证|记住|记得|牢记|重要",
    ),
    _cue(
        "prohibition",
        3.0,
        r"\b(?:never|do not|don['’]?t|does not|must not|cannot|can['’]?t|won['’]?t|shouldn['’]?t|mustn['’]?t)\b",
        r"\b(?:avoid|forbid(?:den)?|off[- ]limits|hands off|not allowed|prohibited|banned?|refrain|stay away|"
        r"stay out)\b",
        r"\bno (?:new|more|other|further|\w+ing)\b|\bunder no\b|\bwithout (?:asking|my|our|first|\w+ing)\b|"
        r"\bleave .{1,60} alone\b",
        r"不要|不许|不得|不能|不可|禁止|切勿|请勿|别(?:的)?(?!人)|严禁|避免|勿|不准|不允许|绝不|千万",
    ),
    _cue(
        "standing",
        2.5,
        r"\b(?:always|every(?: time|where)?|each|whenever|only|solely|exclusively|by default|until|unless|"
        r"throughout)\b",
        r"\b(?:from (?:now|here|today) on|going forward|in future|at all times|as a rule|any ?time|for all|any|"
        r"once|both)\b",
        r"\b(?:before|after|when|if) (?:you|we|any|each|every|a|the)\b|\b(?:everything|nothing|nobody|everyone|"
        r"anything)\b",
        r"都|总是|始终|永远|一律|统一|每次|每个|每当|所有|任何|全部|只能|谁都|凡|只有|只用|仅|以后|今后|从现在|"
        r"默认|除非|"
        r"凡是|都要|之前|之后",
    ),
    _cue(
        "limit",
        2.5,
        r"\b(?:at (?:most|least)|(?:no|not) (?:more|less|fewer|longer|later|earlier)\b|up to|max(?:imum)?|"
        r"min(?:imum)?|limit)",
        r"\b(?:limit(?:ed|s)?|cap(?:ped)?|ceiling|budget|quota|exceed|within|below|above|under|over|threshold|"
        r"deadline)\b",
        r"封顶|顶多|为限|赶在|最多|最少|至少|至多|不超过|不少于|不低于|不高于|上限|下限|限制|以内|以下|以上|之内|"
        r"预算|截止|不大于|"
        r"不小于|控制在",
    ),
    _cue(
        "preference",
        2.0,
        r"\b(?:prefer(?:s|red|ence)?|rather|favou?r|i(?:['’]d)? (?:would )?(?:like|want|need|hate|love|dislike)|"
        r"we (?:want|need|like))\b",
        r"\b(?:stick (?:to|with)|keep|use|expect(?:s|ed)?|go with|opt for|choose|style|convention|standard|"
        r"please|follow|treat|"
        r"assume|stay)\b",
        r"喜欢|偏好|优先|最好|尽量|希望|我想|我要|想要|倾向|采用|使用|请|保持|沿用|遵循|风格|习惯|讨厌|宁可",
    ),
    _cue(
        "correction",
        3.0,
        r"\b(?:instead|correction|actually|scratch that|on second thought|changed? (?:my|our) mind|no longer|"
        r"anymore|any more)\b",
        r"^(?:no|nope|wait|sorry)\b[,.:;!— -]|\b(?:switch(?:ed)?|chang(?:e|ed)|moved?|renamed?|bump(?:ed)?|"
        r"replaced?) .{0,60}\b(?:to|from|with|by)\b",
        r"\bnot\b.{1,60}\bbut\b|\brather than\b|\bwas wrong\b|\bi (?:was mistaken|misspoke|meant)\b|"
        r"\bforget (?:about|what|the)\b",
        r"改成|改为|换成|换为|而不是|不是.{1,30}而是|更正|纠正|说错|不对|不再|取消|作废|之前说的|还是用|调整为|改用",
    ),
    _cue(
        "task",
        2.0,
        r"\b(?:task|goal|objective|aim|mission|priority|focus(?:ing)?|the (?:job|plan|point|idea|ask)|"
        r"deliver(?:able)?)\b",
        r"\bwe(?:['’]re| are) (?:building|working|migrating|trying|porting|moving|doing|after|replacing|"
        r"writing)\b|\bworking on\b",
        r"任务|目标|目的|当前|接下来|这次|主要|重点|计划|我们(?:要|在|正在)|完成|实现",
    ),
    _cue(
        "statement",
        1.5,
        r"^(?:our|we|all|an?|the|this|that|these|those|my|users?|customers?|clients?|there)\b.{1,80}?\b(?:is|are|"
        r"was|has|have|lives?|runs?|"
        r"goes?|uses?|belongs?|sits?|comes?|gets?|go|live|run|sit|means?|speaks?|listens?|answers?|expires?|"
        r"ends?|starts?|owns?|takes?)\b",
        r"我们的|是|为|位于|在.{1,20}上|属于|放在|等于|叫|用的",
    ),
    _cue(
        "modal",
        1.5,
        r"要(?!是|不然|么)|得(?=赶|先|在|按|用|把|有|过|等|跟|经)|才(?:能|可以|行|算)|先.{1,12}(?:再|然后)|"
        r"不(?:用|许|该|应)",
    ),
    _cue(
        "impersonal",
        1.0,
        r"^(?!.*\b(?:i|you|he|she|me|my|your|it|this|that|was|were|had|did|\w+ed)\b)(?!.*[?？我你他她咱这那]|"
        r".*[吗呢吧了][。！]?$).{8,}",
    ),
    _cue(
        "value",
        1.5,
        r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|half|"
        r"twice|double|zero)\b",
        r"[一二两三四五六七八九十百千万半]+\s?(?:位|秒|分|小时|天|周|月|年|个|行|次|条|字|页|倍|成|层|级|块|元|"
        r"号|台|份|种|点)",
        r"\d|`[^`\n]+`|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|「[^」\n]{1,80}」|(?<=\w)[_/]\w|\w\.\w|\b[a-z]+[A-Z]\w+",
    ),
    _cue(
        "name",
        0.5,
        r"(?-i:(?<=[a-z,] )[A-Z][\w-]+|\b[A-Z]{2,}\b)",
    ),
)  # fmt: skip

DOUBTS = (
    _cue(
        "question",
        -2.0,
        r"[?？]\s*$|^(?:what|why|how|where|who|when|which|is|are|do|does|did|could|can|would)\b.*\?",
        r"吗[?？。]?$|呢[?？]$",
    ),
    _cue(
        "reaction",
        -3.0,
        r"^(?:ok(?:ay)?|thanks?|thank you|thx|great|nice|cool|yes|yep|yeah|sure|hmm+|hi|hello|hey|lol|haha|"
        r"perfect|awesome|good|fine|right|"
        r"looks? good|sounds? good|go (?:ahead|on)|carry on|continue|well done|interesting|got it|makes sense|"
        r"let['’]?s see)\b.{0,40}$",
        r"^(?:好的?|行|可以|谢谢|继续|不错|嗯+|哈哈|明白|没问题|辛苦|收到|好吧|原来如此|你好|对).{0,8}$",
    ),
    _cue(
        "aside",
        -1.5,
        r"\b(?:i(?:['’]m| am|['’]ll| will| was| just| think| guess| wonder)|let me|maybe|perhaps|by the way|btw|"
        r"brb|lunch|coffee|weekend|"
        r"meeting|weather|tired|morning|evening|tonight|yesterday|funny|curious|wow|back (?:in|soon)|moment|"
        r"minutes? ago)\b",
        r"顺便|吃饭|咖啡|周末|天气|昨天|刚才|稍等|开会|下班|有点|感觉|好像|看看",
    ),
    _cue(
        "recollection",
        -1.5,
        r"\b(?:i|we|it|she|he|they|that|you) (?:had|saw|was|were|got|did|didn['’]?t|thought|said|tried|noticed|"
        r"looked|stumbled|remember|seems?)\b",
        r"我记得|去年|上次|早上|前几天|后来|发现|好像|似乎|看了",
    ),
    _cue(
        "errand",
        -1.0,
        r"^(?:(?:now|then|next|ok|and|please|also)[, ]+)*(?:show|look|open|run|check|try|explain|print|list|"
        r"read|find|tell|re-?run|commit|"
        r"take a look|have a look|see|give me|summari[sz]e|describe|compare)\b",
        r"^(?:先|再|然后|现在|请)?(?:看一?下|运行|跑一?下|检查|试试|解释|打开|列出|查一?下)",
    ),
)  # fmt: skip

MOST_FROM_CUES = 9.0
"""Beyond this a passage is no more of a rule."""
READ = 1_000
"""Characters of a passage that are looked at."""
LONG = 240
"""Characters; beyond this a passage costs more than it states."""


def score(text: str) -> float:
    """How much this passage looks like something to keep. Plain chatter is below zero, a clear rule above three."""
    words = text.strip()[:READ]
    found = sum(row.weight for row in CUES if row.pattern.search(words))
    doubts = sum(row.weight for row in DOUBTS if row.pattern.search(words))
    return min(found, MOST_FROM_CUES) + doubts + _size(text)


def corrects(text: str) -> bool:
    """Whether this passage says of itself that it changes something said before."""
    return _CORRECTION.pattern.search(text.strip()) is not None


def states_task(text: str) -> bool:
    """Whether this passage speaks of what is to be done."""
    return _TASK.pattern.search(text) is not None


_CORRECTION = next(row for row in CUES if row.reading == "correction")
_TASK = next(row for row in CUES if row.reading == "task")


def _size(text: str) -> float:
    """Too short to state anything, or too long to be a rule."""
    if len(text) < LONG and _words(text.strip()) < 3:
        return -2.0
    return -min(3.0, max(0.0, (len(text) - LONG) / LONG))


def _words(text: str) -> float:
    """Words of a short text; two Chinese characters count as one."""
    return len(text.split()) + sum("\u4e00" <= character <= "\u9fff" for character in text) / 2
