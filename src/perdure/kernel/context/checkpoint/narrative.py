"""Reads a model's reply to the request to summarise, or refuses it with a named reason.

It knows our headings and how bad summaries look. It must never know whether what a summary says is true: `verify` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from perdure.kernel.context.checkpoint.document import Done, Narrative
from perdure.kernel.messages import Message, Text
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

Refusal: TypeAlias = Literal[
    "empty",
    "cut off",
    "error text",
    "no summary tag",
    "tool call",
    "analysis only",
    "larger than what it replaces",
    "repeats instructions",
]

CUT_OFF = frozenset(("max_tokens", "length", "max_output_tokens", "incomplete", "model_context_window_exceeded"))
"""Stop reasons that mean: there was more to say (Anthropic, OpenAI chat, OpenAI responses)."""
SHORTEST = 20
"""Characters of a summary that can say anything: what stands between tags that a request merely mentions is shorter."""

ECHO = 9
"""Words in a row that a summary shares with the request only when it repeats it."""

_HIDDEN = pattern(r"<(think|thinking|analysis|scratchpad|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_OPEN = pattern(r"<summary>", re.IGNORECASE)
_CLOSE = pattern(r"</summary>", re.IGNORECASE)
_HEADING = pattern(r"\s*(?:#{1,6}(?P<marked>.+)|\*\*(?P<bold>[^*]+?):?\*\*:?|(?P<plain>[A-Z][A-Za-z &]{2,40}):)\s*$")
_BULLET = pattern(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ xX~✓]\]\s*)?")
_EVIDENCE = pattern(r"(?<!\s)\s*[\[(](?:evidence: ?)?(?P<ids>[\w.:-]{6,}(?:\s*,\s*[\w.:-]{6,})*)[\])]\.?\s*$")
_NOTHING = pattern(
    r"\W*(?:none|n/?a|nothing|empty|无|没有)(?: yet| so far| at (?:the|this) moment)?\W*$", re.IGNORECASE
)
_ERROR = pattern(
    r"\W*(?:api |internal |server |request )?(?:error\b|prompt is too long|request too large|rate limit|"
    r"overloaded|timed? ?out|"
    r"context (?:length|window) exceeded|i(?:['’]m| am) sorry,? (?:but )?i can(?:no|['’])t|i can(?:no|"
    r"['’])t (?:help|assist|summari))",
    re.IGNORECASE,
)
_CARRIED = pattern(r"<(conversation|previous-summary|steer)>.*</\1>", re.DOTALL)
_AS_THE_USERS = pattern(
    r"\b(?:user|human)\b.{0,40}\b(?:ask|request|instruct|said|told|require)\w*\b.{0,30}\b(?:summar\w+|checkpoint\w*)"
    r".{0,25}\b(?:conversation|session|transcript|context|so far)|\bno (?:further )?tool calls? (?:allowed|may)|"
    r"\b(?:respond|reply) (?:only )?with (?:only )?(?:a |the )?(?:text|<?summary)",
    re.IGNORECASE,
)
"""The request to summarise, recorded as a wish of the user's."""

_SECTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("in_progress", pattern(r"in[ -]progress|ongoing|current (?:work|state)|进行中", re.IGNORECASE)),
    ("done", pattern(r"done|complet|finished|accomplished|已完成", re.IGNORECASE)),
    ("blocked", pattern(r"block|阻塞", re.IGNORECASE)),
    ("decisions", pattern(r"decision|决定|决策", re.IGNORECASE)),
    ("next_steps", pattern(r"next|remaining|下一步", re.IGNORECASE)),
    ("critical", pattern(r"critical|context|notes|关键", re.IGNORECASE)),
    ("goal", pattern(r"goal|objective|request|intent|目标", re.IGNORECASE)),
    (
        "code",
        pattern(r"user said|todo|files?\b|where the rest|progress|constraints|turn that goes on", re.IGNORECASE),
    ),
)
"""What a heading names; `code` is what code carries, and no model's word counts for."""


@value
class Verdict:
    """A reply that was read, or the reason why it is refused."""

    narrative: Narrative | None
    refused: Refusal | None = None


