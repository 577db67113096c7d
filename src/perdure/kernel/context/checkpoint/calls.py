"""The tool calls of a folded range, each with its result.

It knows how a call is joined to its result and how a failure looks. It must never know what a tool does: `files`,
`todos` and `extract` read that from names and arguments. A result without a verdict counts as a success only if its
text does not say otherwise, since OpenAI's results carry no error mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, Message, Provenance, ToolUse, decode_json, text_of
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

HEAD_READ = 400
"""Characters at each end of a result in which a failure is looked for."""

_FAILED_START = pattern(
    r"\s*(?:<tool_use_error>|(?:fatal )?error\b(?!s? found: 0)|traceback \(most recent)", re.IGNORECASE
)
_FAILED_CODE = pattern(
    r"""(?:"exit_code"\s*:|exit(?:ed)?(?:\s+with)?(?:\s+(?:code|status))[:\s]+|<returncode>\s*)-?[1-9]\d*""",
    re.IGNORECASE,
)


@value
class Call:
    """A tool call and what came of it."""

    id: str
    name: str
    input: JsonObject
    """The arguments; empty where they are no JSON object."""
    raw: str
    """The argument text where it is no JSON object, as with free-form tools; otherwise empty."""
    result: str | None
    """The text of the result; None while there is none."""
    failed: bool
    source: Provenance
    """Who wrote the result: a tool, the web, a peer."""
    message_index: int
    """Position of the calling message in the folded range."""

    @property
    def succeeded(self) -> bool:
        """Whether a result is there and does not tell of a failure."""
        return self.result is not None and not self.failed

    def argument(self, *names: str) -> str:
        """The first of these arguments that is a non-empty string, or the empty string."""
        for name in names:
            value = self.input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def command(self) -> str:
        """The shell command that this call ran, or the empty string."""
        value = self.input.get("command", self.input.get("cmd"))
        if isinstance(value, list):
            return " ".join(part for part in value if isinstance(part, str))
        return value if isinstance(value, str) else ""


def calls_of(messages: Iterable[Message]) -> tuple[Call, ...]:
    """The calls of these messages in order, each with the result that these messages hold."""
    uses: list[tuple[int, ToolUse]] = []
    results: dict[str, tuple[str, bool, Provenance]] = {}
    for index, message in enumerate(messages):
        uses.extend((index, use) for use in message.tool_uses)
        for result in message.tool_results:
            text = text_of(result.content)
            source: Provenance = message.provenance if message.provenance in {"web", "peer"} else "tool"
            results[result.tool_use_id] = (text, result.is_error is True or _tells_of_failure(text), source)
    return tuple(_call(index, use, results.get(use.id)) for index, use in uses)


def _call(index: int, use: ToolUse, found: tuple[str, bool, Provenance] | None) -> Call:
    given, raw = use.input, ""
    if not given and use.raw_input:
        given, raw = _decoded(use.raw_input)
    text, failed, source = found if found is not None else (None, False, "tool")
    return Call(
        id=use.id, name=use.name, input=given, raw=raw, result=text, failed=failed, source=source, message_index=index
    )


def _decoded(raw: str) -> tuple[JsonObject, str]:
    try:
        value = decode_json(raw)
    except InvalidJson:
        return {}, raw
    return (value, "") if isinstance(value, dict) else ({}, raw)


def _tells_of_failure(text: str) -> bool:
    if _FAILED_START.match(text):
        return True
    if len(text) <= 2 * HEAD_READ:
        return _FAILED_CODE.search(text) is not None
    return _FAILED_CODE.search(text[:HEAD_READ]) is not None or _FAILED_CODE.search(text[-HEAD_READ:]) is not None
