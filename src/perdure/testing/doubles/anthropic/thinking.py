"""Thinking blocks: how they are signed, to what they are bound, and what happens to one that does not fit.

It knows signatures and the conversation before them. It must never know `perdure.kernel.wire`, whose validity checker
is measured against this. A signature is bound to `system`, to the tools that are loaded, to every message before it and
to the thinking before it (Anthropic, preserved thinking, 2026-09).
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.kernel.value import record, value
from perdure.testing.doubles.anthropic.asked import Asked, Refused
from perdure.testing.doubles.anthropic.tools import is_deferred
from perdure.testing.doubles.shape import Body, body_of, content_blocks, digest, without

KINDS = frozenset({"thinking", "redacted_thinking"})
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


@record(kw_only=True)
class Prefix:
    """What a thinking block is bound to, as it grows along a conversation.

    A compaction block stands for the range that it covers: it puts the state back to where that range ended. The ways
    in which a kept tail stops following its summary (same role, a system message first) spoil the state.
    """

    fixed: str
    """Digest of system and loaded tools."""
    chain: str = ""
    """Digest of everything said so far, thinking apart."""
    role: str = ""
    """Of the message that came last."""
    seam: bool = False
    """A signed compaction block came last: the next message must follow what it covers."""

    def compacted(self, covers: Body | None, block: Body) -> None:
        """Step over a compaction block."""
        if covers is None:
            self.chain = digest("compaction", block.get("content"))
            return
        self.chain, self.role = str(covers.get("chain")), str(covers.get("role"))
        self.seam = covers.get("signed") is True
        if covers.get("binds") is False:
            self.chain = digest("compacted by a model that does not preserve thinking", self.chain)

    def begin(self, role: str) -> None:
        """A message of this role begins."""
        if self.seam and (role in {self.role, "system"}):
            self.chain = digest("does not follow what was compacted", self.chain)
        self.seam, self.role = False, role

    def add(self, role: str, block: Body) -> None:
        """Step over a block of a message."""
        if block.get("type") not in KINDS:
            self.chain = digest(self.chain, role, unmarked(block))


def unmarked(block: Body) -> Body:
    """A block without its cache marks, which bind nothing."""
    plain = without(block, "cache_control")
    if block.get("type") == "tool_result":
        plain["content"] = [without(nested, "cache_control") for nested in content_blocks(block.get("content"))]
    return plain


def fixed_digest(asked: Asked) -> str:
    """Digest of what stands before the messages. Deferred tools are left out, referenced ones too (unverified)."""
    tools = [unmarked(tool) for tool in asked.tools if not is_deferred(tool)]
    return digest([unmarked(block) for block in asked.system], tools)


@value
class Bound:
    """A thinking block of the request, with what was signed and what stands before it now."""

    message: int
    place: int
    block: Body
    signed: Body | None
    """What its signature says; None if the signature is not ours."""
    chain: str
    before: tuple[str, ...]
    """Digests of the thinking blocks before it."""

    @property
    def path(self) -> str:
        """As error messages write it."""
        return f"messages.{self.message}.content.{self.place}"


def walk(asked: Asked) -> tuple[list[Bound], Prefix]:
    """Every thinking block with its prefix, and the prefix of what would be answered now."""
    prefix = Prefix(fixed=fixed_digest(asked))
    found: list[Bound] = []
    before: tuple[str, ...] = ()
    for i, message in enumerate(asked.messages):
        role = str(message.get("role"))
        blocks = content_blocks(message.get("content"))
        if any(block.get("type") != "compaction" for block in blocks[:1]):
            prefix.begin(role)
        at_start = prefix.chain
        for j, block in enumerate(blocks):
            if block.get("type") == "compaction":
                if block.get("content") is not None:
                    prefix.compacted(_covers(asked, block), block)
                    if len(blocks) > j + 1:
                        prefix.begin(role)
                    at_start = prefix.chain
            elif block.get("type") in KINDS:
                signed = asked.seal.open(block.get("signature", block.get("data")))
                found.append(Bound(message=i, place=j, block=block, signed=signed, chain=at_start, before=before))
                before = (*before, mark_of_thinking(block))
            else:
                prefix.add(role, block)
    return found, prefix


def has_thinking(asked: Asked) -> bool:
    """Some message holds thinking; a walk along a long conversation without any would be for nothing."""
    return any(block.get("type") in KINDS for *_, block in asked.blocks())


def mark_of_thinking(block: Body) -> str:
    """A short digest that tells one thinking block from another."""
    return digest(block.get("signature", block.get("data")))[:12]


def sign(asked: Asked, prefix: Prefix, before: tuple[str, ...], text: str) -> str:
    """The signature of a thinking block that is made now."""
    return asked.seal.close(
        {
            "kind": "thinking",
            "text": digest(text),
            "model": asked.model.name,
            "release": asked.model.release,
            "workspace": asked.workspace,
            "fixed": prefix.fixed,
            "chain": prefix.chain,
            "count": len(before),
            "previous": before[-1] if before else "",
            "salt": digest(prefix.chain, before, text)[:8],
        }
    )


def check_form(asked: Asked) -> Iterator[str]:
    """The model takes this form of thinking."""
    form = body_of(asked.body.get("thinking")).get("type")
    if form is None or form in asked.model.thinking_forms:
        return
    if form == "adaptive":
        yield "adaptive thinking is not supported on this model"
    else:
        yield (
            f'"thinking.type.{form}" is not supported for this model. '
            'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )


def check_binding_setting(asked: Asked) -> Iterator[str]:
    """The behaviour on a mismatch is one of the two."""
    binding = body_of(body_of(asked.body.get("thinking")).get("block_binding"))
    if binding.get("prefix_mismatch_behavior") not in {None, "error", "drop_block"}:
        yield "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'"


def check_open_turn(asked: Asked) -> Iterator[str]:
    """The latest assistant message, while its tools are being answered, has its thinking whole and in place."""
    if not asked.thinks:
        return
    messages = asked.messages
    latest = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=None)
    if latest is None:
        return
    blocks = content_blocks(messages[latest].get("content"))
    calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    if not calls:
        return
    given = next((asked.thinking_given[call] for call in calls if call in asked.thinking_given), None)
    present = tuple(mark_of_thinking(block) for block in blocks if block.get("type") in KINDS)
    if given is None:
        # Calls that this double did not make: what is left is the older rule of models with a thinking budget.
        form = body_of(asked.body.get("thinking")).get("type")
        first = str(blocks[0].get("type"))
        if form == "enabled" and first not in KINDS:
            yield (
                f"messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
                "thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult "
                "our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
            )
    elif present != given:
        place = next(
            (k for k, (a, b) in enumerate(zip(present, given, strict=False)) if a != b), min(len(present), len(given))
        )
        yield f"messages.{latest}.content.{place}: {_MODIFIED}"


def check_signatures(asked: Asked) -> Iterator[str]:
    """Every thinking block is as it was signed. Never droppable."""
    if not has_thinking(asked):
        return
    latest = max((i for i, m in enumerate(asked.messages) if m.get("role") == "assistant"), default=-1)
    for bound in walk(asked)[0]:
        kind, part = str(bound.block.get("type")), "data" if "data" in bound.block else "signature"
        if bound.signed is None:
            yield f"{bound.path}: Invalid `{part}` in `{kind}` block"
        elif kind == "thinking" and bound.signed.get("text") != digest(bound.block.get("thinking")):
            yield (
                f"{bound.path}: {_MODIFIED}"
                if bound.message == latest
                else f"{bound.path}: Invalid `signature` in `thinking` block"
            )


@value
class Screened:
    """What the binding checks make of a request's thinking."""

    dropped: frozenset[tuple[int, int]]
    """Places of blocks that the model does not see."""
    transformations: tuple[Body, ...]


