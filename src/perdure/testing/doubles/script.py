"""The model behind a double: a script.

It knows what an answer is made of, in no provider's words. It must never know a wire format: the doubles translate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TypeAlias

from perdure.kernel.value import value
from perdure.testing.doubles.shape import Body, as_text, bodies, content_blocks, items


@value
class Say:
    """Text of the answer."""

    text: str


@value
class Think:
    """Reasoning; left out where the request has thinking turned off."""

    text: str
    redacted: bool = False
    """Comes as an opaque block without text."""


@value
class Call:
    """A call of one of the request's tools."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    id: str = ""
    """Empty: the double makes one."""


@value
class Raw:
    """A block or item in the provider's own words: server tools and kinds that nobody knows yet."""

    block: Body


Part: TypeAlias = "Say | Think | Call | Raw"


@value
class Turn:
    """One answer of the model."""

    parts: tuple[Part, ...]
    stop_reason: str = ""
    """The provider's word for why it ended; empty: what follows from the parts."""


Script: TypeAlias = Callable[[Body], Turn]
"""Asked once per sampling with the request body as the model sees it, behind all server-side edits. May not raise."""


def answer(text: str) -> Turn:
    """An answer of text alone."""
    return Turn(parts=(Say(text=text),))


def echo(body: Body) -> Turn:
    """Say again what the user said last."""
    texts = list(_user_texts(body))
    return answer(texts[-1] if texts else "(nothing was said)")


def replies(turns: Iterable[Turn], then: Script = echo) -> Script:
    """Give prepared answers in order, then go on with another script."""
    left = list(turns)

    def next_turn(body: Body) -> Turn:
        return left.pop(0) if left else then(body)

    return next_turn


def summariser(body: Body) -> Turn:
    """A summary that depends on everything it is made of, and on nothing else."""
    turns = bodies(body.get("messages")) or bodies(body.get("input"))
    texts = list(_user_texts(body))
    first = texts[0][:200] if texts else "(no user text)"
    return answer(f"<summary>{len(turns)} messages, {len(as_text(turns))} characters. It began with: {first}</summary>")


def _user_texts(body: Body) -> Iterable[str]:
    asked = body.get("messages", body.get("input"))
    if isinstance(asked, str):
        yield asked
    for message in bodies(items(asked)):
        if message.get("role") == "user":
            for block in content_blocks(message.get("content")):
                if isinstance(text := block.get("text"), str) and text:
                    yield text
