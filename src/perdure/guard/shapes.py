"""Secrets that can be told by their own shape, wherever they stand: the keys and tokens of providers, and private keys.

It knows the prefixes, alphabets and lengths that providers give their keys (their documentation and secret-scanning
lists, 2026-10). It must never judge by what stands around: `words` does. Each shape has needles, one of which is in
every text that it can match, so that a text without any costs a few substring searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from perdure.guard.finding import Finding
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

REACH = 400
"""Characters behind a needle in which a match that starts before it must end."""

_RUN = pattern(r"([A-Za-z0-9*])\1{9}")
_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_])"


@value
class Shape:
    """How secrets of one kind look."""

    kind: str
    needles: tuple[str, ...]
    """One of them occurs, in this case, in whatever the pattern matches."""
    pattern: re.Pattern[str]
    """The secret is the group `secret` where there is one, else the whole match."""
    back: int = 0
    """How many characters of a match may stand before the needle."""


def _token(kind: str, needles: str, form: str, back: int = 0) -> Shape:
    """A token that stands free: no letter, digit or underscore touches it."""
    free = pattern(f"{_START}(?:{form}){_END}")
    return Shape(kind=kind, needles=tuple(needles.split()), pattern=free, back=back)


SHAPES: tuple[Shape, ...] = (
    Shape(
        kind="private key",
        needles=("-----BEGIN ",),
        pattern=pattern(
            r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:\\[rn]|[\s\"'+,\\]){1,12}(?:[\w-]{3,20}: [^\n]{0,80}\s{1,4}){0,4}[A-Za-z0-9+/=]{16}"
            r"[^-]{0,20000}(?:-----END [A-Z0-9 ]{2,50}-----)?"
        ),
    ),
    Shape(
        kind="private key",
        needles=("PuTTY-User-Key-File",),
        pattern=pattern(r"PuTTY-User-Key-File-[23]: [^\n]{3,60}\n(?:.*\n){0,20}?Private-Lines: \d+\n[A-Za-z0-9+/=\s]+"),
    ),
    _token("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _token("Anthropic key", "sk-ant-", r"sk-ant-[a-z]{3,8}\d{2}-[\w-]{24,140}"),
    _token("OpenAI key", "T3BlbkFJ", r"sk-[\w-]{0,100}T3BlbkFJ[\w-]{20,100}", back=130),
    _token("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{32,200}"),
    _token("OpenRouter key", "sk-or-", r"sk-or-(?:v\d-)?[0-9a-f]{40,64}"),
    _token("model provider key", "sk-", r"sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{32,64}"),
    _token("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _token("xAI key", "xai-", r"xai-[A-Za-z0-9]{60,90}"),
    _token("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    _token("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    _token("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z]{30,40}"),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _token("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token(
        "GitLab token",
        "glpat- gldt- glft- glsoat- glrt- glcbt- glptt-",
        r"gl(?:pat|dt|ft|soat|rt|cbt|ptt)-[\w.-]{20,64}",
    ),
    _token("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("Google key", "AIza", r"AIza[\w-]{35}"),
    _token("Google OAuth secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
    _token("Google OAuth token", "ya29.", r"ya29\.[\w-]{40,400}"),
    Shape(
        kind="Azure storage key",
        needles=("AccountKey=", "SharedAccessKey="),
        pattern=pattern(r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,88}={0,2})"),
    ),
    _token("Azure client secret", "Q~", r"[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}", back=8),
    Shape(
        kind="Azure signature",
        needles=("?sig=", "&sig="),
        pattern=pattern(r"[?&]sig=(?P<secret>[A-Za-z0-9%+/]{40,90}(?:=|%3[dD])?)"),
    ),
    _token("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe-", r"xox[bparse]-(?:\d-)?[A-Za-z0-9-]{24,250}"),
    _token("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]{8,16}-\d{8,16}-[a-z0-9]{40,80}"),
    Shape(
        kind="webhook address",
        needles=("hooks.slack.com",),
        pattern=pattern(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/]{30,90})"),
    ),
    Shape(
        kind="webhook address",
        needles=("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        pattern=pattern(r"discord(?:app)?\.com/api/webhooks/\d{16,20}/(?P<secret>[\w-]{60,80})"),
    ),
    Shape(
        # The first part is the account's number; the other two are the secret.
        kind="Discord token",
        needles=(".",),
        pattern=pattern(rf"(?<=[A-Za-z\d_-]{{23}})\.[A-Za-z\d_-]{{6}}\.[A-Za-z\d_-]{{27,40}}{_END}"),
    ),
    _token("Telegram token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}", back=12),
    _token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{24,110}"),
    _token("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/]{32,64}={0,2}"),
    _token("Square token", "sq0atp- sq0csp-", r"sq0(?:atp-[\w-]{22}|csp-[\w-]{43})"),
    _token("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _token("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _token("SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _token("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _token("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}", back=36),
    _token("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{60,250}"),
    _token("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _token("Docker token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{27,40}"),
    _token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _token("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _token("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    _token("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,300}"),
    _token("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", back=16),
    _token("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _token("Notion token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})"),
    _token("Grafana token", "glsa_ glc_", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/]{40,400}={0,2})"),
    _token("New Relic key", "NRAK- NRJS- NRII-", r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,32}"),
    _token("Sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{60,250}"),
    _token("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("Figma token", "figd_", r"figd_[\w-]{40,50}"),
    _token("PlanetScale token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w.-]{32,64}"),
    _token("Artifactory key", "AKCp", r"AKCp[A-Za-z0-9]{69}"),
    _token("JSON web token", "eyJ", r"eyJ[\w-]{10,2000}\.eyJ[\w-]{8,6000}\.[\w-]{16,2000}"),
)


@value
class ShapeDetector:
    """Finds secrets by their own shape, in time that grows with the text and the number of needles in it."""

    shapes: tuple[Shape, ...] = SHAPES

    def find(self, text: str) -> Iterable[Finding]:
        """Every place where a shape occurs."""
        for shape in self.shapes:
            group = "secret" if "secret" in shape.pattern.groupindex else 0
            for match in _matches(shape, text):
                if not _repeats(match.group(group)):
                    yield Finding(kind=shape.kind, start=match.start(group), end=match.end(group))


def _matches(shape: Shape, text: str) -> Iterator[re.Match[str]]:
    for needle in shape.needles:
        place = text.find(needle)
        while place >= 0:
            match = (
                shape.pattern.search(text, max(0, place - shape.back), place + REACH)
                if shape.back
                else shape.pattern.match(text, place)
            )
            if match is not None:
                yield match
            place = text.find(needle, max(place + 1, match.end() if match else 0))


def _repeats(secret: str) -> bool:
    """Whether it is a made-up example: `ghp_xxxxxxxx`, `AKIA` with a run of one character."""
    return _RUN.search(secret) is not None
