"""What holds for every test: nothing beyond this machine is reached, and how many examples a property gets.

How many examples
    Property tests take Hypothesis's profile `default`, or `ci` where PERDURE_EXAMPLES=ci (as .ci/run sets it).

    A property that carries the product gets more: the profile `engine`, which is a decorator by itself.

        ENGINE = settings.get_profile("engine")

        @ENGINE
        @given(transcripts())
        def test_every_view_fits(transcript): ...

    It tries 5,000 cases, 8,000 with PERDURE_EXAMPLES=ci, or as many as PERDURE_CASES says (50 for a quick look).

Failures repeat: Hypothesis prints a blob for `@reproduce_failure` and keeps failing examples in .cache/hypothesis; the
first lines of a run name the seed of its order, which `--randomly-seed=N` takes.
"""

import os
import sys
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("PERDURE_EXAMPLES") == "ci"
CASES = int(os.environ.get("PERDURE_CASES") or (8_000 if IN_CI else 5_000))

# A slow machine is no failure: time limits belong to pytest-timeout, and speed to bench/.
EVERY_PROFILE = settings(
    deadline=None,
    derandomize=False,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(ROOT / ".cache" / "hypothesis"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("default", EVERY_PROFILE, max_examples=100)
settings.register_profile("ci", EVERY_PROFILE, max_examples=300)
settings.register_profile("engine", EVERY_PROFILE, max_examples=CASES)
settings.load_profile("ci" if IN_CI else "default")

# 0.0.0.0 and :: as destinations are this machine.
LOOPBACK = {None, "", "0.0.0.0", "127.0.0.1", "::", "::1", "localhost"}  # noqa: S104


def refuse_other_hosts(event: str, arguments: tuple[object, ...]) -> None:
    """Fail whichever test resolves, or sends to, another host; loopback and Unix sockets pass."""
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        address = arguments[1]
        # The address of a Unix socket is a path, and a connected socket sends to None.
        host = cast(tuple[object, ...], address)[0] if isinstance(address, tuple) else None
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = arguments[0]
    else:
        return
    if host not in LOOPBACK:
        pytest.fail(f"a test reached for {host!r}; tests talk to this machine alone")


# An audit hook sees every way to a socket, whichever library takes it, and cannot be caught by `except Exception`.
sys.addaudithook(refuse_other_hosts)
