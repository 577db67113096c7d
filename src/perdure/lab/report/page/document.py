"""The page as a whole: the result in a sentence, policies side by side, then each session.

It knows the order in which a person reads. It must never reach out: no address, no font, no library, and whatever comes
from a session is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from perdure.kernel.messages import Json, JsonObject, encode_json
from perdure.lab.report.page.charts import (
    KIND_WORDS,
    column_prices,
    column_sizes,
    cost_chart,
    kinds_chart,
    price_chart,
    size_chart,
)
from perdure.lab.report.page.plot import frame
from perdure.lab.report.page.sessions import (
    CHARTED,
    Detail,
    Session,
    detail_for,
    focus,
    numbered,
    sessions_of,
    shade,
)
from perdure.lab.report.page.tables import (
    against,
    baseline,
    edits_table,
    figures_table,
    losses_table,
    needed_bar,
    policies_table,
)
from perdure.lab.report.page.words import SAME, brief, count, plain, several, shown, whole
from perdure.lab.report.summary import Outcome, file_row, total_row

LISTED = 500
"""Sessions in the list of all of them; of more, the largest."""

KIND_STEP = 100
"""Bytes in a unit of what is read off the chart of kinds."""

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Perdure replay: {title}</title>
<style>
{style}{choices}</style>
</head>
<body>
<main>
"""

