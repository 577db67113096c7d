"""From a script's turn to what OpenAI's endpoints return.

It knows response objects, items and chat completions. It must never decide whether a request is legal.
"""

from __future__ import annotations

import re
from dataclasses import replace

from perdure.kernel.value import value
from perdure.testing.doubles.counting import count_text, first_tokens
from perdure.testing.doubles.openai.asked import Asked
from perdure.testing.doubles.openai.cache import Cached
from perdure.testing.doubles.script import Call, Part, Raw, Say, Think, Turn
from perdure.testing.doubles.shape import Body, as_text, body_of, digest, items


@value
class Spent:
    """Tokens of one request."""

    input: int
    cached: Cached
    output: int
    reasoning: int

    def plus(self, other: Spent) -> Spent:
        """Both together: what a compaction in the stream adds."""
        cached = Cached(read=self.cached.read + other.cached.read, written=self.cached.written + other.cached.written)
        return Spent(
            input=self.input + other.input,
            cached=cached,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )

    def response_usage(self) -> Body:
        """In the words of the Responses API: what was cached is inside `input_tokens`."""
        return {
            "input_tokens": self.input,
            "input_tokens_details": {"cached_tokens": self.cached.read, "cache_write_tokens": self.cached.written},
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning},
            "total_tokens": self.input + self.output,
        }

    def chat_usage(self) -> Body:
        """In the words of Chat Completions."""
        return {
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input + self.output,
            "prompt_tokens_details": {"cached_tokens": self.cached.read, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": self.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


@value
class Fitted:
    """A turn cut to the output limit."""

    parts: tuple[Part, ...]
    output: int
    reasoning: int
    cut: bool


def fit(turn: Turn, limit: int) -> Fitted:
    """Cut a turn where the limit is. A call that does not fit whole keeps the start of its arguments."""
    kept: list[Part] = []
    used = reasoning = 0
    for part in turn.parts:
        text = _text_of(part)
        size = min(count_text(text), limit - used)
        if size < count_text(text):
            start = first_tokens(text, size)
            if isinstance(part, Say | Think) and start:
                kept.append(replace(part, text=start))
            return Fitted(parts=tuple(kept), output=limit, reasoning=reasoning, cut=True)
        used += size
        reasoning += size if isinstance(part, Think) else 0
        kept.append(part)
    return Fitted(parts=tuple(kept), output=max(1, used), reasoning=reasoning, cut=False)


def response_items(asked: Asked, fitted: Fitted, nonce: str) -> list[Body]:
    """Output items of a Responses answer."""
    encrypted = "reasoning.encrypted_content" in items(asked.body.get("include"))
    made: list[Body] = []
    for i, part in enumerate(fitted.parts):
        name = digest(nonce, i)[:32]
        match part:
            case Think() if asked.model.reasons:
                made.append(_reasoning(asked, f"rs_{name}", part, encrypted=encrypted))
            case Think():
                continue
            case Say():
                content: Body = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                made.append(
                    {
                        "id": f"msg_{name}",
                        "type": "message",
                        "role": "assistant",
                        "status": "completed",
                        "content": [content],
                    }
                )
            case Call():
                made.append(
                    {
                        "id": f"fc_{name}",
                        "type": "function_call",
                        "status": "completed",
                        "call_id": part.id or f"call_{name[:24]}",
                        "name": part.name,
                        "arguments": as_text(dict(part.arguments)),
                    }
                )
            case Raw():
                made.append(part.block)
    return made


def compaction_item(asked: Asked, summary: str, nonce: str, *, keeps_users: bool) -> Body:
    """An opaque item that stands for what was compacted."""
    sealed = asked.seal.close(
        {"kind": "compaction", "organization": asked.organization, "text": summary, "keeps_users": keeps_users}
    )
    return {"id": f"cmp_{digest(nonce, 'compaction')[:32]}", "type": "compaction", "encrypted_content": sealed}


def compacted_user(message: Body, place: int) -> Body:
    """A user message as the compact endpoint gives it back."""
    content = message.get("content")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    made = f"msg_{digest('compacted', place, parts)[:32]}"
    return {"id": message.get("id") or made, "type": "message", "role": "user", "status": "completed", "content": parts}


def summary_of(turn: Turn) -> str:
    """The text of a summary; OpenAI's compaction always gives one."""
    text = "".join(part.text for part in turn.parts if isinstance(part, Say))
    inner = re.search(r"<summary>(.*?)</summary>", text, re.DOTALL)
    return (inner.group(1) if inner else text).strip()


def response_object(
    asked: Asked, identity: str, output: list[Body], spent: Spent, created: float, *, cut: bool
) -> Body:
    """The response object of a finished answer."""
    body = asked.body
    return {
        "id": identity,
        "object": "response",
        "created_at": int(created),
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": body_of(body.get("reasoning")) or {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": items(body.get("tools")),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": spent.response_usage(),
    }


def chat_completion(asked: Asked, fitted: Fitted, nonce: str, spent: Spent, created: float) -> Body:
    """The object that Chat Completions returns."""
    text = "".join(part.text for part in fitted.parts if isinstance(part, Say))
    calls = [
        {
            "id": part.id or f"call_{digest(nonce, i)[:24]}",
            "type": "function",
            "function": {"name": part.name, "arguments": as_text(dict(part.arguments))},
        }
        for i, part in enumerate(fitted.parts)
        if isinstance(part, Call)
    ]
    message: Body = {"role": "assistant", "content": text or None, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = calls
    reason = "length" if fitted.cut else "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{digest(nonce)[:24]}",
        "object": "chat.completion",
        "created": int(created),
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": spent.chat_usage(),
        "service_tier": "default",
    }


def _reasoning(asked: Asked, identity: str, part: Think, *, encrypted: bool) -> Body:
    summary = [] if part.redacted else [{"type": "summary_text", "text": part.text}]
    item: Body = {"id": identity, "type": "reasoning", "summary": summary}
    if encrypted:
        item["encrypted_content"] = asked.seal.close(
            {"kind": "reasoning", "organization": asked.organization, "text": part.text}
        )
    return item


def _text_of(part: Part) -> str:
    match part:
        case Say() | Think():
            return part.text
        case Call():
            return f"{part.name}{as_text(dict(part.arguments))}"
        case Raw():
            return as_text(part.block)
