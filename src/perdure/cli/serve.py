"""`perdure serve`: the gateway on a port.

It knows options and how they become a configuration. It must never know a request.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from perdure.cli.keys import STORE_KEY, default_keys
from perdure.gateway import Config, Gateway, Route, read_config
from perdure.gateway.config import DIALECTS, NATIVES
from perdure.gateway.server import run as serve
from perdure.kernel.errors import InvalidSetting
from perdure.project import home_of

EPILOG = """\
examples:
  perdure serve --open --upstream http://127.0.0.1:8080 --dialect chat --window 32768 --auto
      context management for a local server that speaks Chat Completions; point any client that
      speaks Anthropic Messages, OpenAI Responses or Chat Completions at http://127.0.0.1:8790
  perdure keys add --tenant acme --user ada && perdure serve --upstream https://api.anthropic.com --auto
      for callers with a key; each sends its own key of the upstream too, and the gateway's as `perdure-key`
  perdure serve --upstream https://api.anthropic.com --upstream-key-env ANTHROPIC_API_KEY --auto
      the same with one key of the upstream, which callers never see
  perdure serve --config gateway.toml
      routes, limits and where keys are from a file; docs/deployment.md lists every option
  perdure serve --config gateway.toml --store postgresql://perdure_app@db/perdure
      one of many replicas; `perdure keys setup` makes the tables

Open the address in a browser and sign in with a key to see its conversations. SIGTERM drains, SIGHUP reads the file
again.

Callers show a key that `perdure keys add` made. With --open there is none, and the gateway serves this machine
alone, for development. Where a route has no key of its own, clients keep the upstream's key that they have."""


# argparse gives the type of a group of subcommands no public name.
def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the subcommand."""
    parser = commands.add_parser(
        "serve",
        help="context management for any client, in front of any model",
        description="A server in front of models that keeps the context of every client that speaks to it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="TOML; options below go before what it says")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8790)")
    caller = parser.add_mutually_exclusive_group()
    caller.add_argument(
        "--keys", metavar="FILE", type=Path, help="keys that callers may show (default: the usual file)"
    )
    caller.add_argument("--key-env", metavar="NAME", help="environment variable with one key for all callers")
    caller.add_argument("--open", action="store_true", help="no key: programs of this machine alone, for development")
    parser.add_argument(
        "--store", metavar="URL", help="a PostgreSQL server for keys, conversations and memories of many replicas"
    )
    parser.add_argument(
        "--store-key-env", default=STORE_KEY, metavar="NAME", help=f"variable with its key (default: {STORE_KEY})"
    )
    parser.add_argument("--audit", metavar="FILE", type=Path, help="append who called and when; no contents")
    parser.add_argument("--state", metavar="FILE", type=Path, help="where conversations are kept")
    parser.add_argument("--memory", metavar="DIR", type=Path, help="where memories are kept; turns the tool on")
    route = parser.add_argument_group("one route, in the place of those of a file")
    route.add_argument("--upstream", metavar="URL", help="address of the upstream")
    route.add_argument("--dialect", choices=DIALECTS, default="anthropic", help="what the upstream speaks")
    route.add_argument("--model", default="*", help="pattern that models have to match (default: every one)")
    route.add_argument("--upstream-model", default="", metavar="NAME", help="what the upstream calls the model")
    route.add_argument("--upstream-key-env", metavar="NAME", help="environment variable with the upstream's key")
    route.add_argument("--window", type=int, metavar="TOKENS", help="the model's window, where it is not known")
    route.add_argument("--advertised-window", type=int, metavar="TOKENS", help="the window that clients are told of")
    route.add_argument("--native", choices=NATIVES, default="prefer", help="who edits and compacts when asked")
    route.add_argument("--summarizer", default="", metavar="MODEL", help="another model that writes summaries")
    route.add_argument("--auto", action="store_true", help="keep the context of clients that ask for nothing")
    route.add_argument("--recall", action="store_true", help="give the model the recall tool, answered here")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until told to stop."""
    config = configured(options, dict(os.environ))
    gateway = Gateway(config)
    serve(gateway, lambda: configured(options, dict(os.environ)), ready=lambda: _greet(config))
    return 0


def _greet(config: Config) -> None:
    host = f"[{config.host}]" if ":" in config.host else config.host
    print(f"perdure serve: listening on http://{host}:{config.port}")
    print(f"  {_welcome(config)}")
    for route in config.routes:
        kept = "auto" if route.auto else "on request"
        print(f"  {route.model:<24} -> {route.dialect} at {route.origin}, context kept {kept}", flush=True)


def configured(options: argparse.Namespace, environment: dict[str, str]) -> Config:
    """The configuration that the options and the file give together.

    Raises:
        UserError: an option, or the file, is wrong.
    """
    config = read_config(options.config, environment) if options.config else Config()
    if options.upstream:
        config = replace(config, routes=(_route(options, environment),))
    elif not options.config:
        raise InvalidSetting("name an upstream with --upstream, or a file with --config")
    if options.store:
        config = replace(config, store=options.store, store_key=_variable(options.store_key_env, environment))
    state = options.state or config.state
    if state is None and config.store is None:
        state = home_of(environment) / "gateway" / "state.sqlite3"
    config = replace(config, state=state, memory=options.memory or config.memory, audit=options.audit or config.audit)
    if options.host:
        config = replace(config, host=options.host)
    if options.port is not None:
        config = replace(config, port=options.port)
    return _with_callers(config, options, environment).check()


def _with_callers(config: Config, options: argparse.Namespace, environment: dict[str, str]) -> Config:
    """Who may call, as the options say, else the file; else the keys in the usual place."""
    if options.open:
        return replace(config, open=True, key=None, keys=None)
    if options.key_env:
        return replace(config, key=_variable(options.key_env, environment), keys=None, open=False)
    if options.keys:
        return replace(config, keys=options.keys, key=None, open=False)
    if config.open or config.key is not None or config.keys is not None or config.store is not None:
        return config
    return replace(config, keys=default_keys(environment))


def _welcome(config: Config) -> str:
    """Who may call."""
    if config.open:
        return "open to programs of this machine, without a key"
    if config.key is not None:
        return f"one key, for {config.tenant}/{config.user}"
    place = config.keys or "the store"
    return f"keys in {place}; make one with `perdure keys add --tenant NAME --user NAME`"


def _route(options: argparse.Namespace, environment: dict[str, str]) -> Route:
    key = _variable(options.upstream_key_env, environment) if options.upstream_key_env else None
    return Route(
        model=options.model,
        dialect=options.dialect,
        base_url=options.upstream,
        key=key,
        upstream_model=options.upstream_model,
        window=options.window,
        advertised_window=options.advertised_window,
        native=options.native,
        auto=options.auto,
        recall=options.recall,
        memory=options.memory is not None,
        summarizer=options.summarizer,
    )


def _variable(name: str, environment: dict[str, str]) -> str:
    value = environment.get(name)
    if not value:
        raise InvalidSetting(f"the environment variable {name!r} is not set")
    return value
