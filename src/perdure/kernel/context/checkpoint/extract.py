"""The narrative without a model: what the messages themselves show, excerpted word for word.

It knows how work looks in a transcript: edits, test runs, commits, errors, plans. It must never write prose of its own
beyond a label, and never turn the text of a tool, of the web or of a peer into a rule: that is quoted as data, with its
source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from perdure.kernel.context.checkpoint.calls import Call
from perdure.kernel.context.checkpoint.cues import score
from perdure.kernel.context.checkpoint.document import CheckpointDocument, Done, Narrative, Said
from perdure.kernel.context.checkpoint.files import uses_of
from perdure.kernel.context.checkpoint.said import Spoken
from perdure.kernel.context.checkpoint.sentences import Passage, passages
from perdure.kernel.messages import Message, Text
from perdure.kernel.pattern import pattern

T = TypeVar("T")

MOST_OF_A_LIST = 30
"""Items of one section that a narrative carries; the newest stay."""
EXCERPT = 240
"""Characters of one excerpt."""
END_READ = 4_000
"""Characters at the end of a tool result in which errors are looked for."""
LATE = 0.5
"""The later part of the folded range, whose identifiers count as critical."""
ANSWER_READ = 6_000
"""Characters of one answer of the assistant's in which decisions and plans are looked for."""

_TESTS = pattern(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|go test|cargo (?:test|build|clippy)|npm (?:run )?(?:test|"
    r"build)|pnpm (?:run )?(?:test|build)|"
    r"yarn (?:test|build)|mvn|gradle|make (?:test|check|build)|tsc|ruff|mypy|pyright|eslint|ctest|rspec|phpunit|"
    r"dotnet test)\b"
)
_COMMIT = pattern(r"\bgit\s+(?:\S+\s+)*?(?:commit|push|merge|tag|rebase)\b")
_ERROR = pattern(
    r"(?:Error|Exception)\b|\b(?:error|ERROR|FAILED|FAIL|fatal|panic|failed|cannot|undefined)\b(?!s? found|: 0)"
)
_DECISION = pattern(
    r"\b(?:(?:i|we)(?:['’]ll| will|['’]ve| have)? (?:decided?|chose|chosen|go with|went with|opt(?:ed)? for|"
    r"settled? on|kept)|decision|"
    r"instead of|rather than|trade-?off|root cause|the fix is|turns out|by design)\b|"
    r"决定|选择|采用|原因是|而不是|改用",
    re.IGNORECASE,
)
_TENTATIVE = pattern(r"\b(?:let me|maybe|perhaps|likely|might|should i|i bet)\b|[:：?？]$|也许|可能", re.IGNORECASE)
_PLAN = pattern(
    r"\b(?:next(?: step| steps)?|i(?:['’]ll| will) (?:now|then|next)|remaining|still (?:need|to do|open)|"
    r"left to do|todo|then i|let me now|plan)\b"
    r"|接下来|下一步|然后|剩下|还需要|待办",
    re.IGNORECASE,
)
_IDENTIFIER = pattern(
    r"(?<![\w/.-])(?:[\w.-]*/[\w./-]*\w|[a-z]+(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w+|[A-Z]\w*[a-z][A-Z]\w*|"
    r"[A-Z]+(?:_[A-Z0-9]+)+|"
    r"\d{1,3}(?:\.\d{1,3}){3}|[a-z]\w*(?:\.\w+)+|(?:port|PORT)[ =:]\d{2,5}|[0-9a-f]{7,40})(?![\w/-])"
)


def extract(
    messages: Sequence[Message], calls: Sequence[Call], spoken: Spoken, previous: CheckpointDocument | None
) -> Narrative:
    """The narrative of these messages, behind what the previous checkpoint told."""
    before = previous.narrative if previous is not None else Narrative()
    answers = [*_answers(messages)]
    return Narrative(
        goal=_goal(spoken, before),
        done=_newest_done((*before.done, *_done(calls))),
        in_progress=tuple(_in_progress(messages, calls)),
        blocked=_failing(calls),
        decisions=_newest((*before.decisions, *_decisions(answers))),
        next_steps=_last_plan(answers) or (() if answers else before.next_steps),
        critical=_newest(_critical(messages, calls, before)),
    )


def recurring_names(messages: Iterable[Message], *, least: int) -> tuple[str, ...]:
    """Paths and identifiers that at least so many of the assistant's answers name, the most frequent first."""
    counts: dict[str, int] = {}
    for message in messages:
        if message.role == "assistant":
            for name in set(_IDENTIFIER.findall(_text(message)[:2_000])):
                counts[name] = counts.get(name, 0) + 1
    recurring = [name for name, count in counts.items() if count >= least and len(name) <= 100]
    return tuple(sorted(recurring, key=lambda name: (-counts[name], name)))


def turn_progress(messages: Sequence[Message], calls: Sequence[Call]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the folded start of a turn achieved, and what its rest builds on."""
    progress = tuple(f"{done.text} [{', '.join(done.evidence)}]" for done in _done(calls))[-8:]
    answers = [*_answers(messages)]
    needs = (*_failing(calls), *(f'The assistant: "{clip(answer)}"' for answer in answers[-1:]))
    return progress, needs[-6:]


def clip(text: str, limit: int = EXCERPT) -> str:
    """The beginning of a text on one line."""
    words = " ".join(text[: limit * 4].split())
    return words if len(words) <= limit else f"{words[: limit - 1].rstrip()}…"


def _newest(items: Iterable[T]) -> tuple[T, ...]:
    """The newest items, each once, where it came last."""
    last: dict[T, None] = {}
    for item in items:
        last.pop(item, None)
        last[item] = None
    return tuple([*last][-MOST_OF_A_LIST:])


def _newest_done(items: Iterable[Done]) -> tuple[Done, ...]:
    """The newest items, each text once, with its newest evidence."""
    last: dict[str, Done] = {}
    for item in items:
        last.pop(item.text, None)
        last[item.text] = item
    return tuple([*last.values()][-MOST_OF_A_LIST:])


def _goal(spoken: Spoken, before: Narrative) -> tuple[str, ...]:
    """The first task that the user stated, and the current one; none that was called off."""
    said = [each for each in spoken.said if each.text.strip()]
    called_off = {_task_of(each) for each in said if not each.in_force}
    weighty = next((each for each in said[:20] if score(each.text) > 0), None)
    current = next((each for each in reversed(said) if each.message_id == spoken.current), None)
    first = before.goal[:1] or tuple(_task_of(each) for each in (weighty,) if each is not None)
    tasks = (*first, *(_task_of(each) for each in (current,) if each is not None))
    return tuple(dict.fromkeys(task for task in tasks if task not in called_off))


def _task_of(said: Said) -> str:
    """The weightiest of a message's own words, from there on."""
    typed = [passage.text for passage in passages(said.text) if not passage.pasted]
    return clip(max(typed, key=score)) if typed else clip(said.text)


def _done(calls: Iterable[Call]) -> Iterator[Done]:
    """Files edited, checks passed, commits made; edits of one file in a row are one item."""
    edited: dict[str, list[str]] = {}
    for call in calls:
        if not call.succeeded:
            continue
        for use, path in uses_of(call):
            if use == "modified":
                edited.setdefault(path, []).append(call.id)
        command = call.command
        if command and (_TESTS.search(command) or _COMMIT.search(command)):
            yield from _edited(edited)
            edited = {}
            yield Done(text=f"Ran without failure: {clip(command, 160)}", evidence=(call.id,))
    yield from _edited(edited)


def _edited(edited: dict[str, list[str]]) -> Iterator[Done]:
    for path, ids in edited.items():
        yield Done(text=f"Edited {path}", evidence=tuple(ids[-1:]))


def _failing(calls: Sequence[Call]) -> tuple[str, ...]:
    """The last run of each command, where it failed near the end and nothing succeeded with it since."""
    last: dict[str, Call] = {}
    for call in calls[-40:]:
        if call.result is not None:
            last[call.command or f"{call.name} {call.argument('file_path', 'path')}".strip()] = call
    failing = [(name, call) for name, call in last.items() if call.failed]
    return tuple(f"{clip(name, 120)} failed, {call.source} output: {_error(call)}" for name, call in failing[-5:])


def _error(call: Call) -> str:
    written = [line for line in (call.result or "")[-END_READ:].splitlines() if line.strip()]
    lines = [line for line in written if _ERROR.search(line)] or written
    return f'"{clip(lines[-1])}"' if lines else '""'


def _in_progress(messages: Sequence[Message], calls: Sequence[Call]) -> Iterator[str]:
    """The last round: calls that have no result yet, and what the assistant said it was doing."""
    spoke = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "assistant"), -1)
    for call in [call for call in calls if call.result is None and call.message_index == spoke][-5:]:
        yield clip(f"Called {call.name} {call.command or call.argument('file_path', 'path')}".strip())
    last = messages[spoke] if spoke >= 0 else None
    if last is not None and last.tool_uses:
        said = _text(last)
        if said:
            yield f'The assistant: "{clip(said)}"'


