"""A session as Markdown.

It knows headings and fences. It must never change a word: what could end a fence makes the fence longer.
"""

from __future__ import annotations

from perdure.guard.plain import one_line
from perdure.kernel.pattern import pattern
from perdure.session.export.story import Exported, Passage, dated, passages

_TICKS = pattern(r"`+")


def as_markdown(exported: Exported) -> str:
    """The whole session."""
    parts = [f"# {one_line(exported.title) or exported.session}"]
    parts.append(f"Session `{exported.session}`, {dated(exported.created)}, {one_line(exported.model) or 'no model'}")
    for message in exported.messages:
        for number, passage in enumerate(passages(message)):
            when = f", {dated(message.time)}" if message.time is not None else ""
            # The id stands where a fork or a rewind takes it from.
            where = f" ({one_line(message.id)}{when})" if number == 0 else ""
            parts += [f"## {one_line(passage.heading)}{where}", _body(passage)]
    return "\n\n".join(parts) + "\n"


def _body(passage: Passage) -> str:
    if not passage.code:
        return passage.text
    longest = max((len(ticks) for ticks in _TICKS.findall(passage.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{passage.text}\n{fence}"
