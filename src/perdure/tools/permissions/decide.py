"""What follows from the rules, the mode and what was approved: a call goes, is asked about, or is denied.

It knows the order in which they count; the worst effect of a call decides about all of it. It must never look at a
disk, ask anybody, or remember anything: what it needs to know is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from perdure.kernel.value import value
from perdure.tools.permissions.effects import Effect, Reach, Ruinous, Run, Serve, Touch, Unclear, Wish
from perdure.tools.permissions.known import hazard_of
from perdure.tools.permissions.paths import Ground
from perdure.tools.permissions.rules import (
    Rule,
    allows_command,
    covers_host,
    covers_path,
    covers_tool,
    forbids_command,
    is_absolute,
)

Mode: TypeAlias = Literal["ask", "accept_edits", "plan", "full"]
Choice: TypeAlias = Literal["once", "session", "always", "no"]
Decision: TypeAlias = Literal["allow", "ask", "deny"]

PLANNING = "plan mode is on, in which nothing is changed: look, and give the plan with exit_plan_mode"


@value
class Policy:
    """Everything that decides besides the call itself."""

    mode: Mode
    ground: Ground
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    session: frozenset[str] = frozenset()
    """Names of wishes that were approved for this session."""
    stored: frozenset[str] = frozenset()
    """Names of wishes that were approved for good."""


@value
class Verdict:
    """What becomes of a wish, or of one effect of it."""

    decision: Decision
    why: str = ""
    """Why it does not simply go, for people and for the model."""
    opens: str = ""
    """What the user could do so that it goes; empty where nothing does."""
    choices: tuple[Choice, ...] = ()
    """What may be answered where it is asked about."""


REASONS = 5
"""Reasons of one question that are told."""

ALLOWED = Verdict(decision="allow")
ONCE: tuple[Choice, ...] = ("once", "no")
SESSION: tuple[Choice, ...] = ("once", "session", "no")
ANY: tuple[Choice, ...] = ("once", "session", "always", "no")


def judge(wish: Wish, policy: Policy) -> Verdict:
    """What becomes of a wish: its worst effect decides, and what is asked is asked for all effects at once."""
    verdicts = tuple(dict.fromkeys(_judged(effect, wish.name, policy) for effect in wish.effects))
    denied = next((verdict for verdict in verdicts if verdict.decision == "deny"), None)
    if denied is not None:
        return denied
    asked = [verdict for verdict in verdicts if verdict.decision == "ask"]
    if not asked:
        return ALLOWED
    return Verdict(
        decision="ask",
        why=_listed(verdict.why for verdict in asked),
        opens=_listed(verdict.opens for verdict in asked if verdict.opens),
        choices=min((verdict.choices for verdict in asked), key=len),
    )


def _listed(texts: Iterable[str]) -> str:
    """Each once, and no more than somebody reads."""
    found = tuple(dict.fromkeys(texts))
    more = (f"and {len(found) - REASONS} more",) if len(found) > REASONS else ()
    return "; ".join((*found[:REASONS], *more))


def _judged(effect: Effect, name: str, policy: Policy) -> Verdict:
    if isinstance(effect, Ruinous):
        return Verdict(decision="deny", why=f"{effect.why}; no setting allows that")
    if (rule := _speaking(effect, policy.deny, policy.ground)) is not None:
        return Verdict(decision="deny", why=f"the rule {rule.text!r} of permissions.deny forbids it")
    if policy.mode == "plan" and _changes(effect):
        return Verdict(decision="deny", why=PLANNING)
    if (rule := _speaking(effect, policy.ask, policy.ground)) is not None:
        return Verdict(decision="ask", why=f"the rule {rule.text!r} of permissions.ask wants it asked", choices=ONCE)
    if isinstance(effect, Touch) and effect.ward:
        return ALLOWED if name in policy.session else _warded(effect)
    if isinstance(effect, Unclear):
        return _unclear(effect, name, policy)
    if name in policy.session or name in policy.stored or _opened(effect, policy) or _goes(effect, policy):
        return ALLOWED
    return _asked(effect, policy.ground)


def _warded(touch: Touch) -> Verdict:
    return Verdict(decision="ask", why=f"{str(touch.path)!r} is always asked about: {touch.ward}", choices=SESSION)


def _unclear(effect: Unclear, name: str, policy: Policy) -> Verdict:
    """No rule covers what nobody can tell. With everything permitted it goes, unless it may hide what is forbidden."""
    if name in policy.session or (policy.mode == "full" and not any(rule.kind == "bash" for rule in policy.deny)):
        return ALLOWED
    opens = "write it as plain commands whose words can be read"
    return Verdict(decision="ask", why=f"it cannot be told what it does: {effect.why}", opens=opens, choices=SESSION)


def _speaking(effect: Effect, rules: Iterable[Rule], ground: Ground) -> Rule | None:
    """The first rule that speaks of an effect, read broadly: for denials and questions."""
    return next((rule for rule in rules if _speaks(rule, effect, ground)), None)


def _speaks(rule: Rule, effect: Effect, ground: Ground) -> bool:
    match effect:
        case Run(words=words):
            if rule.kind == "fetch":
                return bool(rule.pattern) and any(covers_host(rule, host) for host in hosts_in(words))
            return forbids_command(rule, words)
        case Touch(way=way, changes=changes):
            # Who may not read a file may not change it unseen either.
            spoken = rule.kind == "read" or (rule.kind == "write" and (way == "write" or changes))
            return spoken and _covers(rule, effect, ground)
        case Reach(host=host):
            return rule.kind == "fetch" and covers_host(rule, host)
        case Serve(server=server, tool=tool):
            return rule.kind == "mcp" and covers_tool(rule, server, tool)
        case _:
            return False


def _changes(effect: Effect) -> bool:
    """Whether plan mode has to refuse it: it changes something, or may."""
    match effect:
        case Run(quiet=quiet):
            return not quiet
        case Touch(way=way, changes=changes):
            return way == "write" or changes
        case Reach():
            return False
        case _:
            return True


def _opened(effect: Effect, policy: Policy) -> bool:
    """Whether a rule allows an effect, read narrowly."""
    return any(_opens(rule, effect, policy.ground) for rule in policy.allow)


def _opens(rule: Rule, effect: Effect, ground: Ground) -> bool:
    match effect:
        case Run(words=words, hazard=hazard):
            known = not hazard or rule.words == words or bool(hazard_of(rule.words))
            return known and allows_command(rule, words)
        case Touch(way=way, changes=changes, inside=inside):
            kind = "write" if way == "write" or changes else "read"
            # A rule without a place of its own means the folders of the session.
            return rule.kind == kind and (inside or is_absolute(rule)) and _covers(rule, effect, ground)
        case Reach(host=host):
            return rule.kind == "fetch" and covers_host(rule, host)
        case Serve(server=server, tool=tool):
            return rule.kind == "mcp" and covers_tool(rule, server, tool)
        case _:
            return False


def _goes(effect: Effect, policy: Policy) -> bool:
    """Whether the mode lets an effect go that no rule speaks of."""
    if policy.mode == "full":
        return True
    match effect:
        case Run(quiet=quiet):
            return quiet
        case Touch(way="write", inside=inside):
            return inside and policy.mode == "accept_edits"
        case Touch(inside=inside):
            # What a command names inside the roots is judged with the command.
            return inside
        case _:
            return False


def _asked(effect: Effect, ground: Ground) -> Verdict:
    match effect:
        case Run(words=words, hazard=hazard):
            what = " ".join(words)
            why = f"{hazard} does more than its name says" if hazard else f"no rule allows {_clipped(what)!r}"
            opens = f"permissions.allow with {_rule('bash', what)}, or mode full"
        case Touch(path=path, way=way, inside=inside):
            kind = "write" if way == "write" or effect.changes else "read"
            shown = str(path)
            why = f"no rule allows to {kind} {shown!r}" if inside else f"{shown!r} lies outside the project's folders"
            mode = "mode accept_edits" if inside else "permissions.roots with its folder"
            near = str(path.relative_to(ground.root)) if path.is_relative_to(ground.root) else shown
            opens = f"permissions.allow with {_rule(kind, near)}, or {mode}"
        case Reach(host=host):
            why, opens = f"no rule allows to reach {host!r}", f"permissions.allow with {_rule('fetch', host)}"
        case Serve(server=server, tool=tool):
            why = f"no rule allows the tool {tool!r} of the server {server!r}"
            opens = f"permissions.allow with {_rule('mcp', f'{server}/{tool}')}"
        case Unclear(why=why) | Ruinous(why=why):
            opens = ""
    return Verdict(decision="ask", why=why, opens=opens, choices=ANY)


def hosts_in(words: Sequence[str]) -> tuple[str, ...]:
    """The hosts of the addresses among the words of a command."""
    found = (host_of(word[word.find("http") :]) for word in words if "://" in word and "http" in word)
    return tuple(host for host in found if host)


def host_of(url: str) -> str:
    """The host of an address, in small letters; empty where none can be read."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def _covers(rule: Rule, touch: Touch, ground: Ground) -> bool:
    return covers_path(rule, touch.path, ground.root, ground.home, fold=ground.fold)


def _rule(kind: str, what: str) -> str:
    return f'"{kind}({_clipped(what)})"'


def _clipped(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
