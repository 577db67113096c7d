"""`perdure lab`: what a choice of policy and settings would do to your own sessions.

It knows options, files and where to print. It must never compute a figure: the lab does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import chain, product
from pathlib import Path, PurePath

from perdure.cli import lab_cache, lab_canaries
from perdure.cli.elsewhere import FILES, listed, swept
from perdure.cli.progress import Progress
from perdure.guard.plain import one_line
from perdure.kernel.context import PRESETS
from perdure.kernel.errors import UserError
from perdure.kernel.messages import encode_json
from perdure.lab.frontier import Total, advised, saving, totals
from perdure.lab.policies import PEERS, POLICIES
from perdure.lab.providers import PROVIDERS
from perdure.lab.recall import RecallPrice
from perdure.lab.report.page.grid import grid_page
from perdure.lab.report.sweep import sweep_json, sweep_markdown, sweep_table
from perdure.lab.rows import Rows
from perdure.lab.sweep import Plan, version_of_code
from perdure.lab.trial import Trial, policy_of

DESCRIPTION = "What a choice of policy and settings would do to your own sessions. No model is called, nothing is sent."

EPILOG = """\
Sessions are files and folders of them, in every form that `perdure replay` reads. docs/lab.md explains the figures.

examples:
  perdure lab sweep ~/.claude/projects --window 100000 200000 --policy balanced --policy append-only --html sweep.html
  perdure lab advise ~/.claude/projects --write settings.toml
  perdure lab cache session.jsonl
  perdure lab canaries session.jsonl --window 100000
"""

OPTIONS = {
    "low-water": ("low_water", float),
    "entry-limit": ("entry_limit", int),
    "clear-growth": ("clear_growth", int),
    "fold-growth": ("fold_growth", int),
    "keep-tail": ("keep_tail", int),
    "keep-results": ("keep_results", int),
    "batch-floor": ("batch_floor", int),
}
"""Options that make the grid, and the setting of the engine that each is."""

ADVISED = (
    (),
    (("fold_growth", 60_000),),
    (("fold_growth", 60_000), ("keep_tail", 20_000)),
    (("fold_growth", "auto"),),
    (("keep_tail", 20_000),),
    (("entry_limit", 2_000),),
    (("entry_limit", 8_000),),
    (("clear_growth", 100_000), ("fold_growth", None)),
)
"""What `advise` tries beside the presets."""

COMPARED = ("append-only", "summary-85", "balanced")
"""What advice is held against."""

NEVER_FULL = "; it never summarised: the window was never full enough. Give the window that you have, with --window"
"""Said of a summary near the window: where a model's window is large, it is append-only on most sessions."""

SWEEP = """\
Replays the sessions under every combination of the given values and draws the frontier: price against what stays
visible. Results are kept by content, so that an interrupted run goes on where it stopped; files go to all cores.
"""

