"""Errors as each protocol has them.

It knows the forms of error bodies (Anthropic, errors page, 2026-08; OpenAI, error codes, 2026-11). It must never know
why a call was refused beyond the words that are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import JsonObject, encode_json
from perdure.kernel.wire import Dialect

_ANTHROPIC: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    502: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI: Mapping[int, str] = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error_body(dialect: Dialect, refused: CallRefused, request_id: str) -> JsonObject:
    """The body of an error."""
    message = str(refused)
    if dialect == "anthropic":
        kind = _ANTHROPIC.get(refused.status, "api_error" if refused.status >= 500 else "invalid_request_error")
        error: JsonObject = {"type": kind, "message": message}
        if refused.code:
            error["details"] = {"error_code": refused.code}
        return {"type": "error", "error": error, "request_id": request_id}
    usual = "server_error" if refused.status >= 500 else "invalid_request_error"
    return {
        "error": {
            "message": message,
            "type": _OPENAI.get(refused.status, usual),
            "param": None,
            "code": refused.code or None,
        }
    }


def error_event(dialect: Dialect, refused: CallRefused, request_id: str) -> JsonObject:
    """The event that ends a stream that has begun already."""
    body = error_body(dialect, refused, request_id)
    if dialect == "responses":
        error = body["error"]
        told = error if isinstance(error, dict) else {}
        return {
            "type": "error",
            "sequence_number": 0,
            "code": told.get("code"),
            "message": told.get("message"),
            "param": None,
        }
    return body


def framed(dialect: Dialect, event: JsonObject) -> bytes:
    """An event as a dialect frames it."""
    data = b"data: %s\n\n" % encode_json(event)
    return data if dialect == "chat" else b"event: %s\n%s" % (str(event.get("type", "message")).encode(), data)


def broken(dialect: Dialect, request_id: str) -> bytes:
    """What ends a stream that broke off."""
    refused = CallRefused("the upstream's answer broke off", status=502)
    return framed(dialect, error_event(dialect, refused, request_id))
