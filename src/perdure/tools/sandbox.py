"""A sandbox around commands, by bubblewrap: the whole disk can be read but for credentials, the folders of the session
can be written, and the network is there or not.

It knows words of bwrap (bubblewrap 0.11, bwrap(1)). It must never run a command without the sandbox that was asked for:
where none can be made, the command is refused.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from perdure.kernel.value import value
from perdure.tools.failed import ToolFailed

PATIENCE = 10
"""Seconds that the trial may take."""

SECRET = (
    ".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", ".password-store", ".config/gcloud", ".config/gh",
    ".config/op", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".vault-token",
    ".cargo/credentials", ".cargo/credentials.toml",
)  # fmt: skip
"""What lies in a home directory and no command has to see."""
DOORS = ("/run/user", "/run/dbus", "/run/docker.sock", "/run/podman", "/run/containerd", "/run/libvirt")
"""Sockets by which a command would have something outside the sandbox done for it."""
KEPT = (".git/hooks", ".git/config", ".perdure", ".vscode", ".idea", ".husky", ".pre-commit-config.yaml")
"""What lies in a root and runs by itself, or holds permissions: it can be read."""


@value
class Walls:
    """What a sandbox is made of. Every path is there, with its links resolved."""

    writable: tuple[Path, ...]
    kept: tuple[Path, ...] = ()
    """Below these nothing can be written, also where they lie in a folder that can be."""
    hidden_folders: tuple[Path, ...] = ()
    """They look empty."""
    hidden_files: tuple[Path, ...] = ()
    network: bool = True


def inside(program: str, walls: Walls, argv: Sequence[str], cwd: Path) -> tuple[str, ...]:
    """The words that run a program in a sandbox. A later mount lies upon an earlier one."""
    # No file is made there: the sandbox gets a /tmp of its own.
    mounts: list[str] = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]  # noqa: S108
    for folder in walls.writable:
        mounts += ["--bind", str(folder), str(folder)]
    for path in walls.kept:
        mounts += ["--ro-bind", str(path), str(path)]
    for folder in walls.hidden_folders:
        mounts += ["--tmpfs", str(folder)]
    for file in walls.hidden_files:
        mounts += ["--ro-bind", "/dev/null", str(file)]
    spaces = ["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if not walls.network:
        spaces.append("--unshare-net")
    ends = ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    return (program, *ends, *spaces, *mounts, "--chdir", str(cwd), "--", *argv)


def walls_of(roots: Sequence[Path], home: Path, own: Sequence[Path], hidden: Sequence[Path], *, network: bool) -> Walls:
    """Look up what there is to be kept and hidden.

    Args:
        roots: Folders that can be written.
        home: The user's home directory.
        own: The agent's settings and permissions.
        hidden: Further files and folders that no command may see.
        network: Whether commands may use it.
    """
    secret = _there((*(home / name for name in SECRET), *(Path(name) for name in DOORS), *hidden))
    stores = [root / ".git" for root in roots]
    return Walls(
        # As a mount of its own it cannot be renamed, and another one be put in its place.
        writable=_there((*roots, *(store for store in stores if store.is_dir()))),
        kept=_there(
            (
                *(root / name for root in roots for name in KEPT),
                *(store for store in stores if store.is_file()),
                *own,
            )
        ),
        hidden_folders=tuple(path for path in secret if path.is_dir()),
        hidden_files=tuple(path for path in secret if not path.is_dir()),
        network=network,
    )


def confining(walls: Callable[[], Walls], path: str | None) -> Callable[[Sequence[str], Path], Sequence[str]]:
    """Puts each command into a sandbox. Whether one can be made is tried with the first one.

    The result raises:
        ToolFailed: none can be made, so that the command does not run.
    """
    tried: list[str] = []

    def confine(argv: Sequence[str], cwd: Path) -> Sequence[str]:
        program = shutil.which("bwrap", path=path)
        if not tried:
            tried.append(trouble(program))
        if program is None or tried[0]:
            raise ToolFailed(
                f"The command was not run: the user wants commands in a sandbox, and {tried[0]}. Tell the user, who "
                "can install bubblewrap, or turn permissions.sandbox off. Other tools than bash work."
            )
        return inside(program, walls(), argv, cwd)

    return confine


def trouble(program: str | None) -> str:
    """Why no sandbox can be made here; empty where one can."""
    if program is None:
        return "there is no bwrap on this machine"
    walls = Walls(writable=(), network=False)
    try:
        done = subprocess.run(
            inside(program, walls, ("/bin/sh", "-c", ":"), Path("/")),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap cannot be run ({type(error).__name__})"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else f"bwrap fails ({said[-1][:200] if said else f'code {done.returncode}'})"


def _there(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Those that exist, links resolved, each once: bwrap refuses a mount on nothing."""
    found: list[Path] = []
    for path in paths:
        try:
            found.append(path.resolve(strict=True))
        except (OSError, RuntimeError):
            continue
    return tuple(dict.fromkeys(found))
