"""Secrets that were never anybody's, made from a seed, in code, logs and prose: to try a guard on.

It knows how providers say that their keys look, and how people write down a password. It must never look at how a
guard finds them. Each kind has a maker, and the lines that it may stand in; a line with no word about what the value is
can only be told by the value.
"""

from __future__ import annotations

import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from random import Random
from typing import Literal, TypeAlias

from perdure.kernel.value import value

Setting: TypeAlias = Literal["code", "log", "prose"]
Make: TypeAlias = Callable[[Random], str]

ALNUM = string.ascii_letters + string.digits
HEX = string.digits + "abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
URL = ALNUM + "-_"
BASE32 = string.ascii_uppercase + "234567"

BARE_LINES: Mapping[Setting, tuple[str, ...]] = {
    "code": ('client = connect(region, "{}")', "export SERVICE={}", '    "value": "{}",', "const k = '{}';"),
    "log": ("2026-11-02T10:14:07Z WARN retry 2 with {} after 503", "[worker-3] sent header {} to upstream"),
    "prose": ("Use {} until the rotation on Friday.", "I put `{}` into the staging vault, ask Mira for the rest."),
}
"""For values that speak for themselves."""


@value
class Kind:
    """One kind of secret."""

    make: Make
    lines: Mapping[Setting, tuple[str, ...]]


@value
class MadeUpSecret:
    """A text with one secret in it."""

    kind: str
    setting: Setting
    secret: str = field(repr=False)
    text: str = field(repr=False)
    line: int
    """The line on which it starts, counted from 1."""


def drawn(alphabet: str, *lengths: int) -> Callable[[Random], list[str]]:
    """Makers of strings of these lengths."""
    return lambda dice: ["".join(dice.choices(alphabet, k=length)) for length in lengths]


def shaped(form: str, alphabet: str, *lengths: int) -> Kind:
    """A value in a fixed form, with strings of these lengths in its gaps."""
    draw = drawn(alphabet, *lengths)
    return Kind(make=lambda dice: form.format(*draw(dice)), lines=BARE_LINES)


def announced(make: Make, *, code: Sequence[str], log: Sequence[str], prose: Sequence[str]) -> Kind:
    """A value that only its line gives away."""
    return Kind(make=make, lines={"code": tuple(code), "log": tuple(log), "prose": tuple(prose)})


def _password(dice: Random) -> str:
    words = ("Winter", "harbor", "Kestrel", "lemon", "Quartz", "tundra", "Maple", "orbit")
    return dice.choice(words) + dice.choice("!#%&*+-?_") + dice.choice(words) + str(dice.randint(10, 9999))


def _scrambled(dice: Random) -> str:
    return "".join(dice.sample(ALNUM + "!#%&*+?", k=14)) + "7q"


def _jwt(dice: Random) -> str:
    head = urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = urlsafe_b64encode(b'{"sub":"%d","role":"admin"}' % dice.randint(10**6, 10**9)).decode().rstrip("=")
    return f"{head}.{body}.{''.join(dice.choices(URL, k=43))}"


def _pem(label: str) -> Make:
    def make(dice: Random) -> str:
        body = b64encode(dice.randbytes(600)).decode()
        rows = "\n".join(body[start : start + 64] for start in range(0, len(body), 64))
        return f"-----BEGIN {label}-----\n{rows}\n-----END {label}-----"

    return make


def _basic(dice: Random) -> str:
    return b64encode(f"deploy:{_password(dice)}".encode()).decode()


PEM_LINES: Mapping[Setting, tuple[str, ...]] = {
    "code": ('KEY = """{}"""',),
    "log": ("loaded identity:\n{}",),
    "prose": ("The deploy key is\n\n{}\n\nand belongs on the build machine.",),
}