_FOOT = """<footer><p>Made by <code>perdure replay</code>. No model was called: a stand-in of 1,500 tokens that \
carries no facts takes the place of each summary, and its price is counted. <em>Needed later</em> counts names and \
lines that the recorded agent used and that only tool results had brought; it had its own context, so this is no \
measure of answer quality. Prices come from a model of the provider's prompt cache, at the recorded times.</p></footer>
</main>
<script type="application/json" id="figures">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """One HTML file that needs nothing else."""
    sessions = sessions_of(outcomes)
    charted = sorted(sorted(sessions, key=lambda one: -one.size)[:CHARTED], key=lambda one: one.place)
    detail = detail_for(charted)
    own = files("perdure.lab.report.page")
    style, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    most = max((len(session.outcomes) for session in sessions), default=0)
    head = _HEAD.format(title=shown(_title(sessions), 120), style=style, choices=_choices(most))
    foot = _FOOT.format(data=_embedded([_data(session, detail) for session in charted]), script=script)
    body = _overview(sessions) + _index(sessions, charted) + "".join(_session(one, sessions, detail) for one in charted)
    return head + body + foot


def _title(sessions: Sequence[Session]) -> str:
    files_named = dict.fromkeys(session.recording.file for session in sessions)
    if not files_named:
        return "nothing was replayed"
    if len(files_named) == 1:
        return next(iter(files_named))
    return several(len({id(session.recording) for session in sessions}), "session")


def _overview(sessions: Sequence[Session]) -> str:
    """What was replayed, what came of it, and the totals."""
    recordings = list({id(session.recording): session.recording for session in sessions}.values())
    asked = sum(len(recording.asked) for recording in recordings)
    messages = sum(len(recording.transcript) for recording in recordings)
    models = ", ".join(shown(model) for model in dict.fromkeys(session.model for session in sessions))
    about = f"{several(asked, 'request')} · {several(messages, 'message')}"
    head = (
        f'<header><p class="kicker">Perdure replay</p><h1>{shown(_title(sessions))}</h1>'
        f'<p class="about">{about}{f" · priced as {models}" if models else ""}</p>'
    )
    windows = list(dict.fromkeys(session.window for session in sessions))
    rows = {window: _totals([one for one in sessions if one.window == window]) for window in windows}
    lines = "".join(f"<p>{_result(window, totals, len(windows) > 1)}</p>" for window, totals in rows.items())
    if not sessions:
        lines = "<p>No session was replayed.</p>"
    tables = "".join(
        f"<section><h2>Policies{f' at {_window_words(window)}' if len(windows) > 1 else ''}</h2>"
        f"{policies_table(totals)}{figures_table([row for row, _ in totals])}</section>"
        for window, totals in rows.items()
    )
    return f'{head}<div class="result">{lines}</div></header>{tables}'


def _totals(sessions: Sequence[Session]) -> list[tuple[JsonObject, list[Outcome]]]:
    outcomes = [outcome for session in sessions for outcome in session.outcomes]
    policies = dict.fromkeys(outcome.replayed.policy for outcome in outcomes)
    held = {name: [one for one in outcomes if one.replayed.policy == name] for name in policies}
    return [(total_row(name, found), found) for name, found in held.items()]


def _result(window: int | None, totals: Sequence[tuple[JsonObject, list[Outcome]]], tell_window: bool) -> str:
    """The result of the policy that matters, in a sentence or two."""
    rows = [row for row, _ in totals]
    row, found = totals[focus([str(one["policy"]) for one in rows])]
    base = baseline(rows)
    opening = f"At {_window_words(window)}, " if tell_window else ""
    sentence = f"{opening}<b>{shown(str(row['policy']))}</b>: {brief(row['cost_units'])} units"
    if base is not None and base is not row and row["requests"] == base["requests"]:
        differs = against(row, base)
        sentence += f", <b>{differs}</b> {'as' if differs == SAME else 'than'} {shown(str(base['policy']))}"
    edits = sum(rung != "entry_reduction" for one in found for point in one.replayed.points for rung in point.rungs)
    parts = [several(edits, "edit")] if row["edits"] is not None else []
    needed = row["needed_later"]
    if isinstance(needed, dict) and needed["asked"]:
        gone = needed["gone"]
        parts.append(
            f"of {count(needed['asked'])} names needed later {count(needed['visible'])} were in view, "
            f"{count(needed['recallable'])} recallable, {count(gone) if gone else 'none'} gone"
        )
    faults = ("invalid_requests", "invalid"), ("over_window", "over the window"), ("infeasible_requests", "infeasible")
    parts += [f"{several(int(str(row[key])), 'request')} {word}" for key, word in faults if row[key]]
    if base is not None and base is not row and base["over_window"]:
        parts.append(
            f"{shown(str(base['policy']))} went over the window in {count(base['over_window'])} of "
            f"{several(int(str(base['requests'])), 'request')}"
        )
    return "; ".join([sentence, *parts]) + "."


def _window_words(window: int | None) -> str:
    return "an unknown window" if window is None else f"a window of {whole(window)} tokens"


def _index(sessions: Sequence[Session], charted: Sequence[Session]) -> str:
    """Every session in a line, where there are several."""
    if len(sessions) < 2:
        return ""
    places = {session.place for session in charted}
    listed = sorted(sorted(sessions, key=lambda one: -one.size)[:LISTED], key=lambda one: one.place)
    policies = list(dict.fromkeys(outcome.replayed.policy for session in sessions for outcome in session.outcomes))
    heads = "".join(f'<th scope="col">{shown(policy)}</th>' for policy in policies)
    rows = "".join(_index_row(session, policies, session.place in places) for session in listed)
    note = "Cost in units for each policy."
    if len(charted) < len(sessions):
        note += f" The {len(charted)} largest of {count(len(sessions))} sessions, by tokens sent, have charts below."
    if len(listed) < len(sessions):
        note += f" Listed are the {len(listed)} largest."
    return (
        f'<section><h2>Sessions</h2><p class="note">{note}</p><div class="wide tall"><table class="index"><thead><tr>'
        f'<th scope="col">Session</th><th scope="col">Window</th><th scope="col">Requests</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _index_row(session: Session, policies: Sequence[str], linked: bool) -> str:
    name = shown(session.recording.file, 160)
    units = {one.replayed.policy: sum(point.bill.units for point in one.replayed.points) for one in session.outcomes}
    cells = "".join(f"<td>{brief(units.get(policy))}</td>" for policy in policies)
    title = f'<a href="#s{session.place}">{name}</a>' if linked else name
    return (
        f'<tr><th scope="row" class="file">{title}</th><td>{whole(session.window)}</td>'
        f"<td>{count(session.requests)}</td>{cells}</tr>"
    )


def _session(session: Session, sessions: Sequence[Session], detail: Detail) -> str:
    """One session: what it is, its policies, charts, edits, losses."""
    recording = session.recording
    window = "window not known" if session.window is None else f"window {count(session.window)} tokens"
    about = (
        f"{shown(recording.format)} · {several(len(recording.transcript), 'message')} · "
        f"{several(session.requests, 'request')} · {shown(session.model)} · {window}"
    )
    rows = [(file_row(outcome), [outcome]) for outcome in session.outcomes]
    twice = sum(one.recording is recording for one in sessions) > 1
    suffix = f' <span class="muted">at {_window_words(session.window)}</span>' if twice else ""
    merged = frame(session.requests, detail.columns, 0).merged
    note = f"<p class='note'>{count(session.requests)} requests are drawn in {detail.columns} places; lines keep the "
    note += "lowest and the highest of each.</p>"
    # A session that is alone with its window has its tables at the top of the page already.
    alone = sum(one.window == session.window for one in sessions) == 1
    tables = "" if alone else policies_table(rows) + figures_table([row for row, _ in rows])
    panels = "".join(_panel(session, at, detail) for at in range(len(session.outcomes)))
    return (
        f'<section class="session" id="s{session.place}" data-session="{session.place}">'
        f'<h2 class="file">{shown(recording.file)}{suffix}</h2><p class="about">{about}</p>{_warnings(rows)}'
        f"{tables}{_chooser(session)}{note if merged else ''}"
        f"{size_chart(session, detail)}{cost_chart(session, detail)}{panels}</section>"
    )


def _panel(session: Session, at: int, detail: Detail) -> str:
    """What is shown of the chosen policy alone."""
    replayed = session.outcomes[at].replayed
    needed = file_row(session.outcomes[at])["needed_later"]
    later = (
        f'<h4>Needed later</h4><p class="later">{needed_bar(needed)}</p><p class="note">Names that the recorded agent '
        "used afterwards: in view / recallable by a handle / gone.</p>"
        if needed is not None
        else ""
    )
    return (
        f'<div class="panel p{at}">'
        f'<h3 class="policy s{shade(replayed.policy, at)}"><i></i>{shown(replayed.policy)}</h3>'
        f"{kinds_chart(session, replayed, detail)}{price_chart(session, replayed, detail)}"
        f"<h4>Edits</h4>{edits_table(session, replayed, detail)}"
        f"<h4>Loss report</h4>{losses_table(session, replayed, detail)}{later}</div>"
    )


def _chooser(session: Session) -> str:
    """Which policy is shown in detail. It works without a script: the style sheet follows the choice."""
    if len(session.outcomes) < 2:
        return f'<input class="pick" type="radio" name="pick{session.place}" value="0" checked hidden>'
    choices = "".join(
        f'<label class="s{shade(outcome.replayed.policy, at)}"><input class="pick" type="radio" '
        f'name="pick{session.place}" value="{at}"{" checked" if at == session.chosen else ""}>'
        f"<i></i>{shown(outcome.replayed.policy)}</label>"
        for at, outcome in enumerate(session.outcomes)
    )
    lines = "".join(
        f'<label class="s{shade(outcome.replayed.policy, at)}"><input class="line-{at}" type="checkbox" checked '
        f'autocomplete="off"><i></i>{shown(outcome.replayed.policy)}</label>'
        for at, outcome in enumerate(session.outcomes)
    )
    return (
        f'<div class="choose"><fieldset><legend>Shown in detail</legend>{choices}</fieldset>'
        f'<fieldset class="lines"><legend>Lines drawn</legend>{lines}</fieldset></div>'
    )


def _choices(most: int) -> str:
    """The rules by which a choice shows its panels and thickens its line, and a box hides one."""
    return "".join(
        f'.session:has(.pick[value="{at}"]:checked) .panel.p{at}{{display:block}}'
        f'.session:has(.pick[value="{at}"]:checked) ul.panel.p{at}{{display:flex}}'
        f'.session:has(.pick[value="{at}"]:checked) .line.p{at}{{stroke-width:2.5;opacity:1}}'
        f'.session:has(.pick[value="{at}"]:checked) .ends .p{at}{{font-weight:650}}'
        f".session:has(.line-{at}:not(:checked)) :is(.line,.marks,.ends span).p{at}{{display:none}}\n"
        for at in range(most)
    )


def _warnings(rows: Sequence[tuple[JsonObject, list[Outcome]]]) -> str:
    """What a person should know of how a session was read and priced."""
    found: dict[str, None] = {}
    for row, _ in rows:
        warnings = row["warnings"]
        found.update(dict.fromkeys(map(str, warnings)) if isinstance(warnings, list) else {})
    if not found:
        return ""
    items = "".join(f"<li>{shown(warning)}</li>" for warning in list(found)[:50])
    more = f"<li>and {len(found) - 50} more</li>" if len(found) > 50 else ""
    opened = " open" if len(found) < 4 else ""
    return (
        f'<details class="warnings"{opened}><summary>{several(len(found), "warning")}</summary>'
        f"<ul>{items}{more}</ul></details>"
    )


def _data(session: Session, detail: Detail) -> JsonObject:
    """The figures behind the charts, for reading them off."""
    plot = frame(session.requests, detail.columns, 0)
    policies: list[Json] = []
    for outcome in session.outcomes:
        tokens: list[Json] = [None] * plot.columns
        cost: list[Json] = [None] * plot.columns
        total = 0.0
        for number, point in numbered(session, outcome.replayed):
            column = plot.column(number)
            held = tokens[column]
            tokens[column] = max(point.tokens, held) if isinstance(held, int) else point.tokens
            total += point.bill.units
            cost[column] = round(total)
        prices = column_prices(session, outcome.replayed, detail)
        sizes = column_sizes(session, outcome.replayed, detail)
        policies.append(
            {
                "name": plain(outcome.replayed.policy, 60),
                "size": tokens,
                "cost": cost,
                "price": [round(prices[column][0]) if column in prices else None for column in range(plot.columns)],
                "broke": {str(column): cause for column, (_, cause) in prices.items() if cause},
                "kinds": None
                if sizes is None
                else [
                    [round(size / KIND_STEP) for size in kind] if any(kind) else None
                    for kind in zip(*sizes, strict=True)
                ],
            }
        )
    return {
        "place": session.place,
        "first": [plot.first(column) + 1 for column in range(plot.columns)],
        "requests": session.requests,
        "policies": policies,
    }


def _embedded(sessions: list[JsonObject]) -> str:
    """JSON that no HTML parser takes for markup, whatever it holds."""
    data: JsonObject = {"kinds": list(KIND_WORDS.values()), "step": KIND_STEP, "sessions": list[Json](sessions)}
    text = encode_json(data).decode()
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
