"""Checks a model's narrative against what was folded, and takes out what nothing bears out.

It knows quotes, identifiers, numbers and the results of tool calls. It must never judge whether a sentence is a good
one: only whether what it names was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from perdure.kernel.context.checkpoint.calls import Call, calls_of
from perdure.kernel.context.checkpoint.document import CheckpointDocument, Done, Narrative, to_json
from perdure.kernel.context.checkpoint.files import uses_of
from perdure.kernel.messages import (
    Block,
    Compaction,
    Json,
    Message,
    ServerToolResult,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    encode_json,
    text_of,
    typed_texts,
)
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

SHORTEST_QUOTE = 2
"""Words; a single quoted word is looked up as an identifier is."""
OCCURRENCES = 200
"""Places of a short token that are looked at before it counts as absent."""

_QUOTE = pattern(r"\"([^\"\n]{2,400})\"|“([^”\n]{2,400})”|`([^`\n]{1,400})`|「([^」\n]{1,400})」")
_USERS = pattern(
    r"\b(?:user|human|customer)\b[^\"“「]{0,80}\b(?:said|says|asked|asks|wants?|told|tells|wrote|writes|typed|"
    r"requested|requires?|"
    r"insist(?:s|ed)|stated|states|prefers?|instructed|words)\b|用户(?:说|要求|希望|表示|指出)",
    re.IGNORECASE,
)
_IDENTIFIER = pattern(
    r"(?<![\w@/-])(?:[~.]{0,2}/)?[\w@-]+(?:[./:][\w@-]+)+/?"  # paths, dotted names, host:port, versions
    r"|(?<!\w)\w*_\w*"
    r"|(?<!\w)[A-Za-z]+\d\w*|(?<!\w)\d+[A-Za-z]\w*"  # names and values with digits, hashes
    r"|(?<!\w)[a-z]+[A-Z]\w*|(?<!\w)[A-Z][a-z]+[A-Z]\w*"
    r"|(?<![\w.,])\d[\d,]*\d(?:\.\d+)?(?!\w)"  # numbers of two digits or more; a model may count to nine by itself
)
_COMMON = pattern(
    r"javascript|typescript|github|gitlab|postgresql|mysql|graphql|openai|youtube|macos|e\.g|i\.e|node\.js"
)


@value
class Removed:
    """A claim that was taken out."""

    claim: str
    reason: str


@value
class Verified:
    """A narrative in which every claim that can be checked was checked."""

    narrative: Narrative
    removed: tuple[Removed, ...] = ()
    moved: tuple[str, ...] = ()
    """What was called done without evidence, and now stands under in progress."""


def verify(narrative: Narrative, folded: Sequence[Message], previous: CheckpointDocument | None) -> Verified:
    """The narrative without what nothing in the folded messages or the previous checkpoint bears out."""
    facts = _facts(folded, previous)
    before = previous.narrative if previous is not None else Narrative()
    removed: list[Removed] = []
    kept = {
        field.name: tuple(_borne_out(getattr(narrative, field.name), facts, removed))
        for field in fields(Narrative)
        if field.name != "done"
    }
    done, moved = _done(narrative.done, before, facts, removed)
    finished = {_plain(item.text) for item in done}
    for name in ("in_progress", "next_steps"):
        revived = [item for item in kept[name] if _plain(item) in finished]
        removed.extend(Removed(claim=item, reason="it is done already") for item in revived)
        kept[name] = tuple(item for item in kept[name] if item not in revived)
    kept["in_progress"] = (*kept["in_progress"], *moved)
    return Verified(narrative=Narrative(done=done, **kept), removed=tuple(removed), moved=moved)


@value
class _Facts:
    """What claims are held against: lower case, each white space one space."""

    everything: str
    typed: str
    calls: dict[str, Call]
    succeeded: frozenset[str]
    modified: frozenset[str]
    commands: tuple[str, ...]


def _facts(folded: Sequence[Message], previous: CheckpointDocument | None) -> _Facts:
    calls = calls_of(folded)
    good = [call for call in calls if call.succeeded]
    carried = [*_strings(to_json(previous))] if previous is not None else []
    said = [*(each.text for each in previous.said), *previous.pins] if previous is not None else []
    typed = [text.text for message in folded for text in typed_texts(message)]
    before = previous.narrative.done if previous is not None else ()
    return _Facts(
        everything=_plain("\n".join([*(_seen(block) for message in folded for block in message.content), *carried])),
        typed=_plain("\n".join([*typed, *said])),
        calls={call.id: call for call in calls},
        succeeded=frozenset((*(call.id for call in good), *(name for done in before for name in done.evidence))),
        modified=frozenset(path.lower() for call in good for use, path in uses_of(call) if use == "modified"),
        commands=tuple(_plain(call.command) for call in good if call.command),
    )


def _borne_out(items: Iterable[str], facts: _Facts, removed: list[Removed]) -> Iterator[str]:
    for item in items:
        reason = _unfounded(item, facts)
        if reason is None:
            yield item
        else:
            removed.append(Removed(claim=item, reason=reason))


def _unfounded(item: str, facts: _Facts) -> str | None:
    """Why a claim is taken out, or None."""
    users = _USERS.search(item) is not None
    for match in _QUOTE.finditer(item):
        quote = next(group for group in match.groups() if group)
        words = _plain(quote).strip(" .,;:!?…。，；")
        is_code = match.group(3) is not None
        source = facts.typed if users and not is_code and len(words.split()) >= SHORTEST_QUOTE else facts.everything
        if words and words not in source:
            return f"the {'user never said' if source is facts.typed else 'quote is nowhere:'} {quote!r}"
    for token in _identifiers(_QUOTE.sub(" ", item)):
        if not _occurs(token, facts.everything):
            return f"nothing names {token!r}"
    return None


def _identifiers(text: str) -> Iterator[str]:
    for match in _IDENTIFIER.finditer(text):
        token = match.group().strip(".:/-").lower()
        if token and not _COMMON.fullmatch(token):
            yield token


def _occurs(token: str, text: str) -> bool:
    """Whether a token stands in a text, not as part of a longer word. Thousands may be written either way."""
    forms = {token, token.replace(",", "")}
    return any(_stands(form, text) for form in forms)


def _stands(token: str, text: str) -> bool:
    at = -1
    for _ in range(OCCURRENCES):
        at = text.find(token, at + 1)
        if at < 0:
            return False
        before, after = text[at - 1 : at], text[at + len(token) : at + len(token) + 1]
        if not (before.isalnum() and token[0].isalnum()) and not (after.isalnum() and token[-1].isalnum()):
            return True
    return False


def _done(
    items: Iterable[Done], before: Narrative, facts: _Facts, removed: list[Removed]
) -> tuple[tuple[Done, ...], tuple[str, ...]]:
    """What is done: all that was done before, and what the folded range shows; and what it does not show."""
    known = {_plain(item.text) for item in before.done}
    shown: list[Done] = []
    moved: list[str] = []
    for item in items:
        reason = _unfounded(item.text, facts)
        evidence = tuple(name for name in item.evidence if name in facts.succeeded)
        if reason is not None:
            removed.append(Removed(claim=item.text, reason=reason))
        elif _plain(item.text) in known:
            continue
        elif evidence or (not _cites_failure(item, facts) and _is_shown(item.text, facts)):
            shown.append(Done(text=item.text, evidence=evidence))
        else:
            moved.append(item.text)
    cited = {name for item in shown for name in item.evidence}
    old = [item for item in before.done if not item.evidence or not cited.issuperset(item.evidence)]
    return (*old, *shown), tuple(moved)


def _cites_failure(item: Done, facts: _Facts) -> bool:
    return any(name in facts.calls and not facts.calls[name].succeeded for name in item.evidence)


def _is_shown(text: str, facts: _Facts) -> bool:
    """Whether it names a file that was modified, or a command that succeeded."""
    plain = _plain(text)
    names = [path.rsplit("/", 1)[-1] for path in facts.modified]
    if any(_occurs(name, plain) for name in names if name):
        return True
    return any(command in plain or _opening(command) in plain for command in facts.commands)


def _opening(command: str) -> str:
    """The first two words of a command, by which people name it."""
    words = command.split()
    return " ".join(words[:2]) if len(words) > 1 else f"`{command}`"


def _seen(block: Block) -> str:
    match block:
        case Text(text=text):
            return text
        case ToolUse(id=name, name=tool, input=given, raw_input=raw):
            return f"{name} {tool} {raw or ' '.join(_strings(given))}"
        case ToolResult(content=content):
            return text_of(content)
        case Thinking(thinking=thinking):
            return thinking
        case Compaction(content=content):
            return content or ""
        case ServerToolUse(input=given):
            return encode_json(given).decode()
        case ServerToolResult(content=content):
            return encode_json(content).decode()
        case _:
            return ""


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case int() | float():
            yield str(value)
        case None:
            pass


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