KINDS: Mapping[str, Kind] = {
    "Anthropic key": shaped("sk-ant-api03-{}AA", URL, 93),
    "OpenAI project key": shaped("sk-proj-{}T3BlbkFJ{}", URL, 74, 74),
    "OpenAI legacy key": shaped("sk-{}T3BlbkFJ{}", ALNUM, 20, 20),
    "OpenRouter key": shaped("sk-or-v1-{}", HEX, 64),
    "Groq key": shaped("gsk_{}", ALNUM, 52),
    "Hugging Face token": shaped("hf_{}", string.ascii_letters, 34),
    "Replicate token": shaped("r8_{}", ALNUM, 37),
    "GitHub classic token": shaped("ghp_{}", ALNUM, 36),
    "GitHub fine-grained token": shaped("github_pat_{}_{}", ALNUM, 22, 59),
    "GitHub app token": shaped("ghs_{}", ALNUM, 36),
    "GitLab token": shaped("glpat-{}", URL, 20),
    "AWS access key": shaped("AKIA{}", BASE32, 16),
    "AWS secret key": announced(
        lambda dice: "".join(dice.choices(ALNUM + "+/", k=40)),
        code=('aws_secret_access_key = "{}"', "AWS_SECRET_ACCESS_KEY={}"),
        log=("env: AWS_SECRET_ACCESS_KEY={} region=eu-west-1",),
        prose=("The secret access key is {} and stays in the vault.",),
    ),
    "Google API key": shaped("AIza{}", URL, 35),
    "Google OAuth secret": shaped("GOCSPX-{}", URL, 28),
    "Azure storage key": announced(
        lambda dice: b64encode(dice.randbytes(64)).decode(),
        code=('CONN = "DefaultEndpointsProtocol=https;AccountName=logs;AccountKey={};EndpointSuffix=x"',),
        log=("connecting with AccountName=logs;AccountKey={};EndpointSuffix=core",),
        prose=("The connection is AccountName=logs;AccountKey={};EndpointSuffix=core for now.",),
    ),
    "Azure client secret": shaped("{}8Q~{}", ALNUM, 3, 34),
    "Slack bot token": shaped("xoxb-{}-{}-{}", string.digits + ALNUM, 12, 12, 24),
    "Slack webhook": shaped("https://hooks.slack.com/services/T{}/B{}/{}", UPPER, 10, 10, 24),
    "Discord webhook": shaped("https://discord.com/api/webhooks/100200300400500600/{}", URL, 68),
    "Telegram bot token": shaped("7123456789:AA{}", URL, 33),
    "Stripe live key": shaped("sk_live_{}", ALNUM, 24),
    "Stripe restricted key": shaped("rk_live_{}", ALNUM, 99),
    "Webhook signing secret": shaped("whsec_{}", ALNUM, 32),
    "Square token": shaped("sq0atp-{}", URL, 22),
    "Shopify token": shaped("shpat_{}", HEX, 32),
    "Twilio key": shaped("SK{}", HEX, 32),
    "SendGrid key": shaped("SG.{}.{}", URL, 22, 43),
    "Mailgun key": shaped("key-{}", HEX, 32),
    "Mailchimp key": shaped("{}-us12", HEX, 32),
    "npm token": shaped("npm_{}", ALNUM, 36),
    "PyPI token": shaped("pypi-AgEIcHlwaS5vcmc{}", URL, 150),
    "Docker token": shaped("dckr_pat_{}", URL, 27),
    "DigitalOcean token": shaped("dop_v1_{}", HEX, 64),
    "Databricks token": shaped("dapi{}", HEX, 32),
    "Vault token": shaped("hvs.{}", URL, 90),
    "Terraform token": shaped("{}.atlasv1.{}", ALNUM, 14, 67),
    "Linear key": shaped("lin_api_{}", ALNUM, 40),
    "Notion token": shaped("ntn_{}", ALNUM, 46),
    "Grafana token": shaped("glsa_{}_0a1b2c3d", ALNUM, 32),
    "New Relic key": shaped("NRAK-{}", UPPER, 27),
    "Postman key": shaped("PMAK-{}-{}", HEX, 24, 34),
    "Airtable token": shaped("pat{}.{}", HEX, 14, 64),
    "Figma token": shaped("figd_{}", URL, 43),
    "JSON web token": Kind(make=_jwt, lines=BARE_LINES),
    "RSA private key": Kind(make=_pem("RSA PRIVATE KEY"), lines=PEM_LINES),
    "OpenSSH private key": Kind(make=_pem("OPENSSH PRIVATE KEY"), lines=PEM_LINES),
    "PGP private key": Kind(make=_pem("PGP PRIVATE KEY BLOCK"), lines=PEM_LINES),
    "PostgreSQL address": announced(
        _scrambled,
        code=('DATABASE_URL = "postgresql://app:{}@db.internal:5432/shop"',),
        log=("dial postgres://app:{}@10.0.0.7/shop: timeout",),
        prose=("Point it at postgresql://app:{}@db.internal/shop and restart.",),
    ),
    "MongoDB address": announced(
        _password,
        code=("uri: mongodb+srv://root:{}@cluster0.abcde.mongodb.net/app",),
        log=("MongoNetworkError mongodb://root:{}@mongo:27017/app",),
        prose=("The replica set answers at mongodb://root:{}@mongo:27017/app.",),
    ),
    "Redis address": announced(
        _scrambled,
        code=('cache = Redis.from_url("redis://:{}@cache:6379/0")',),
        log=("redis://:{}@cache:6379/0 refused the connection",),
        prose=("Sessions live in redis://:{}@cache:6379/0 since March.",),
    ),
    "Address with a login": announced(
        _password,
        code=("git clone https://ci:{}@git.internal/team/app.git",),
        log=("fetch https://ci:{}@git.internal/team/app.git failed",),
        prose=("Clone https://ci:{}@git.internal/team/app.git to try it.",),
    ),
    "ADO connection string": announced(
        _password,
        code=('conn = "Server=db1;Database=hr;User Id=sa;Password={};Encrypt=True"',),
        log=("open Server=db1;Database=hr;User Id=sa;Password={};Encrypt=True",),
        prose=("It wants Server=db1;Uid=sa;Pwd={};Encrypt=True in the field.",),
    ),
    "Bearer header": announced(
        lambda dice: "".join(dice.choices(ALNUM, k=48)),
        code=('headers = {{"Authorization": "Bearer {}"}}', 'curl -H "Authorization: Bearer {}" $URL'),
        log=("> Authorization: Bearer {}",),
        prose=("Send Authorization: Bearer {} with every call.",),
    ),
    "Basic header": announced(
        _basic,
        code=('headers["Authorization"] = "Basic {}"',),
        log=("> Authorization: Basic {}",),
        prose=("The probe sends Authorization: Basic {} and gets 200.",),
    ),
    "Password in a setting": announced(
        _password,
        code=('DB_PASSWORD = "{}"', "password: {}", 'options.password = "{}";', "db_passwd={}"),
        log=("starting with db.password={} pool=5", 'config {{"user": "app", "password": "{}"}}'),
        prose=("The admin password is {} for the demo shop.", "Password: {}"),
    ),
    "API key without a shape": announced(
        lambda dice: "".join(dice.choices(LOWER, k=32)),
        code=('api_key = "{}"', "WEATHER_API_KEY={}", '"apiKey": "{}",'),
        log=("request failed api_key={} status=401",),
        prose=("The API key for the weather service is {} and never expires.",),
    ),
    "Client secret without a shape": announced(
        lambda dice: "".join(dice.choices(ALNUM, k=40)),
        code=('client_secret="{}"', "OAUTH_CLIENT_SECRET={}"),
        log=("POST /token client_id=web&client_secret={} 400",),
        prose=("Our client secret is {} on staging.",),
    ),
    "Password on a command line": announced(
        _password,
        code=("mysqladmin --user root --password {} status", "sync --token-password={} all"),
        log=("+ restic --password {} snapshots",),
        prose=("Run backup --password {} by hand if cron fails.",),
    ),
    "netrc": announced(
        _password,
        code=("machine git.internal login ci password {}",),
        log=("netrc: machine git.internal login ci password {}",),
        prose=("Add machine git.internal login ci password {} to the file.",),
    ),
    "curl login": announced(
        _password,
        code=("curl -u admin:{} https://host/api",),
        log=("+ curl -sS --user admin:{} https://host/api",),
        prose=("Try curl -u admin:{} https://host/api first.",),
    ),
}
"""Every kind."""