def screen(asked: Asked) -> Screened:
    """Apply the binding checks.

    Raises:
        Refused: a block does not fit and the request did not ask for it to be dropped.
    """
    if not has_thinking(asked):
        return Screened(dropped=frozenset(), transformations=())
    dropped: set[tuple[int, int]] = set()
    notes: list[Body] = []
    behaviour = _behaviour(asked)
    broken = False
    for bound in walk(asked)[0]:
        reason = _foreign(asked, bound)
        if reason is None and (broken or not _fits(asked, bound)):
            broken = broken or behaviour == "drop_block"
            reason = "prefix_binding_mismatch"
            if behaviour == "error":
                raise Refused(
                    f"{bound.path}: Invalid `signature` in `{bound.block.get('type')}` block. The block is bound to a "
                    "different conversation. Remove the block, or set "
                    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                )
        if reason is None:
            continue
        allowed = reason == "prefix_binding_mismatch" and behaviour == "allow"
        if not allowed:
            dropped.add((bound.message, bound.place))
        kind = "thinking_mismatch_allowed" if allowed else "thinking_dropped"
        notes.append({"type": kind, "path": bound.path, "reason": reason})
    return Screened(dropped=frozenset(dropped), transformations=tuple(notes))


def _behaviour(asked: Asked) -> str:
    """`error`, `drop_block`, or `allow` where the check is not enforced."""
    binding = body_of(body_of(asked.body.get("thinking")).get("block_binding"))
    chosen = binding.get("prefix_mismatch_behavior")
    if chosen is None and asked.old_account and asked.model.binds_by_account:
        return "allow"
    return str(chosen or "error")


def _foreign(asked: Asked, bound: Bound) -> str | None:
    signed = bound.signed or {}
    if signed.get("workspace") != asked.workspace:
        return "organization_binding_mismatch"
    if int(signed.get("release", 0)) > asked.model.release:
        return "model_binding_mismatch"
    return None


def _fits(asked: Asked, bound: Bound) -> bool:
    """The conversation before the block is the one that it was made in. Thinking may be gone from the start."""
    signed = bound.signed or {}
    if not asked.model.binds_thinking:
        return True
    same = signed.get("fixed") == fixed_digest(asked) and signed.get("chain") == bound.chain
    count = int(signed.get("count", 0))
    followed = not bound.before or (len(bound.before) <= count and bound.before[-1] == signed.get("previous"))
    return same and followed


def _covers(asked: Asked, block: Body) -> Body | None:
    signed = block.get("signature")
    opened = asked.seal.open(signed if signed is not None else block.get("encrypted_content"))
    return None if opened is None else {**opened, "signed": signed is not None}
