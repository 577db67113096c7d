"""The status page and the way in: two documents of HTML, without a script and without anything from elsewhere.

It knows HTML and what a browser is told about it. It must never know a key, nor where what it shows comes from. All
that a client named itself, such as a model, is text here and never markup.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from html import escape

from perdure.gateway.door import Reply
from perdure.gateway.status import Status, Step, Told, hit_rate

EVERY = 15
"""Seconds until a page that was asked to stays up to date is loaded again."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2327; --soft: #5b656d; --line: #d8dde1; --back: #f6f7f8; --card: #fff;
  --used: #2f6f9f; --near: #a15c00; --over: #b3261e; --good: #1f7a4d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a2abb3; --line: #343b42; --back: #14181b;
  --card: #1d2226; --used: #6cb0de; --near: #e0a356; --over: #f2877f; --good: #6fcf9b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: baseline; justify-content: space-between; }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0; font-weight: 600; overflow-wrap: anywhere; min-width: 0; }
p { margin: .25rem 0; }
.soft { color: var(--soft); font-size: .875rem; }
nav { display: flex; gap: 1rem; align-items: baseline; font-size: .875rem; }
a { color: var(--used); }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
  padding: .3rem .8rem; cursor: pointer; }
input { font: inherit; width: 100%; padding: .5rem .6rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--back); color: inherit; }
:focus-visible { outline: 2px solid var(--used); outline-offset: 2px; }
.sums { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.sums div, article, .way { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: .8rem 1rem; }
.sums dt { color: var(--soft); font-size: .8rem; } .sums dd { margin: 0; font-size: 1.3rem; font-weight: 600; }
.list { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: .75rem;
  align-items: start; }
article .top { display: flex; gap: .75rem; justify-content: space-between; align-items: baseline; }
.live { color: var(--good); font-size: .8rem; white-space: nowrap; } .idle { color: var(--soft); font-size: .8rem;
  white-space: nowrap; }
svg { display: block; width: 100%; height: .6rem; margin: .5rem 0 .25rem; }
.track { fill: var(--line); } .used { fill: var(--used); } .near { fill: var(--near); } .over { fill: var(--over); }
.facts { display: flex; flex-wrap: wrap; gap: 0 1.25rem; font-size: .875rem; margin: .35rem 0; }
details { font-size: .875rem; margin-top: .35rem; } summary { cursor: pointer; }
ol { margin: .4rem 0 0; padding: 0; list-style: none; } li { padding: .3rem 0; border-top: 1px solid var(--line); }
.way { max-width: 26rem; margin: 12vh auto 0; padding: 1.5rem; } .way label { display: block; margin: .75rem 0 .25rem; }
.way button { margin-top: 1rem; } .wrong { color: var(--over); }
"""

_HASH = base64.b64encode(sha256(STYLE.encode()).digest()).decode()

HEADERS: Mapping[str, str] = {
    "content-type": "text/html; charset=utf-8",
    # Nothing runs and nothing is loaded; the style is the one above, by its hash.
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def status_page(status: Status, *, stays: bool, leaves: bool) -> Reply:
    """The page for one user. It is loaded again by itself where it `stays`, and offers a way out where it `leaves`."""
    again = f'<meta http-equiv="refresh" content="{EVERY}">' if stays else ""
    link = '<a href="/">stop updating</a>' if stays else f'<a href="/?stay=1">update every {EVERY} s</a>'
    out = '<form method="post" action="/signout"><button>Sign out</button></form>' if leaves else ""
    told = "".join(_article(one, status.now) for one in status.told)
    none = '<p class="soft">No conversation yet. It appears with the first call that this key makes.</p>'
    body = (
        f"<header><div><h1>{escape(status.tenant)} / {escape(status.user)}</h1>"
        f'<p class="soft">{_clock(status.now)}, the newest {len(status.told)} conversations</p></div>'
        f"<nav>{link}{out}</nav></header>{_sums(status)}"
        f'<section class="list">{told or none}</section>'
    )
    return Reply(headers=HEADERS, body=_document("Perdure", again, f"<main>{body}</main>"))


def way_in(wrong: str = "", *, status: int = 401) -> Reply:
    """The page that asks for a key."""
    said = f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else ""
    body = (
        '<main><form class="way" method="post" action="/signin"><h1>Perdure</h1>'
        f'<p class="soft">What this gateway does for your conversations.</p>{said}'
        '<label for="key">Your key</label>'
        '<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" required autofocus>'
        "<button>Show</button></form></main>"
    )
    return Reply(status=status, headers=HEADERS, body=_document("Perdure: sign in", "", body))


def _document(title: str, head: str, body: str) -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,">{head}<style>{STYLE}</style></head><body>{body}</body></html>'
    ).encode("utf-8", "replace")


def _sums(status: Status) -> str:
    sums = status.sums
    rate = hit_rate(sums)
    shown = [
        ("live now", str(sum(told.live for told in status.told))),
        ("requests", f"{sums.get('requests', 0):,.0f}"),
        ("read from the cache", "n/a" if rate is None else f"{rate:.0%}"),
        ("spent", _usd(sums.get("usd", 0))),
        ("saved by edits", _usd(sums.get("saved_usd", 0))),
        ("tokens left out", _short(sums.get("saved_tokens", 0))),
    ]
    return f'<dl class="sums">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in shown)}</dl>'


def _article(told: Told, now: float) -> str:
    rate = hit_rate(told.sums)
    live = '<span class="live">live</span>' if told.live else f'<span class="idle">{_ago(now - told.seen)}</span>'
    facts = [
        f"{told.sums.get('requests', 0):,.0f} requests",
        "no cache figures" if rate is None else f"{rate:.0%} from the cache",
        f"{_usd(told.sums.get('usd', 0))} spent",
        f"{_usd(told.sums.get('saved_usd', 0))} saved",
    ]
    return (
        f'<article><div class="top"><h2>{escape(told.model or "unknown model")}</h2>{live}</div>'
        f"{_gauge(told)}<p class=facts>{''.join(f'<span>{fact}</span>' for fact in facts)}</p>"
        f"{_steps(told)}"
        f'<p class="soft">{escape(told.id[:12])}</p></article>'
    )


def _gauge(told: Told) -> str:
    """How full the window is: a bar, and the same in words for those who do not see it."""
    if told.full is None or told.window is None:
        return f'<p class="soft">{_short(told.tokens)} tokens; the window of this model is not known</p>'
    kind = "used" if told.full < 0.75 else "near" if told.full < 0.9 else "over"
    words = f"{_short(told.tokens)} of {_short(told.window)} tokens, {told.full:.0%}"
    return (
        f'<svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="{words}">'
        f'<rect class="track" width="100" height="4"/><rect class="{kind}" width="{told.full * 100:.1f}" height="4"/>'
        f'</svg><p class="soft">{words}</p>'
    )


def _steps(told: Told) -> str:
    if not told.steps:
        return '<p class="soft">Nothing was left out so far.</p>'
    count = len(told.steps) + told.more
    more = f'<li class="soft">and {told.more} before</li>' if told.more else ""
    lines = "".join(_line(step) for step in told.steps)
    times = "once" if count == 1 else f"{count} times"
    # What is going on now is seen at once.
    opened = " open" if told.live else ""
    return f"<details{opened}><summary>Edited {times}</summary><ol>{lines}{more}</ol></details>"


def _line(step: Step) -> str:
    time = f"{_clock(step.time)}: " if step.time else ""
    saved = f" ({_short(step.saved)} tokens)" if step.saved else ""
    why = f'<br><span class="soft">{escape(step.why)}</span>' if step.why else ""
    return f"<li>{time}{escape(step.did)}{saved}{why}</li>"


def _clock(time: float) -> str:
    return datetime.fromtimestamp(time, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def _ago(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {name} ago"
    return "just now"


def _usd(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.1 or not value else f"${value:.4f}"


def _short(count: float) -> str:
    for size, name in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:,.1f}{name}"
    return f"{count:,.0f}"
