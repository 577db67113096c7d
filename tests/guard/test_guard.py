"""The guard finds what is secret in any text, tells it without repeating it, and leaves source files alone."""

import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.guard import SecretGuard, redactor
from perdure.guard.library import WITH_LIBRARY
from perdure.kernel.errors import SecretFound
from perdure.testing.made_up_secrets import KINDS, MadeUpSecret, make_secrets

GUARDS = {"own": SecretGuard(), "library": SecretGuard(detectors=WITH_LIBRARY)}
SECRETS = make_secrets(seed=20, each=3)


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_at_least_95_of_100_secrets_of_forty_kinds_and_more_are_found(guard: SecretGuard) -> None:
    missed = Counter((made.kind, made.setting) for made in SECRETS if not guard.find(made.text))

    assert len(KINDS) >= 40
    assert missed.total() <= 0.05 * len(SECRETS), missed


def test_no_kind_is_missed_in_every_setting() -> None:
    found = {made.kind for made in SECRETS if GUARDS["own"].find(made.text)}

    assert set(KINDS) == found


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_under_one_source_file_in_a_hundred_gives_a_false_alarm(guard: SecretGuard) -> None:
    """Python's own library, without its tests: reviewed, and free of secrets."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [path for path in sorted(library.rglob("*.py")) if not {"test", "site-packages"} & set(path.parts)][::12]
    texts = [path.read_bytes().decode("utf-8", errors="replace") for path in files if path.stat().st_size < 60_000]
    alarms = [text for text in texts if guard.find(text)]

    assert len(texts) > 30
    assert len(alarms) < 0.01 * len(texts) + 1


def test_a_refusal_names_line_and_kind_and_not_the_secret() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"

    with pytest.raises(SecretFound) as refused:
        SecretGuard().refuse(f"# Deploying\n\nUse {token} for the mirror.\n")

    assert (3, "GitHub token") == (refused.value.line, refused.value.kind)
    assert token not in str(refused.value) + repr(refused.value)


def test_redaction_leaves_nothing_of_a_secret_that_was_found() -> None:
    redact = redactor(SecretGuard(), "m17")
    found = [made for made in SECRETS if GUARDS["own"].find(made.text)]
    left = [made.kind for made in found if heart(made) in redact(made.text) or "[secret, m17]" not in redact(made.text)]

    assert [] == left


@given(st.text())
def test_text_without_a_secret_passes_unchanged(text: str) -> None:
    guard = SecretGuard()

    assert text == guard.redact(text) or guard.find(text)


@given(st.lists(st.sampled_from(SECRETS), max_size=4), st.text(max_size=40))
def test_what_was_redacted_is_clean(made: list[MadeUpSecret], between: str) -> None:
    guard = SecretGuard()
    clean = guard.redact(f"\n{between}\n".join(secret.text for secret in made))

    assert () == guard.find(clean)


@pytest.mark.parametrize(
    "line",
    [
        'password = os.environ["DB_PASSWORD"]',
        "password: ${DB_PASSWORD}",
        'api_key = "YOUR_API_KEY_HERE_1234567890"',
        "token = self.next_token(stream_1)",
        "The token is refreshed every 15 minutes.",
        "Passwords are hashed with argon2id and never stored.",
        'url = "https://user:password@example.com/"',
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "request 123e4567-e89b-12d3-a456-426614174000 took 41 ms",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is what such a token looks like",
    ],
)
def test_what_only_looks_like_a_secret_passes(line: str) -> None:
    assert () == SecretGuard().find(line)


def heart(made: MadeUpSecret) -> str:
    """The middle third, which is never part of a prefix that everybody knows."""
    return made.secret[len(made.secret) // 3 : 2 * len(made.secret) // 3]
