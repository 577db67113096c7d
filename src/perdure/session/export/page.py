"""A session as one HTML page that needs nothing beside itself.

It knows markup. It must never let a word of a session be markup: everything is escaped, and the page's policy runs and
loads nothing.
"""

from __future__ import annotations

import html

from perdure.session.export.story import Exported, Passage, dated, passages

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --ink: #1b1f24; --paper: #fcfcfa; --soft: #5d646c; --line: #dcdcd6; --box: #f2f2ee; }}
@media (prefers-color-scheme: dark) {{
:root {{ --ink: #e4e4e0; --paper: #16181b; --soft: #9aa1a9; --line: #34383d; --box: #1f2226; }} }}
body {{ font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.4rem; margin: 0; }}
h2 {{ font-size: .85rem; margin: 1.5rem 0 .25rem; color: var(--soft); }}
p.about, time {{ color: var(--soft); font-size: .85rem; font-weight: normal; }}
section.user > div {{ border-left: 3px solid var(--soft); padding-left: .75rem; }}
div {{ white-space: pre-wrap; }}
pre {{ font: 13px/1.45 ui-monospace, monospace; background: var(--box); border: 1px solid var(--line);
  border-radius: 4px; padding: .5rem .75rem; white-space: pre-wrap; margin: 0; }}
details {{ margin: 1rem 0; }}
summary {{ color: var(--soft); font-size: .85rem; cursor: pointer; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="about">Session {session}, {created}, {model}</p>
{body}
</body>
</html>
"""


def as_html(exported: Exported) -> str:
    """The whole session."""
    body = "\n".join(_part(passage, message.time) for message in exported.messages for passage in passages(message))
    return _PAGE.format(
        title=html.escape(exported.title or exported.session),
        session=html.escape(exported.session),
        created=dated(exported.created),
        model=html.escape(exported.model or "no model"),
        body=body,
    )


def _part(passage: Passage, time: float | None) -> str:
    heading, text = html.escape(passage.heading), html.escape(passage.text)
    shown = f"<pre>{text}</pre>" if passage.code else f"<div>{text}</div>"
    if passage.quiet:
        return f"<details><summary>{heading}</summary>{shown}</details>"
    kind = ' class="user"' if passage.heading == "User" else ""
    when = f" <time>{dated(time)}</time>" if time is not None else ""
    return f"<section{kind}><h2>{heading}{when}</h2>{shown}</section>"
