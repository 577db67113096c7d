"""The names under which a run is told: those of OpenTelemetry, and our own where it has none.

It knows words, units and boundaries (semantic conventions for generative AI, status development, read 2026-11). It must
never know a run. Whatever could hold content (messages, arguments, results, system blocks) is left out on purpose.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "perdure"
"""The name of the instrumentation."""

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
STREAM: Final = "gen_ai.request.stream"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
"""With those that were read from the cache and written to it."""
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITTEN: Final = "gen_ai.usage.cache_creation.input_tokens"
TOKENS_TYPE: Final = "gen_ai.token.type"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL: Final = "gen_ai.tool.call.id"
ERROR: Final = "error.type"

STATE: Final = "perdure.agent.state"
TURNS: Final = "perdure.agent.turns"
USD: Final = "perdure.usage.usd"
PURPOSE: Final = "perdure.usage.purpose"
"""`answer` or `summary`."""
PREDICTED: Final = "perdure.usage.predicted_cache_read_tokens"
COMPACTION: Final = "perdure.compaction"
"""An event of the agent's span; what follows are its attributes."""
COMPACTION_KIND: Final = "perdure.compaction.kind"
COMPACTION_REASON: Final = "perdure.compaction.reason"
TOKENS_BEFORE: Final = "perdure.compaction.tokens_before"
TOKENS_AFTER: Final = "perdure.compaction.tokens_after"
MESSAGES_FOLDED: Final = "perdure.compaction.messages_folded"
CACHE_BREAK: Final = "perdure.cache_break"
"""An event of the agent's span; what follows are its attributes."""
CACHE_CAUSE: Final = "perdure.cache_break.cause"
CACHE_LOST: Final = "perdure.cache_break.tokens_lost"
CACHE_PLACE: Final = "perdure.cache_break.place"
RETRY: Final = "perdure.retry"
"""An event of the call's span."""
RETRY_WAIT: Final = "perdure.retry.wait"
"""Seconds."""

TOKENS_USED: Final = "gen_ai.client.token.usage"
CALL_DURATION: Final = "gen_ai.client.operation.duration"
CALL_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
COMPACTION_SAVED: Final = "perdure.compaction.tokens_saved"

TOKEN_BOUNDS: Final = tuple(float(4**power) for power in range(14))
SECOND_BOUNDS: Final = tuple(0.01 * 2**power for power in range(14))
