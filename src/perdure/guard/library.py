"""The detectors of the library `detect-secrets`, beside our own: `SecretGuard(detectors=WITH_LIBRARY)`.

It knows which of its plugins tell a secret by a shape. It must never let one verify a secret, which is a request to a
provider: only the patterns are taken. Needs the extra `guard`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector

from perdure.guard.finding import Detector, Finding
from perdure.guard.guard import OWN_DETECTORS
from perdure.kernel.value import value


class Plugin(Protocol):
    """What is used of a plugin of the library, whose own types leave the patterns half unknown."""

    @property
    def secret_type(self) -> str:
        """The library's name for what it finds."""
        ...

    @property
    def denylist(self) -> Iterable[re.Pattern[str]]:
        """What it looks for."""
        ...


PLUGINS: tuple[Plugin, ...] = (
    AzureStorageKeyDetector(),
    CloudantDetector(),
    DiscordBotTokenDetector(),
    GitHubTokenDetector(),
    GitLabTokenDetector(),
    IbmCosHmacDetector(),
    MailchimpDetector(),
    NpmDetector(),
    OpenAIDetector(),
    PypiTokenDetector(),
    SendGridDetector(),
    SlackDetector(),
    SoftlayerDetector(),
    SquareOAuthDetector(),
    StripeDetector(),
    TelegramBotTokenDetector(),
)
"""Left out: those that find by entropy or by a word alone, which give false alarms on source files, and those whose
kinds our own detectors judge with more care (basic auth, private keys, AWS, Artifactory, JSON web tokens, Twilio)."""


def _patterns() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    return {plugin.secret_type: tuple(plugin.denylist) for plugin in PLUGINS}


@value
class LibraryDetector:
    """Finds what the library's patterns find."""

    patterns: Mapping[str, tuple[re.Pattern[str], ...]] = field(default_factory=_patterns)

    def find(self, text: str) -> Iterable[Finding]:
        """Every match of every pattern, under the library's name for it."""
        for kind, patterns in self.patterns.items():
            for pattern in patterns:
                for match in pattern.finditer(text):
                    yield Finding(kind=kind, start=match.start(), end=match.end())


WITH_LIBRARY: tuple[Detector, ...] = (*OWN_DETECTORS, LibraryDetector())
"""Our own detectors and the library's."""
