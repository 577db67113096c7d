"""The tables of the page: policies side by side, every figure, edits, and the loss report.

It knows rows and columns. It must never compute a figure that `summary` gives; shares and differences are made here.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.kernel.context import Lost
from perdure.kernel.messages import Json, JsonObject
from perdure.lab.replay import Replayed
from perdure.lab.report.page.charts import RUNG_SHORT, RUNG_WORDS
from perdure.lab.report.page.sessions import BASELINES, Detail, Edit, Session, edits_of, numbered, shade
from perdure.lab.report.page.words import NOTHING, brief, count, difference, dollars, percent, several, shown
from perdure.lab.report.summary import Outcome, breaks_of

WHY_WORDS = {
    "entry": "on arrival",
    "cold": "the cache was cold",
    "clear_point": "clear point",
    "fold_point": "fold point",
    "threshold": "threshold",
    "overflow": "the provider said too long",
    "asked": "asked for",
    "bound_thinking": "thinking bound to the prefix",
}

_HEADINGS = (
    ("USD", "at the published prices"),
    ("Peak", "tokens of the largest request"),
    ("Sent", "tokens of all requests"),
    ("Hit rate", "part of the prompts that was read from the cache"),
    ("Breaks", "requests that could not read what the one before had left, by cause"),
    ("Edits", "rungs that changed what was sent, and tokens that left with them"),
    ("Needed later", "visible, recallable, gone"),
    ("Faults", "requests that were invalid, over the window, or could not be made to fit"),
    ("ms p50 / p99", "milliseconds to work out a request"),
)


def policies_table(rows: Sequence[tuple[JsonObject, Sequence[Outcome]]]) -> str:
    """Policies side by side."""
    base = baseline([row for row, _ in rows])
    most = max((_number(row["cost_units"]) for row, _ in rows), default=0.0)
    heads = "".join(f'<th scope="col" title="{title}">{name}</th>' for name, title in _headings(base))
    body = "".join(_policy_row(row, found, (base, most), place) for place, (row, found) in enumerate(rows))
    return (
        f'<div class="wide"><table class="policies"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def baseline(rows: Sequence[JsonObject]) -> JsonObject | None:
    """What the others are compared with."""
    return next((row for name in BASELINES for row in rows if row["policy"] == name), None)


def against(row: JsonObject, base: JsonObject | None) -> str:
    """How much less or more a policy costs; nothing where the two are not of the same requests."""
    if base is None or base is row or row["requests"] != base["requests"] or not _number(base["cost_units"]):
        return NOTHING
    return difference(_number(row["cost_units"]), _number(base["cost_units"]))


def figures_table(rows: Sequence[JsonObject]) -> str:
    """Every figure of the summary, exactly."""
    names = [name for name in rows[0] if name not in {"file", "format", "policy", "warnings"}]
    heads = "".join(f'<th scope="col">{shown(str(row["policy"]))}</th>' for row in rows)
    body = "".join(
        f'<tr><th scope="row"><code>{name}</code></th>{"".join(f"<td>{_exact(row[name])}</td>" for row in rows)}</tr>'
        for name in names
    )
    return (
        "<details><summary>Every figure, exactly</summary>"
        f'<div class="wide"><table class="figures"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></details>"
    )


def edits_table(session: Session, replayed: Replayed, detail: Detail) -> str:
    """What a policy changed, when, why, and at what price."""
    edits = edits_of(session, replayed)
    if not edits:
        return '<p class="note">This policy changed nothing.</p>'
    priced = any(edit.step is not None for edit in edits)
    heads = ("#", "Request", "Rung", *(("Why", "Before", "After", "Costs", "Pays back after") if priced else ()))
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in _edit_cells(edit, priced))}</tr>" for edit in edits[: detail.rows]
    )
    note = f"The first {detail.rows} of {count(len(edits))}." if len(edits) > detail.rows else ""
    if not priced:
        note = f"{note} The classic ladder plans anew at each request and tells no price.".strip()
    return _listing("edits", heads, rows, note)


def losses_table(session: Session, replayed: Replayed, detail: Detail) -> str:
    """The loss report: what left the view, when, how large, and the handle that recalls it."""
    losses = [(number, lost) for number, point in numbered(session, replayed) for lost in point.lost]
    if not losses:
        told = any(point.steps for point in replayed.points) or not any(point.rungs for point in replayed.points)
        return (
            '<p class="note">Nothing left the view.</p>'
            if told
            else '<p class="note">This policy cuts and keeps no account of it: what it cuts cannot be recalled.</p>'
        )
    whole = sum(lost.tokens for _, lost in losses)
    kept = sorted(losses, key=lambda one: -one[1].tokens)[: detail.rows]
    rows = "".join(_loss_row(number, lost) for number, lost in kept)
    part = sum(lost.tokens for _, lost in kept)
    note = f"{several(len(losses), 'thing')} of {count(whole)} tokens left the view; "
    note += "each handle recalls the original exactly."
    if len(losses) > len(kept):
        note += f" Shown: the {len(kept)} largest, {count(part)} tokens."
    return _listing("losses", ("Request", "What", "Tokens", "Rung", "Handle"), rows, note)


def needed_bar(needed: Json) -> str:
    """What was needed later: a bar of visible, recallable and gone."""
    if not isinstance(needed, dict):
        return NOTHING
    asked = _number(needed["asked"])
    if not asked:
        return '<span class="muted">nothing asked</span>'
    parts = [(name, _number(needed[name])) for name in ("visible", "recallable", "gone")]
    pieces = "".join(f'<i class="n-{name}" style="width:{value / asked:.2%}"></i>' for name, value in parts if value)
    words = "<wbr> / ".join(count(value) for _, value in parts)
    return f'<span class="bar needed">{pieces}</span><span class="of">{words}</span>'


def _headings(base: JsonObject | None) -> tuple[tuple[str, str], ...]:
    against_what = f"Against<br>{shown(str(base['policy']))}" if base else "Against"
    return (
        ("Policy", "what decided what was sent"),
        ("Cost", "units of one uncached input token"),
        (against_what, "where both were replayed on the same requests"),
        *_HEADINGS,
    )


def _policy_row(row: JsonObject, found: Sequence[Outcome], scale: tuple[JsonObject | None, float], place: int) -> str:
    base, most = scale
    policy, units = str(row["policy"]), _number(row["cost_units"])
    edits, timing = row["edits"], row["projection_ms"]
    color = f"s{shade(policy, place)}"
    causes = ", ".join(
        f"{number:,}\u00a0{cause}" for cause, number in breaks_of(one.replayed for one in found).most_common()
    )
    made = sum(int(_number(number)) for number in edits.values()) if isinstance(edits, dict) else None
    cells = (
        f'{brief(units)}<span class="bar {color}"><i style="width:{units / most if most else 0:.1%}"></i></span>',
        against(row, base),
        dollars(row["cost_usd"]),
        brief(row["peak_tokens"]),
        brief(row["sent_tokens"]),
        percent(row["hit_rate"]),
        f"{count(row['prefix_breaks'])}{f'<small>{causes}</small>' if causes else ''}",
        NOTHING if made is None else f"{count(made)}{_by_rung(edits)}{_evicted(row)}",
        needed_bar(row["needed_later"]),
        _faults(row),
        f"{_number(timing['p50']):.2g} / {_number(timing['p99']):.3g}" if isinstance(timing, dict) else NOTHING,
    )
    name = f'<th scope="row"><span class="name {color}"><i></i>{shown(policy)}</span></th>'
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _by_rung(edits: Json) -> str:
    if not isinstance(edits, dict) or not edits:
        return ""
    words = ", ".join(f"{count(number)}\u00a0{RUNG_SHORT.get(rung, rung)}" for rung, number in edits.items())
    return f'<small class="rungs">{words}</small>'


def _evicted(row: JsonObject) -> str:
    return f"<small>{brief(row['evicted_tokens'])} tokens left</small>" if row["evicted_tokens"] else ""


def _faults(row: JsonObject) -> str:
    named = (("invalid_requests", "invalid"), ("over_window", "over window"), ("infeasible_requests", "infeasible"))
    found = [f"{count(row[key])} <small>{word}</small>" for key, word in named if row[key]]
    return f'<span class="bad">{"".join(found)}</span>' if found else "none"


def _edit_cells(edit: Edit, priced: bool) -> tuple[str, ...]:
    rung = f'<span title="{shown(edit.rung)}">{RUNG_WORDS.get(edit.rung, shown(edit.rung))}</span>'
    place = (count(edit.number), count(edit.request + 1), rung)
    if not priced:
        return place
    step = edit.step
    if step is None:
        return (*place, *(NOTHING,) * 5)
    price = step.price
    back = NOTHING
    if price is not None and price.payback is not None:
        back = several(round(price.payback), "request") if price.payback >= 0.5 else "at once"
    cost = NOTHING if price is None else brief(price.cost + price.model)
    return (*place, WHY_WORDS[step.why], count(step.tokens_before), count(step.tokens_after), cost, back)


def _loss_row(number: int, lost: Lost) -> str:
    rung = RUNG_WORDS.get(lost.rung, lost.rung)
    return (
        f'<tr><td>{count(number + 1)}</td><td class="what" title="message {shown(lost.message_id, 80)}">'
        f"{shown(lost.what, 120)}</td><td>{count(lost.tokens)}</td><td>{rung}</td>"
        f"<td><code>{shown(lost.handle, 40)}</code></td></tr>"
    )


def _listing(kind: str, headings: Sequence[str], rows: str, note: str) -> str:
    heads = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    return (
        f'{f"""<p class="note">{note}</p>""" if note else ""}<div class="wide tall"><table class="{kind}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _exact(value: Json) -> str:
    match value:
        case None:
            return NOTHING
        case dict():
            return "<br>".join(f"{shown(name)} {_exact(held)}" for name, held in value.items()) or "none"
        case bool() | str() | list():
            return shown(str(value))
        case float():
            return f"{value:,}"
        case int():
            return count(value)


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
