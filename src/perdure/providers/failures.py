"""What a provider's refusals mean: status, type and code first, words only where there is nothing else.

It knows the providers' own words, each with where it was seen. It must never know a request. Texts are kept beside the
patterns that match them, and a test feeds each one through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perdure.guard import SecretGuard
from perdure.kernel.agent import Failure, FailureKind
from perdure.kernel.errors import InvalidJson
from perdure.kernel.messages import JsonObject, decode_json
from perdure.kernel.pattern import pattern
from perdure.kernel.value import value

MESSAGE_LIMIT = 500
"""Characters of a provider's message that are kept: some quote the request back."""

READ_LIMIT = 8 * MESSAGE_LIMIT
"""Characters of it that are looked at for secrets: one that is cut in two would not be known for what it is."""

GUARD = SecretGuard()

CODES: Mapping[str, FailureKind] = {
    # Anthropic, errors page, 2026-08: `error.type`, and `error.details.error_code`.
    "authentication_error": "authentication",
    "permission_error": "authentication",
    "billing_error": "billing",
    "not_found_error": "not_found",
    "request_too_large": "overflow",
    "rate_limit_error": "rate_limit",
    "api_error": "server",
    "timeout_error": "server",
    "overloaded_error": "overloaded",
    "compaction_unavailable": "overloaded",
    # OpenAI, error codes, 2026-11; the same from most compatible servers.
    "context_length_exceeded": "overflow",
    "string_above_max_length": "overflow",
    "invalid_api_key": "authentication",
    "invalid_authentication": "authentication",
    "insufficient_quota": "billing",
    "billing_hard_limit_reached": "billing",
    "rate_limit_exceeded": "rate_limit",
    "requests": "rate_limit",
    "tokens": "rate_limit",
    "model_not_found": "not_found",
    "server_error": "server",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "content_policy_violation": "refusal",
    "content_filter": "refusal",
    "invalid_prompt": "refusal",
    # llama.cpp, tools/server, 2026: `error.type`.
    "exceed_context_size_error": "overflow",
    "unavailable_error": "overloaded",
}
"""What a type or code says by itself."""

STATUSES: Mapping[int, FailureKind] = {
    401: "authentication",
    402: "billing",
    403: "authentication",
    404: "not_found",
    408: "network",
    409: "overloaded",
    413: "overflow",
    429: "rate_limit",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "server",
    529: "overloaded",
}
"""What a status says where neither a code nor the words do. 413 comes from the edge and need not be JSON."""


@value
class Words:
    """What can be told from the text alone."""

    kind: FailureKind
    pattern: re.Pattern[str]
    """May have groups `tokens` and `window`."""
    real: tuple[str, ...]
    """Texts as they were seen."""