def judge(reply: Message, *, request: str, replaced: int, measure: Callable[[str], int]) -> Verdict:
    """Whether a reply may become the narrative of a checkpoint.

    `request` is the text that asked for it, `replaced` the tokens of what the summary stands for.
    """
    text = "\n".join(block.text for block in reply.content if isinstance(block, Text))
    refused = _refused_form(reply, text)
    if refused is not None:
        return Verdict(narrative=None, refused=refused)
    body = summary_of(text) or ""
    narrative = parse(body)
    refused = _refused_body(body, narrative, request)
    if refused is None and measure(body) > replaced:
        refused = "larger than what it replaces"
    return Verdict(narrative=None if refused else narrative, refused=refused)


def summary_of(text: str) -> str | None:
    """What stands between the last pair of summary tags, outside of thinking; None where there is no pair."""
    seen = _HIDDEN.sub("", text)
    opened = [*_OPEN.finditer(seen)]
    for opening in reversed(opened):
        closing = _CLOSE.search(seen, opening.end())
        if closing is not None:
            return seen[opening.end() : closing.start()].strip()
    return None


def parse(body: str) -> Narrative:
    """The sections of a summary. Text without a heading, or under an unknown one, is critical context."""
    found: dict[str, list[str]] = {name: [] for name, _ in _SECTIONS}
    for name, item in _items(body):
        found[name].append(item)
    return Narrative(
        goal=tuple(found["goal"]),
        done=tuple(map(_done, found["done"])),
        in_progress=tuple(found["in_progress"]),
        blocked=tuple(found["blocked"]),
        decisions=tuple(found["decisions"]),
        next_steps=tuple(found["next_steps"]),
        critical=tuple(found["critical"]),
    )


def _refused_form(reply: Message, text: str) -> Refusal | None:
    complete = summary_of(text) is not None
    if reply.tool_uses and not complete:
        return "tool call"
    if not text.strip():
        return "cut off" if reply.stop_reason in CUT_OFF else "empty"
    if reply.stop_reason in CUT_OFF:
        return "cut off"
    if complete:
        return None
    seen = _HIDDEN.sub("", text)
    if _OPEN.search(seen):
        return "cut off"
    if _ERROR.match(text) and len(text) < 2_000:
        return "error text"
    return "analysis only" if not seen.strip() else "no summary tag"


def _refused_body(body: str, narrative: Narrative, request: str) -> Refusal | None:
    if narrative == Narrative() or len(body) < SHORTEST:
        return "empty"
    if _ERROR.match(body) and len(body) < 2_000:
        return "error text"
    return "repeats instructions" if _repeats(body, request) else None


def _repeats(body: str, request: str) -> bool:
    """Whether the summary says what the request to write it says, apart from the content that the request carries."""
    instructions = _CARRIED.sub(" ", request)
    return _AS_THE_USERS.search(body) is not None or bool(_shingles(body) & _shingles(instructions))


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + ECHO]) for at in range(len(words) - ECHO + 1)}


def _items(body: str) -> Iterator[tuple[str, str]]:
    section, item = "critical", ""
    for line in body.splitlines():
        heading = _HEADING.match(line)
        fresh = _BULLET.match(line)
        if heading or fresh or not line.strip():
            if item and not _NOTHING.match(item):
                yield section, item
            item = ""
        if heading:
            section = _section(heading["marked"] or heading["bold"] or heading["plain"])
        elif fresh:
            item = line[fresh.end() :].strip()
        elif line.strip():
            item = f"{item} {line.strip()}".strip()
    if item and not _NOTHING.match(item):
        yield section, item


def _section(heading: str) -> str:
    return next((name for name, pattern in _SECTIONS if pattern.search(heading)), "critical")


def _done(item: str) -> Done:
    cited = _EVIDENCE.search(item)
    if cited is None or not re.search(r"[\d_]", cited["ids"]):
        return Done(text=item)
    return Done(text=item[: cited.start()].strip(), evidence=tuple(re.split(r"\s*,\s*", cited["ids"])))