ADVISE = """\
Tries the presets, what others do and a few settings around the default on your sessions, and says which it would
choose, why, and what it would have saved, with the interval within which 95 of 100 other draws of your sessions lie.
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommands."""
    parser = commands.add_parser(
        "lab",
        help="choose a policy on your own sessions",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    grid = inner.add_parser("sweep", help="a grid of settings, and its frontier", description=SWEEP)
    _shared(grid)
    grid.add_argument("--policy", action="append", metavar="NAME", help=f"{_names()}; may be repeated")
    for name, (setting, kind) in OPTIONS.items():
        values = "values of the setting, `off` or, for fold-growth, `auto` among them" if kind is int else "values"
        grid.add_argument(f"--{name}", nargs="+", metavar="N", help=f"{values} ({setting})")
    grid.set_defaults(run=run_sweep)
    advice = inner.add_parser("advise", help="the settings that fit your sessions", description=ADVISE)
    _shared(advice)
    advice.add_argument("--write", metavar="PATH", type=Path, help="write the advised settings there (settings.toml)")
    advice.set_defaults(run=run_advise)
    lab_cache.add(inner)
    lab_canaries.add(inner)


def _shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
    parser.add_argument("--window", nargs="+", type=int, metavar="N", help="windows in tokens")
    parser.add_argument("--model", nargs="+", metavar="M", help="price as these models")
    parser.add_argument(
        "--ttl", nargs="+", choices=["5m", "1h"], help="life of the history's cache, Anthropic's prices"
    )
    parser.add_argument("--provider", nargs="+", choices=[*PROVIDERS], metavar="P", help=", ".join(PROVIDERS))
    parser.add_argument("--prefill", type=float, metavar="N", help="tokens a second: seconds instead of money")
    parser.add_argument("--recall-cap", type=int, default=RecallPrice().cap, metavar="N", help="tokens of a recall")
    parser.add_argument("--recall-call", type=int, default=RecallPrice().call, metavar="N", help="tokens of its call")
    parser.add_argument("--gone-factor", type=float, default=RecallPrice().gone, metavar="X", help="gone, in recalls")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (one per core)")
    parser.add_argument("--scheduler", metavar="URL", help="a Dask cluster that does the work, as tcp://host:8786")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where results are kept")
    parser.add_argument("--no-cache", action="store_true", help="keep no results")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--html", type=Path, metavar="OUT", help="write a self-contained page")


def run_sweep(options: argparse.Namespace) -> int:
    """Run the grid and print it."""
    trials = _trials(options)
    rows, troubles = _rows(options, trials)
    with rows:
        _report(options, rows, totals(rows))
    return 2 if troubles else 0


def run_advise(options: argparse.Namespace) -> int:
    """Try what is tried, print the choice, and write it where that was asked."""
    grounds = _grounds(options)
    if len(grounds) > 1:
        raise UserError("advise works for one model, window and provider at a time; give one of each")
    known = [*POLICIES, *PEERS]
    trials = [_trial(name, (), grounds[0]) for name in known]
    trials += [_trial("balanced", changes, grounds[0]) for changes in ADVISED if changes]
    rows, troubles = _rows(options, trials)
    with rows:
        found = totals(rows)
        choice = advised([one for one in found if one.trial["policy"] in PRESETS])
        if choice is None:
            raise UserError("no recorded session was found there; see `perdure replay --help` for the formats")
        _report(options, rows, found)
        if not options.json:
            print(_reasons(choice, found, rows), end="")
    if options.write is not None:
        _write(options.write, _settings_text(choice))
    return 2 if troubles else 0


def _reasons(choice: Total, found: Sequence[Total], rows: Rows) -> str:
    """Why this one, in lines."""
    lines = [
        f"advice: {choice.label}",
        "  why: the cheapest of Perdure's settings tried here whose requests are all valid and fit, and from which "
        + ("nothing needed later is gone" if not choice.gone else "least of what was needed later is gone"),
    ]
    for other in found:
        if other.label != choice.label and other.trial["policy"] in COMPARED and not other.trial["changes"]:
            one = saving(chain(rows.of(choice.label), rows.of(other.label)), choice.label, other.label)
            idle = "" if other.summaries or not other.label.startswith("summary") else NEVER_FULL
            lines.append(
                f"  against {other.label}: {one.mean:+.1%} saved (95 %: {one.low:+.1%} to {one.high:+.1%}), "
                f"no dearer in {one.wins:.0%} of {choice.sessions} sessions{idle}"
            )
    lines.append(
        f"  of {choice.asked} needed items {choice.visible} stay visible, {choice.recallable} are recallable, "
        f"{choice.gone} gone; {choice.summaries} checkpoints; {choice.faults} requests refused or over the window"
    )
    if choice.sessions < 20:
        lines.append(f"  {choice.sessions} sessions are few: prefer the default unless the interval is narrow")
    return "\n".join(lines) + "\n"


def _settings_text(choice: Total) -> str:
    changes = choice.trial["changes"]
    lines = ["[context]", f'preset = "{choice.trial["policy"]}"']
    for name, value in changes.items() if isinstance(changes, dict) else ():
        lines.append(f"{name} = {encode_json(value if value is not None else 'off').decode()}")
    return "\n".join(lines) + "\n"


def _trials(options: argparse.Namespace) -> list[Trial]:
    policies = options.policy or ["append-only", "balanced"]
    axes = [
        [(setting, _value(text, kind)) for text in given]
        for name, (setting, kind) in OPTIONS.items()
        if (given := getattr(options, name.replace("-", "_")))
    ]
    trials: list[Trial] = []
    for ground in _grounds(options):
        for policy in policies:
            changes = product(*axes) if policy in PRESETS else [()]
            trials += [_trial(policy, tuple(chosen), ground) for chosen in changes]
    for trial in trials:
        policy_of(trial)
    return list(dict.fromkeys(trials))


def _grounds(options: argparse.Namespace) -> list[tuple[str | None, int | None, str | None]]:
    named: list[str] = options.provider or []
    lives: list[str] = options.ttl or []
    models: list[str] = options.model or []
    windows: list[int] = options.window or []
    providers = [*named, *(f"anthropic-{life}" for life in lives)]
    return [
        (model, window, provider)
        for model in models or [None]
        for window in windows or [None]
        for provider in providers or [None]
    ]


def _trial(
    policy: str,
    changes: tuple[tuple[str, int | float | str | None], ...],
    ground: tuple[str | None, int | None, str | None],
) -> Trial:
    return Trial(policy=policy, changes=changes, model=ground[0], window=ground[1], provider=ground[2])


def _value(text: str, kind: type[int] | type[float]) -> int | float | str | None:
    if text == "off":
        return None
    if text == "auto":
        return text
    try:
        return kind(text)
    except ValueError as error:
        raise UserError(f"{text!r} is no number; give one, or `off`") from error


def _rows(options: argparse.Namespace, trials: Sequence[Trial]) -> tuple[Rows, list[str]]:
    places = list(listed(options.files))
    price = RecallPrice(cap=options.recall_cap, call=options.recall_call, gone=options.gone_factor)
    kept = None if options.no_cache else options.cache or _cache_folder()
    plan = Plan(trials=tuple(trials), price=price, kept=kept, version=version_of_code())
    # Files are done in any order; what is printed must not depend on it.
    order = {place: number for number, place in enumerate(sorted(places))}
    progress, rows, troubles = Progress(), Rows([trial.label for trial in trials]), list[str]()
    try:
        for number, done in enumerate(swept(places, plan, options.jobs, options.scheduler)):
            path = one_line(done.place)
            progress.show(f"{len(trials)} trials on {PurePath(path).name}", number + 1, len(places))
            named = [{**row, "file": one_line(str(row["file"])), "path": path} for row in done.rows]
            rows.add(order[done.place], named)
            troubles += [done.trouble] if done.trouble else []
    except BaseException:
        rows.close()
        raise
    finally:
        progress.clear()
    for trouble in sorted(troubles):
        print(f"perdure: {one_line(trouble)}", file=sys.stderr)
    return rows, troubles


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "perdure" / "lab"


def _report(options: argparse.Namespace, rows: Rows, found: Sequence[Total]) -> None:
    if not found:
        raise UserError("no recorded session was found there; see `perdure replay --help` for the formats")
    if options.html is not None:
        _write(options.html, grid_page(found, rows.notable(), options.prefill))
    if options.json:
        _print_json(rows, found)
    elif options.markdown:
        print(sweep_markdown(found, options.prefill), end="")
    else:
        print(sweep_table(found, options.prefill), end="")


def _print_json(rows: Rows, found: Sequence[Total]) -> None:
    """One object, row by row: together they may not fit into memory."""
    out = sys.stdout.buffer
    out.write(b'{"totals":' + encode_json([*sweep_json(found)]) + b',"rows":[')
    for number, row in enumerate(rows):
        out.write((b"," if number else b"") + encode_json(row))
    out.write(b"]}\n")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror}") from error
    print(f"perdure: wrote {path}", file=sys.stderr)


def _names() -> str:
    return ", ".join([*POLICIES, *PEERS])