def _answers(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if message.role == "assistant":
            text = _text(message)
            if text:
                yield text


def _text(message: Message) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, Text))[:ANSWER_READ].strip()


def _decisions(answers: Iterable[str]) -> Iterator[str]:
    for answer in answers:
        if not _DECISION.search(answer):
            continue
        for passage in passages(answer):
            if _is_decision(passage):
                yield f'The assistant: "{clip(passage.text)}"'


def _is_decision(passage: Passage) -> bool:
    text = passage.text
    return not passage.pasted and len(text) >= 20 and bool(_DECISION.search(text)) and not _TENTATIVE.search(text)


def _last_plan(answers: Sequence[str]) -> tuple[str, ...]:
    """What the assistant last said it would do, from the newest answer that says so."""
    for answer in answers[:-6:-1]:
        found = [p.text for p in passages(answer) if not p.pasted and _PLAN.search(p.text)]
        if found:
            return tuple(f'The assistant: "{clip(text)}"' for text in found[-5:])
    return ()


def _critical(messages: Sequence[Message], calls: Sequence[Call], before: Narrative) -> Iterator[str]:
    """Identifiers that the later part keeps coming back to, and error lines that it saw more than once."""
    yield from before.critical
    late = messages[int(len(messages) * LATE) :]
    yield from (f"`{name}`" for name in recurring_names(late, least=3)[:12])
    errors: dict[str, tuple[int, Call]] = {}
    for call in calls[-60:]:
        if call.failed:
            text = _error(call)
            errors[text] = (errors.get(text, (0, call))[0] + 1, call)
    yield from (
        f"{call.name} ({call.source} output) said {count} times: {text}"
        for text, (count, call) in errors.items()
        if count >= 2
    )
