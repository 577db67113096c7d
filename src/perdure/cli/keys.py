"""`perdure keys`: who may call the gateway, and for what.

It knows options and how keys are listed. It must never print a key but the one that it has just made, once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from perdure.gateway.grants import Grant, Limits, grant_to_json
from perdure.gateway.keys import KeyBook, KeyRecord, follower, issued, rotated
from perdure.gateway.postgres_keys import PostgresKeys
from perdure.gateway.postgres_pool import Pool
from perdure.gateway.postgres_schema import migrate
from perdure.gateway.sqlite_keys import SqliteKeys
from perdure.kernel.errors import UserError
from perdure.kernel.messages import JsonObject, encode_json
from perdure.memory import Principal
from perdure.project import home_of
from perdure.providers.edge import wall_clock

STORE_KEY = "PERDURE_STORE_KEY"
"""The variable that holds what proves to a server whose rows are asked for."""

GRACE = 3_600.0
"""Seconds that the old key goes on for when it is rotated: time to hand out the new one."""

MOST_DAYS = 36_500
"""Days that a key may live: one hundred years. No calendar shows a time far beyond, and SQLite keeps what is no number
as no end at all."""

EPILOG = """\
A key is shown once, when it is made; what is kept is a salted hash. A client shows it as `perdure-key`, `x-api-key`
or `Authorization: Bearer`.

examples:
  perdure keys add --tenant acme --user ada --name laptop
  perdure keys add --tenant acme --user ci --models 'claude-*' --usd-per-month 50 --requests-per-minute 60
  perdure keys rotate 1f0c2a9b8d7e6f50 --grace 0
  perdure keys revoke 1f0c2a9b8d7e6f50
  perdure keys setup --store postgresql://owner@db/perdure --role perdure_app
  perdure keys add --store postgresql://owner@db/perdure --tenant acme --user ada
