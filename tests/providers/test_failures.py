"""What providers say when they refuse, and what is made of it."""

import pytest

from perdure.kernel.agent import Failure
from perdure.kernel.messages import encode_json
from perdure.providers.failures import WORDS, classify


@pytest.mark.parametrize(("kind", "text"), [(words.kind, text) for words in WORDS for text in words.real])
def test_a_real_text_is_classified_as_what_it_is(kind: str, text: str) -> None:
    body = encode_json({"type": "error", "error": {"type": "invalid_request_error", "message": text}})

    assert kind == classify(400, body).kind


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("authentication", 401, {"type": "authentication_error", "message": "invalid x-api-key"}),
        ("billing", 402, {"type": "billing_error", "message": "pay first"}),
        ("rate_limit", 429, {"type": "rate_limit_error", "message": "slow down"}),
        ("overloaded", 529, {"type": "overloaded_error", "message": "Overloaded"}),
        ("server", 500, {"type": "api_error", "message": "Internal server error"}),
        ("not_found", 404, {"type": "not_found_error", "message": "model: nobody"}),
        ("overflow", 400, {"code": "context_length_exceeded", "type": "invalid_request_error", "message": "too much"}),
        ("billing", 429, {"code": "insufficient_quota", "type": "insufficient_quota", "message": "no quota"}),
        ("rate_limit", 429, {"code": "rate_limit_exceeded", "type": "requests", "message": "Rate limit reached"}),
        ("refusal", 400, {"code": "content_policy_violation", "message": "no"}),
        ("overflow", 400, {"type": "exceed_context_size_error", "code": 400, "message": "it is too large"}),
        ("invalid", 400, {"type": "invalid_request_error", "message": "max_tokens: Field required"}),
        # A code speaks louder than a word: a rate limit that quotes the context length is none of the context.
        (
            "rate_limit",
            429,
            {"type": "rate_limit_error", "message": "maximum context length is 200000 here"},
        ),
    ],
)
def test_a_code_says_more_than_a_status(kind: str, status: int, error: dict[str, str | int]) -> None:
    assert kind == classify(status, encode_json({"error": {**error}})).kind


def test_an_overflow_tells_both_numbers() -> None:
    failure = classify(400, encode_json({"error": {"message": "prompt is too long: 210118 tokens > 200000 maximum"}}))

    assert (210_118, 200_000) == (failure.tokens, failure.window)


def test_a_413_of_the_edge_is_an_overflow_although_it_is_no_json() -> None:
    page = b"<html><head><title>413 Request Entity Too Large</title></head><body>edge</body></html>"

    assert ("overflow", "413 Request Entity Too Large edge") == (
        (failure := classify(413, page)).kind,
        failure.message,
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Fri, 31 Dec 2027 23:59:59 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_nothing(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds == classify(429, b"{}", headers).retry_after


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"text"', b"\xff\xfe", b'{"error": null}', b'{"error": "x"}'])
def test_a_body_of_any_shape_is_classified(body: bytes) -> None:
    assert "server" == classify(500, body).kind


def test_a_long_message_is_shortened() -> None:
    failure = classify(400, encode_json({"error": {"message": "x" * 100_000}}))

    assert Failure(kind="invalid", message="x" * 500, status=400) == failure


@pytest.mark.parametrize("before", [0, 480, 499])
def test_a_secret_that_a_provider_quotes_back_is_not_told(before: int) -> None:
    secret = "ghp_q7Rk2mZ9tLw4Vx8Yb3Nc6Hd1Js5Pf0GaTe2U"
    said = f"{'x ' * (before // 2)}invalid content: export GITHUB_TOKEN={secret} and more"
    failure = classify(400, encode_json({"error": {"message": said}}))

    assert "ghp_" not in repr(failure)
