"""Where a path really leads, and whether anybody has to be asked about it whatever the rules say.

It knows links, letter case, and the files that hold credentials, that run by themselves, or that hold permissions. It
looks at the disk and changes nothing. It must never know a rule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from glob import iglob
from itertools import islice
from pathlib import Path

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value
from perdure.tools.permissions.effects import Touch, Way

MOST_MATCHES = 300
"""Paths that a pattern may stand for; with more of them nobody knows where all of them lead."""

SINKS = frozenset(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr"))
"""Devices that keep nothing and tell nothing."""
_KERNEL_TRICK = pattern(r"/proc/(self|thread-self|\d+)/(task/\d+/)?(root|cwd|fd|map_files|environ|mem)(/|$)")

_CREDENTIALS = pattern(
    r"(^|/)(\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.password-store|\.config/(gcloud|gh|op)|\.netrc|_netrc|\.npmrc|\.pypirc"
    r"|\.pgpass|\.my\.cnf|\.git-credentials|\.docker/config\.json|\.cargo/credentials(\.toml)?|\.vault-token"
    r"|\.env(?!\.(example|sample|template|dist)$)(\.[^/]*)?|credentials\.json"
    r"|id_(rsa|dsa|ecdsa|ed25519)[^/]*|[^/]*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk))(/|$)",
    re.IGNORECASE,
)
_STARTS = pattern(
    r"(^|/)(\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|zlogout"
    r"|kshrc|cshrc|tcshrc|login|xinitrc|xprofile|xsession|inputrc|envrc|vimrc|exrc|gdbinit|pythonrc|pdbrc|gitconfig"
    r"|gitmodules|ripgreprc|mailcap|wgetrc|curlrc)"
    r"|\.config/(autostart|systemd|fish|git|environment\.d|nvim)|\.local/share/(applications|systemd)|\.local/bin"
    r"|LaunchAgents|LaunchDaemons|crontab|cron(\.d|\.daily|\.hourly|\.weekly|\.monthly|tabs)|\.vscode|\.idea|\.devcontainer"
    r"|sitecustomize\.py|usercustomize\.py|[^/]+\.pth)(/|$)",
    re.IGNORECASE,
)
_GIT = pattern(r"(^|/)(\.git|\.git/.*|HEAD|hooks/[^/]+|\.husky(/.*)?|\.pre-commit-config\.yaml)$", re.IGNORECASE)
_OWN = pattern(r"(^|/)\.perdure(/|$)", re.IGNORECASE)


@value
class Ground:
    """The folders of a session, as permissions see them."""

    root: Path
    """The root of the project, which relative patterns of rules start at; links resolved."""
    roots: tuple[Path, ...]
    """Where work may be done without being asked for the place; links resolved. The project's root is among them."""
    home: Path
    """The user's home directory; links resolved."""
    own: tuple[Path, ...] = ()
    """Folders and files in which settings and permissions are kept; links resolved."""
    lent: tuple[Path, ...] = ()
    """Folders among them that the model works in as in a root, such as its memory; links resolved."""
    open: tuple[Path, ...] = ()
    """Folders that it may look into, and not change; links resolved."""
    fold: bool = False
    """The file system takes names that differ in letter case for the same."""


def ground_of(root: Path, roots: Iterable[Path], home: Path, own: Iterable[Path] = ()) -> Ground:
    """The folders of a session, with links resolved and the file system's letter case tried."""
    real = _real(root)
    given = tuple(dict.fromkeys((real, *(_real(one) for one in roots))))
    return Ground(root=real, roots=given, home=_real(home), own=tuple(_real(one) for one in own), fold=_folds(real))


def lending(ground: Ground, lent: Iterable[Path], shown: Iterable[Path]) -> Ground:
    """The same folders, and among the agent's own some that it works in, and some that it may look into."""
    return replace(ground, lent=tuple(_real(one) for one in lent), open=tuple(_real(one) for one in shown))


def touch_of(path: Path, way: Way, ground: Ground, *, changes: bool = False) -> Touch:
    """What is known of a path: where it leads, also where its last parts are not there yet."""
    real = _real(path)
    return Touch(
        path=real,
        way=way,
        inside=str(real) in SINKS
        or (way != "write" and _is_system_file(real))
        or (way != "write" and not changes and _is_below(real, ground.open, ground))
        or _is_below(real, (*ground.roots, *ground.lent), ground),
        ward=_ward(path, real, writes=way == "write" or changes, ground=ground),
        changes=changes or way == "write",
    )


def touches_of(pattern: Path, way: Way, ground: Ground, *, changes: bool = False) -> tuple[Touch, ...] | None:
    """The same for each path that a pattern of the shell stands for now; None where they are too many to look at."""
    parts = pattern.parts
    place = next((number for number, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    fixed = touch_of(Path(*parts[:place]), "named", ground)
    if not fixed.inside:
        return (fixed,)
    # Path.glob takes no absolute pattern, and this one is matched as the shell would.
    found = list(islice(iglob(str(pattern), include_hidden=True), MOST_MATCHES + 1))  # noqa: PTH207
    if len(found) > MOST_MATCHES:
        return None
    return (fixed, *(touch_of(Path(one), way, ground, changes=changes) for one in found))


def holds_credentials(name: str) -> bool:
    """Whether a file or folder of this name or path is one in which programs keep keys and passwords."""
    return _CREDENTIALS.search(name) is not None


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        # Something that no path can be (a NUL): no folder holds it, so that it is asked about.
        return Path("/", "no path")


def _is_below(path: Path, folders: Iterable[Path], ground: Ground) -> bool:
    if not ground.fold:
        return any(path.is_relative_to(folder) for folder in folders)
    lowered = Path(str(path).casefold())
    return any(lowered.is_relative_to(str(folder).casefold()) for folder in folders)


def _is_system_file(path: Path) -> bool:
    """What an operating system brings, in which nobody keeps anything of his own."""
    return path.is_relative_to("/usr") and not path.is_relative_to("/usr/local/etc")


def _ward(given: Path, real: Path, *, writes: bool, ground: Ground) -> str:
    """Why it is always asked about. The name that was given counts as well as the one that it leads to."""
    names = tuple(_named_from(one, ground) for one in (given, real))
    if any(_KERNEL_TRICK.search(str(one)) for one in (given, real)):
        return "it goes through what the kernel tells of a process"
    if any(holds_credentials(name) for name in names):
        return "it may hold credentials"
    if not writes:
        return ""
    if any(_STARTS.search(name) for name in names):
        return "it runs by itself when something starts"
    if any(_GIT.search(name) for name in names):
        return "git runs or obeys what stands there"
    lent = _is_below(real, ground.lent, ground)
    if not lent and (any(_OWN.search(name) for name in names) or _is_below(real, ground.own, ground)):
        return "it holds settings or permissions of the agent"
    return ""


def _named_from(path: Path, ground: Ground) -> str:
    """The part of a path that is not the place of the project itself, which may lie anywhere."""
    return str(path.relative_to(ground.root)) if path.is_relative_to(ground.root) else str(path)


def _folds(root: Path) -> bool:
    """Whether the folder is found in other letters too."""
    other = root.with_name(root.name.swapcase()) if root.name else root
    try:
        return other.name != root.name and other.exists() and other.samefile(root)
    except OSError:
        return False