WORDS: tuple[Words, ...] = (
    Words(
        kind="thinking_bound",
        pattern=pattern(r"bound to a different conversation|prefix_mismatch_behavior` to \"drop_block\""),
        real=(
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
            "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
            '"drop_block".',
        ),
    ),
    Words(
        kind="overflow",
        pattern=pattern(r"prompt is too long(?:: (?P<tokens>\d+) tokens > (?P<window>\d+))?", re.IGNORECASE),
        real=("prompt is too long: 210118 tokens > 200000 maximum", "Prompt is too long"),
    ),
    Words(
        kind="overflow",
        pattern=pattern(
            r"input length and `?max_tokens`? exceed context limit: (?P<tokens>\d+) \+ \d+ > (?P<window>\d+)"
        ),
        real=(
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or "
            "`max_tokens` and try again",
        ),
    ),
    Words(
        kind="overflow",
        pattern=pattern(
            r"maximum context length (?:is|of) (?P<window>\d+)(?:.{0,200}?"
            r"(?:resulted in|requested(?: about)?|contains(?: at least)?) (?P<tokens>\d+))?",
            re.DOTALL,
        ),
        real=(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130231 tokens. "
            "Please reduce the length of the messages.",
            "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8000 in the "
            "messages, 1001 in the completion).",
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.",
        ),
    ),
    Words(
        kind="overflow",
        pattern=pattern(
            r"request \((?P<tokens>\d+) tokens\) exceeds the available context size \((?P<window>\d+) tokens\)"
        ),
        real=("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",),
    ),
    Words(
        kind="overflow",
        pattern=pattern(
            r"exceeds the (?:available )?context (?:window|size|length)|"
            r"context (?:length|size|window) (?:is |was )?exceeded|"
            r"greater than the context length|input is too long|exceeded max context length|"
            r"longer than the model's context length|too large for model",
            re.IGNORECASE,
        ),
        real=(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "the request exceeds the available context size, try increasing it",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
            "prompt too long; exceeded max context length by 120 tokens",
            "Input is too long for requested model.",
        ),
    ),
    Words(
        kind="billing",
        pattern=pattern(r"credit balance is too low|exceeded your current quota", re.IGNORECASE),
        real=(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
            "purchase credits.",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    ),
)
"""In the order in which they are tried."""


def classify(status: int | None, body: bytes | JsonObject, headers: Mapping[str, str] | None = None) -> Failure:
    """The meaning of a refusal: its status, its body, which need be no JSON, and its headers in lower case."""
    headers = headers or {}
    error = _error_of(body)
    message = _text_of(error, body)
    codes = _codes_of(error)
    kind: FailureKind | None = next((CODES[code] for code in codes if code in CODES), None)
    tokens, window = None, None
    for words in WORDS:
        found = words.pattern.search(message)
        if found is not None and (kind in (None, "overflow") or words.kind == "billing"):
            kind = words.kind
            numbers = found.groupdict()
            tokens, window = _number(numbers.get("tokens")), _number(numbers.get("window"))
            break
    if kind == "server" and STATUSES.get(status or 0) == "overloaded":
        # OpenAI's 503 has the type `server_error` all the same.
        kind = "overloaded"
    if kind is None:
        kind = STATUSES.get(status or 0, "server" if (status or 0) >= 500 else "invalid")
    return Failure(
        kind=kind,
        message=told(message) or f"HTTP status {status}",
        status=status,
        code=codes[0] if codes else "",
        retry_after=_retry_after(headers),
        retryable={"true": True, "false": False}.get(headers.get("x-should-retry", "")),
        tokens=tokens,
        window=window,
    )


def told(message: str) -> str:
    """What somebody said as it may be shown and logged: short, and without secrets, which it may quote from us."""
    return GUARD.redact(message[:READ_LIMIT])[:MESSAGE_LIMIT]


def _error_of(body: bytes | JsonObject) -> JsonObject:
    """The error object of a body, or of an event: some servers give it bare, some as text."""
    if isinstance(body, bytes):
        try:
            value = decode_json(body)
        except InvalidJson:
            return {}
        body = value if isinstance(value, dict) else {}
    match body:
        case {"error": dict(error)}:
            return error
        case {"error": str(text)}:
            return {**body, "message": text}
        case _:
            return body


def _text_of(error: JsonObject, body: bytes | JsonObject) -> str:
    message = error.get("message", error.get("detail"))
    if isinstance(message, str):
        return message
    # A page of an edge or a proxy: its first words, without tags.
    text = body.decode(errors="replace") if isinstance(body, bytes) and not error else ""
    return " ".join(re.sub(r"<[^<>]{0,200}>", " ", text[:2_000]).split())


def _codes_of(error: JsonObject) -> list[str]:
    """The most particular first: OpenAI's `code`, Anthropic's detail, then the type."""
    details = error.get("details")
    detail = details.get("error_code") if isinstance(details, dict) else None
    return [code for code in (error.get("code"), detail, error.get("type")) if isinstance(code, str) and code]


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds; a date, which the header may also hold, is passed over."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value := headers.get(name, "").strip()):
            return float(value) * scale
    return None
