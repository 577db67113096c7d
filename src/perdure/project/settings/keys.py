"""Every setting that there is: its name, kind, default and meaning. `perdure config` prints this table.

It knows names and what they mean. It must never know a file. A key that is `guarded` can run a program, send what is
said somewhere else or permit something, so a repository may set it only once the user trusts that repository.
"""

from __future__ import annotations

import difflib

from perdure.kernel.context import Settings
from perdure.kernel.value import value
from perdure.project.settings.kinds import Choice, Flag, Kind, Named, Number, Tables, Texts, Value, Words

ENGINE = Settings()

PRESETS = ("balanced", "cautious", "thrifty")
MODES = ("ask", "accept_edits", "plan", "full")
THEMES = ("auto", "dark", "light", "plain")


@value
class Key:
    """One setting."""

    name: str
    """With dots where a settings file has tables: `context.preset`."""
    kind: Kind
    default: Value
    """None: nothing is set, and the text says what happens then."""
    says: str
    """What it does, in a line."""
    guarded: bool = False
    """Counts from a repository's file only where the user trusts the repository."""

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "PERDURE_" + self.name.upper().replace(".", "_").replace("-", "_")


def _key(name: str, kind: Kind, default: Value, says: str, *, guarded: bool = False) -> Key:
    return Key(name=name, kind=kind, default=default, says=says, guarded=guarded)


KEYS: tuple[Key, ...] = (
    _key("model", Words(), None, "the model, such as claude-opus-5-5, openai/gpt-6-sol or ollama/qwen3-coder"),
    _key("summarizer", Words(), None, "another model that writes the summaries; unset: the model itself"),
    _key(
        "base_url", Words(), None, "a server that speaks Chat Completions, or one in front of a provider", guarded=True
    ),
    _key(
        "dialect", Choice(("anthropic", "responses", "chat")), None, "what base_url speaks; unset: chat", guarded=True
    ),
    _key("key_variable", Words(), None, "the environment variable that holds the key for base_url", guarded=True),
    _key("window", Number(least=1_000), None, "tokens of the model's window, where none is known or less is wanted"),
    _key("effort", Choice(("low", "medium", "high")), None, "how long the model thinks, where it can be told"),
    _key("answer_tokens", Number(least=256), 32_000, "tokens that one answer may have"),
    _key("context.preset", Choice(PRESETS), "balanced", "how early the context is cleared and folded"),
    _key("context.compact_ratio", Number(whole=False, least=0.3, most=0.95), None, "act at this part of the window"),
    _key(
        "context.entry_limit", Number(named=("off",)), None, "tokens above which a tool output is reduced as it enters"
    ),
    _key(
        "context.clear_growth", Number(named=("off",)), None, "tokens of history at which old tool results are cleared"
    ),
    _key("context.fold_growth", Number(named=("auto", "off")), None, "tokens of history at which a checkpoint is made"),
    _key(
        "context.low_water",
        Number(whole=False, least=0.01, most=0.99),
        None,
        "part of the history that clearing leaves",
    ),
    _key("context.keep_results", Number(), None, "newest tool results that are never cleared"),
    _key("context.keep_tail", Number(), None, "tokens that stay word for word behind a checkpoint"),
    _key("context.checkpoint_size", Number(), None, "tokens that a checkpoint may have"),
    _key("context.background", Flag(), False, "checkpoints are prepared while the agent works"),
    _key(
        "context.keep_warm", Flag(), False, "pings that keep the provider's cache, where they cost less than they save"
    ),
    _key("limits.turns", Number(least=1), None, "model calls of one run"),
    _key("limits.tokens", Number(least=1), None, "tokens of one run, prompts and answers together"),
    _key("limits.usd", Number(whole=False, least=0), None, "US dollars of one run"),
    _key("permissions.mode", Choice(MODES), "ask", "what is done without a question", guarded=True),
    _key("permissions.allow", Texts(), (), "rules for what needs no question, such as bash(make test)", guarded=True),
    _key("permissions.ask", Texts(), (), "rules for what is always asked"),
    _key("permissions.deny", Texts(), (), "rules for what is never done"),
    _key("permissions.roots", Texts(), (), "folders besides the project that may be worked in", guarded=True),
    _key("permissions.sandbox", Flag(), False, "commands run in a sandbox (bubblewrap), or not at all", guarded=True),
    _key("permissions.network", Flag(), True, "commands in the sandbox may use the network", guarded=True),
    _key("tools.web_fetch", Flag(), False, "the model may read pages of the web", guarded=True),
    _key(
        "tools.bash_timeout",
        Number(least=1, most=3600),
        120,
        "seconds that a command may take unless it says otherwise",
    ),
    _key("memory.tell", Flag(), True, "MEMORY.md is told at the start, and fitting topics with what you type"),
    _key(
        "memory.session", Flag(), True, "a model keeps notes of the session in the background, for the next checkpoint"
    ),
    _key("hooks.before_tool", Tables(), (), "commands before a tool runs: {match, command, timeout}", guarded=True),
    _key("hooks.after_tool", Tables(), (), "commands after a tool ran", guarded=True),
    _key("hooks.before_compaction", Tables(), (), "commands before the context is folded", guarded=True),
    _key("hooks.after_compaction", Tables(), (), "commands after the context was folded", guarded=True),
    _key("hooks.stop", Tables(), (), "commands when the agent wants to stop", guarded=True),
    _key("mcp", Named(), {}, "MCP servers by name: {command, args, env} or {url, headers}", guarded=True),
    _key("models", Named(), {}, "facts about models that Perdure does not know, by name", guarded=True),
    _key("screen.theme", Choice(THEMES), "auto", "colours of the screen"),
    _key("screen.thinking", Flag(), False, "the model's thinking is shown"),
)

_BY_NAME = {key.name: key for key in KEYS}


def key_named(name: str) -> Key | None:
    """The key of a name."""
    return _BY_NAME.get(name)


def nearest(name: str) -> str | None:
    """The name that was probably meant."""
    last = {key.name.rpartition(".")[2]: key.name for key in KEYS}
    for known in (_BY_NAME, last):
        if close := difflib.get_close_matches(name, known, n=1, cutoff=0.7):
            return last.get(close[0], close[0])
    return None