AROUND: Mapping[Setting, tuple[str, ...]] = {
    "code": ("import os", "def main() -> None:", "    return total + 1", "# retry twice, then give up", "timeout = 30"),
    "log": ("2026-11-02T10:14:05Z INFO started in 412 ms", "GET /health 200 3ms", "worker 3 idle, queue 0"),
    "prose": ("The build moved to the new runners.", "Tests take four minutes now.", "Ana owns the release notes."),
}


def make_secrets(seed: int, *, each: int) -> list[MadeUpSecret]:
    """Texts with one secret each: of every kind, in each setting, `each` of them. The same seed, the same texts."""
    dice = Random(seed)
    return [
        _placed(dice, kind, setting, sort) for kind, sort in KINDS.items() for setting in AROUND for _ in range(each)
    ]


def _placed(dice: Random, kind: str, setting: Setting, sort: Kind) -> MadeUpSecret:
    secret = sort.make(dice)
    line = dice.choice(sort.lines[setting]).format(secret)
    before = dice.choices(AROUND[setting], k=dice.randint(0, 4))
    text = "\n".join((*before, line, *dice.choices(AROUND[setting], k=dice.randint(0, 4))))
    return MadeUpSecret(
        kind=kind, setting=setting, secret=secret, text=text, line=text.count("\n", 0, text.index(secret)) + 1
    )