"""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "keys",
        help="who may call the gateway, and for what",
        description="Keys of the gateway: each is for one user of one tenant.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    adding = _action(actions, "add", "make a key, and show it", run_add)
    adding.add_argument("--tenant", required=True, help="whose it is")
    adding.add_argument("--user", required=True, help="which user of the tenant")
    adding.add_argument("--name", default="", help="for people: what the key is for")
    adding.add_argument("--routes", nargs="+", metavar="PATTERN", default=["*"], help="names of routes it is good for")
    adding.add_argument("--models", nargs="+", metavar="PATTERN", default=["*"], help="models it is good for")
    adding.add_argument("--auto", choices=("on", "off"), help="keep the context of its requests; else as routes say")
    adding.add_argument("--days", type=float, help="how long it lives (default: until it is revoked)")
    adding.add_argument("--requests-per-minute", type=int, metavar="N")
    adding.add_argument("--tokens-per-day", type=int, metavar="N", help="input and output together, days of UTC")
    adding.add_argument("--usd-per-month", type=float, metavar="USD", help="by published prices, months of UTC")
    adding.add_argument("--concurrent", type=int, metavar="N", help="calls under way at one time")
    adding.add_argument("--storage", type=int, metavar="BYTES", help="what may be kept of its conversations")
    listing = _action(actions, "list", "list keys, without the keys", run_list)
    listing.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    rotating = _action(actions, "rotate", "make a key in the place of another", run_rotate)
    rotating.add_argument("id", help="of the old key, as `list` shows it")
    rotating.add_argument(
        "--grace", type=float, default=GRACE, metavar="SECONDS", help="how long the old one goes on (default: 3600)"
    )
    revoking = _action(actions, "revoke", "end a key", run_revoke)
    revoking.add_argument("id", help="of the key, as `list` shows it")
    setting = _action(
        actions, "setup", "make the gateway's tables on a PostgreSQL server, or bring them up to date", run_setup
    )
    setting.add_argument("--role", required=True, help="what the gateway connects as; it must own nothing")
    setting.add_argument(
        "--store-key-env",
        default=STORE_KEY,
        metavar="NAME",
        help=f"variable with the store's key (default: {STORE_KEY})",
    )


def _action(
    # As above.
    actions: argparse._SubParsersAction[argparse.ArgumentParser],  # pyright: ignore[reportPrivateUsage]
    name: str,
    says: str,
    run: object,
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=says, description=says[:1].upper() + says[1:] + ".")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--keys", metavar="FILE", type=Path, help="where they are kept (default: the gateway's own)")
    place.add_argument("--store", metavar="URL", help="the PostgreSQL server that keeps them, as its tables' owner")
    parser.set_defaults(run=run)
    return parser


def run_add(options: argparse.Namespace) -> int:
    """Make a key and print it."""
    limits = Limits(
        requests_per_minute=options.requests_per_minute,
        tokens_per_day=options.tokens_per_day,
        usd_per_month=options.usd_per_month,
        concurrent=options.concurrent,
        storage=options.storage,
    )
    if options.days is not None and not 0 < options.days <= MOST_DAYS:
        raise UserError(f"--days {options.days:g}: give more than 0 and at most {MOST_DAYS:,}, or leave it out")
    auto = None if options.auto is None else options.auto == "on"
    grant = Grant(routes=tuple(options.routes), models=tuple(options.models), auto=auto, limits=limits)
    now = wall_clock()
    until = None if options.days is None else now + options.days * 86_400
    principal = Principal(tenant=options.tenant, user=options.user)
    key, record = issued(principal, grant, options.name, now, until=until)
    with book_of(options) as book:
        book.add(record)
    _show(key, record.id)
    return 0


def run_list(options: argparse.Namespace) -> int:
    """Print all keys."""
    with book_of(options) as book:
        records = book.records()
    now = wall_clock()
    if options.json:
        print(encode_json({"keys": [_object(record, now) for record in records]}).decode())
        return 0
    for record in records:
        owner = f"{record.principal.tenant}/{record.principal.user}"
        print(f"{record.id}  {_state(record, now):<22}  {owner}  {record.name}".rstrip())
    if not records:
        print("no keys; make one with `perdure keys add --tenant NAME --user NAME`")
    return 0


def run_rotate(options: argparse.Namespace) -> int:
    """Make a key in the place of another and print it."""
    if not 0 <= options.grace <= MOST_DAYS * 86_400:
        raise UserError(f"--grace {options.grace:g}: give seconds from 0 to {MOST_DAYS * 86_400:,}")
    now = wall_clock()
    with book_of(options) as book:
        old = _found(book, options.id)
        if not old.alive(now):
            raise UserError(f"the key {old.id!r} has ended: make a new one with `perdure keys add`")
        if newer := follower(book.records(), old):
            raise UserError(f"the key {old.id!r} was rotated already: rotate {newer.id!r}, which came after it")
        key, record = rotated(book, old, now, options.grace)
    _show(key, record.id)
    print(f"the old one, {old.id}, ends in {options.grace:g} seconds")
    return 0


def run_revoke(options: argparse.Namespace) -> int:
    """End a key."""
    with book_of(options) as book:
        record = _found(book, options.id)
        book.end(record.id, wall_clock())
    print(f"revoked {record.id}; gateways that are running know within 10 seconds")
    return 0


def run_setup(options: argparse.Namespace) -> int:
    """Make the tables."""
    if not options.store:
        raise UserError("name the server with --store; files need no setup")
    key = os.environ.get(options.store_key_env, "")
    if not key:
        raise UserError(f"set the variable {options.store_key_env!r} to a random text of 32 bytes or more")
    steps = migrate(options.store, role=options.role, key=key.encode())
    print(f"the tables are there ({steps} steps ran), and {options.role!r} may use them")
    return 0


@contextmanager
def book_of(options: argparse.Namespace) -> Generator[KeyBook]:
    """The book that the options name."""
    if options.store:
        # No rows of anybody are asked for, so that nobody has to be proven.
        pool = Pool(conninfo=options.store, key=b"")
        try:
            yield PostgresKeys(pool)
        finally:
            pool.close()
        return
    book = SqliteKeys(options.keys or default_keys(dict(os.environ)))
    try:
        yield book
    finally:
        book.close()


def default_keys(environment: dict[str, str]) -> Path:
    """Where keys are kept if nobody says where."""
    return home_of(environment) / "gateway" / "keys.sqlite3"


def _found(book: KeyBook, key_id: str) -> KeyRecord:
    record = book.find(key_id)
    if record is None:
        raise UserError(f"there is no key {key_id!r}; `perdure keys list` shows what there is")
    return record


def _show(key: str, key_id: str) -> None:
    print(f"{key}\nThis is the only time that it is shown. Its id is {key_id}.")


def _state(record: KeyRecord, now: float) -> str:
    if not record.alive(now):
        return "ended"
    return "for good" if record.until is None else f"until {_day(record.until)}"


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, tz=UTC).strftime("%Y-%m-%d %H:%M")


def _object(record: KeyRecord, now: float) -> JsonObject:
    return {
        "id": record.id,
        "account": record.account,
        "tenant": record.principal.tenant,
        "user": record.principal.user,
        "name": record.name,
        "created": record.created,
        "until": record.until,
        "alive": record.alive(now),
        **grant_to_json(record.grant),
    }
