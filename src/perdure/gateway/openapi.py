"""The gateway's own description, as OpenAPI 3.1: what a program may send to which address, and what comes back.

It knows addresses and the fields that the gateway itself looks at. It must never promise what only an upstream knows:
other fields go on to it, and what it answers comes back.
"""

from __future__ import annotations

from functools import cache

from perdure.kernel.messages import Json, JsonObject, encode_json

OPENAPI_PATH = "/openapi.json"

_OBJECTS: JsonObject = {"type": "array", "minItems": 1, "items": {"type": "object"}}
_MODEL: JsonObject = {"type": "string", "minLength": 1, "description": "chooses the route"}
_STREAM: JsonObject = {"type": "boolean", "description": "events in the place of one body"}
_KEYS: list[Json] = [{"perdureKey": []}, {"apiKey": []}, {"bearer": []}, {}]
"""The last for a gateway that is open to its own machine."""


@cache
def document() -> bytes:
    """The description, encoded."""
    return encode_json({
        "openapi": "3.1.0",
        "info": {
            "title": "Perdure gateway",
            "version": "1",
            "description": "Context management for any client, in front of any upstream. Fields that are not named "
            "here go on to the upstream; statuses that are not, are its own.",
        },
        "paths": {**_calls(), **_looks()},
        "components": {
            "securitySchemes": {
                "perdureKey": {"type": "apiKey", "in": "header", "name": "perdure-key"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
            "schemas": _schemas(),
        },
    })  # fmt: skip


def _calls() -> JsonObject:
    answers: JsonObject = {"description": "the model's answer", "content": _either("Object")}
    return {
        "/v1/messages": _post("Anthropic Messages", "MessagesRequest", answers),
        "/v1/messages/count_tokens": _post(
            "the size of a request, behind edits", "CountRequest", _json("the count", "TokenCount")
        ),
        "/v1/responses": _post("OpenAI Responses", "ResponsesRequest", answers),
        "/v1/responses/compact": _post(
            "a shorter list of items for the same conversation", "ResponsesRequest", _json("the items", "Object")
        ),
        "/v1/chat/completions": _post("OpenAI Chat Completions", "ChatRequest", answers),
    }


def _looks() -> JsonObject:
    state = _json("as it says", "Object")
    name: JsonObject = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    text: JsonObject = {"description": "counts", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {
        "/v1/models": _get("models that routes name", _json("a list", "Object")),
        "/v1/models/{model}": {**_get("one of them", _json("it", "Object")), "parameters": [name]},
        "/metrics": _get("counts for Prometheus; the operator's key", text),
        "/healthz": _open("alive", state),
        "/readyz": _open("ready", state, {"503": _json("not ready", "Object")}),
        OPENAPI_PATH: _open("this", state),
    }


def _schemas() -> JsonObject:
    def request(items: JsonObject, *others: str, **more: Json) -> JsonObject:
        place = "input" if "oneOf" in items else "messages"
        fields: JsonObject = {"model": _MODEL, place: items, "stream": _STREAM, **more}
        return {"type": "object", "required": ["model", place, *others], "properties": fields}

    limit: JsonObject = {"type": "integer", "minimum": 1}
    either: JsonObject = {"oneOf": [{"type": "string", "minLength": 1}, _OBJECTS]}
    counted: JsonObject = {"input_tokens": {"type": "integer", "minimum": 0}}
    managed: JsonObject = {"type": "object", "description": "edits and compaction; see the provider's documentation"}
    return {
        "MessagesRequest": request(_OBJECTS, "max_tokens", max_tokens=limit, context_management=managed),
        "CountRequest": request(_OBJECTS, context_management=managed),
        "ResponsesRequest": request(either, max_output_tokens=limit),
        "ChatRequest": request(_OBJECTS, max_completion_tokens=limit),
        "TokenCount": {"type": "object", "required": ["input_tokens"], "properties": counted},
        "Object": {"type": "object"},
        "Error": {
            "type": "object",
            "required": ["error"],
            "description": "in the form of the protocol that was spoken",
            "properties": {"error": {"type": "object", "required": ["type", "message"]}},
        },
    }


def _ref(schema: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{schema}"}


def _json(what: str, schema: str) -> JsonObject:
    return {"description": what, "content": {"application/json": {"schema": _ref(schema)}}}


def _either(schema: str) -> JsonObject:
    return {"application/json": {"schema": _ref(schema)}, "text/event-stream": {"schema": {"type": "string"}}}


def _post(what: str, request: str, answer: JsonObject) -> JsonObject:
    body: JsonObject = {"required": True, "content": {"application/json": {"schema": _ref(request)}}}
    answers: JsonObject = {"200": answer, "default": _json("a refusal", "Error")}
    return {"post": {"summary": what, "security": _KEYS, "requestBody": body, "responses": answers}}


def _get(what: str, answer: JsonObject) -> JsonObject:
    answers: JsonObject = {"200": answer, "default": _json("a refusal", "Error")}
    return {"get": {"summary": what, "security": _KEYS, "responses": answers}}


def _open(what: str, answer: JsonObject, more: JsonObject | None = None) -> JsonObject:
    return {"get": {"summary": what, "security": [], "responses": {"200": answer, **(more or {})}}}
