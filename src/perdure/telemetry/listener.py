"""A run told to OpenTelemetry: a span for the run, one for each call of the model and of a tool, and histograms.

It knows the events of the loop. It must never know content: no text, argument, result or message of an error leaves by
it. Who configured no SDK has tracers and meters that do nothing.

    telemetry = Telemetry(provider="anthropic", agent="reviewer", conversation="s1")
    await agent.run("Review the change.", telemetry)
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter, MeterProvider, get_meter
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider, get_tracer, set_span_in_context

from perdure.kernel.agent import (
    AgentEnd,
    AgentStart,
    CacheBreak,
    CompactionEnd,
    Event,
    MessageDelta,
    MessageEnd,
    ToolEnd,
    ToolStart,
    Trouble,
    TurnStart,
    UsageSeen,
)
from perdure.kernel.value import record
from perdure.telemetry import names

Value = str | int | float | bool


@record()
class Open:
    """A span that goes on."""

    span: Span
    since: float
    """Seconds, by a clock that only grows."""
    told: dict[str, Value]
    """What its histograms say of it, too."""
    waits: bool = True
    """Nothing of an answer came yet."""

    def failed(self, kind: str) -> None:
        """It ended in an error of this kind."""
        self.told[names.ERROR] = kind
        self.span.set_attribute(names.ERROR, kind)
        self.span.set_status(StatusCode.ERROR)


class Telemetry:
    """Hears the events of one agent, run after run. Raises nothing and waits for nothing."""

    def __init__(
        self,
        *,
        provider: str,
        agent: str = "",
        conversation: str = "",
        tracers: TracerProvider | None = None,
        meters: MeterProvider | None = None,
        parent: Context | None = None,
    ) -> None:
        """A listener.

        Args:
            provider: Who answers, in OpenTelemetry's words: `anthropic`, `openai`.
            agent: The agent's name, where it has one.
            conversation: The id of its session.
            tracers: Where spans go; None: as the host has configured.
            meters: Where metrics go; None: as the host has configured.
            parent: What the run is a part of, such as the call of a tool; None: what is current when it starts.
        """
        self._provider, self._agent, self._conversation = provider, agent, conversation
        self._tracer: Tracer = get_tracer(names.SCOPE, tracer_provider=tracers)
        self._metrics = Metrics(get_meter(names.SCOPE, meter_provider=meters))
        self._parent = parent
        self._model = ""
        self._run: Open | None = None
        self._call: Open | None = None
        self._tools: dict[str, Open] = {}

    def __call__(self, event: Event) -> None:
        """Tell one event."""
        match event:
            case AgentStart(model=model):
                self._begin(model)
            case TurnStart():
                self._ask()
            case MessageDelta():
                self._first_chunk()
            case UsageSeen():
                self._counted(event)
            case MessageEnd(message=message) if message.role == "assistant":
                self._answered(message.model or "", message.stop_reason or "")
            case ToolStart(call=call):
                self._end_call()
                self._tools[call.id] = self._open(
                    f"execute_tool {call.name}",
                    SpanKind.INTERNAL,
                    {names.OPERATION: "execute_tool", names.TOOL: call.name},
                    {names.CALL: call.id, names.TOOL_TYPE: "function"},
                )
            case ToolEnd(call=call, result=result):
                self._end_tool(call.id, failed=bool(result.is_error))
            case Trouble():
                self._trouble(event)
            case CompactionEnd() | CacheBreak():
                self._note(event)
            case AgentEnd():
                self._end(event)
            case _:
                pass

    def _begin(self, model: str) -> None:
        self._model = model
        told: dict[str, Value] = {names.OPERATION: "invoke_agent", names.PROVIDER: self._provider}
        told |= {names.AGENT: self._agent} if self._agent else {}
        self._run = self._open(f"invoke_agent {self._agent}".strip(), SpanKind.INTERNAL, told, self._asked())

    def _ask(self) -> None:
        self._end_call()
        told: dict[str, Value] = {names.OPERATION: "chat", names.PROVIDER: self._provider}
        told |= {names.REQUEST_MODEL: self._model}
        more: Mapping[str, Value] = {**self._asked(), names.STREAM: True}
        self._call = self._open(f"chat {self._model}", SpanKind.CLIENT, told, more)

    def _asked(self) -> Mapping[str, Value]:
        more: dict[str, Value] = {names.REQUEST_MODEL: self._model}
        return {**more, names.CONVERSATION: self._conversation} if self._conversation else more

    def _open(self, name: str, kind: SpanKind, told: dict[str, Value], more: Mapping[str, Value]) -> Open:
        inside = set_span_in_context(self._run.span) if self._run is not None else self._parent
        span = self._tracer.start_span(name, context=inside, kind=kind, attributes={**told, **more})
        return Open(span=span, since=perf_counter(), told=told)

    def _first_chunk(self) -> None:
        call = self._call
        if call is None or not call.waits:
            return
        call.waits = False
        waited = perf_counter() - call.since
        call.span.set_attribute(names.FIRST_CHUNK, waited)
        self._metrics.first_chunk.record(waited, call.told)

    def _counted(self, event: UsageSeen) -> None:
        usage = event.usage
        told: dict[str, Value] = {
            names.OPERATION: "chat",
            names.PROVIDER: self._provider,
            names.REQUEST_MODEL: self._model,
            names.PURPOSE: event.purpose,
        }
        self._metrics.tokens.record(usage.prompt_tokens, {**told, names.TOKENS_TYPE: "input"})
        self._metrics.tokens.record(usage.output_tokens, {**told, names.TOKENS_TYPE: "output"})
        if self._call is None or event.purpose != "answer":
            return
        counts: dict[str, Value] = {
            names.INPUT_TOKENS: usage.prompt_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
            names.CACHE_READ: usage.cache_read_tokens,
            names.CACHE_WRITTEN: usage.cache_write_tokens,
            names.PREDICTED: event.predicted_read,
        }
        self._call.span.set_attributes({**counts, names.USD: event.usd} if event.usd is not None else counts)

    def _answered(self, model: str, reason: str) -> None:
        call = self._call
        if call is None:
            return
        if model:
            call.told[names.RESPONSE_MODEL] = model
            call.span.set_attribute(names.RESPONSE_MODEL, model)
        if reason:
            call.span.set_attribute(names.FINISH_REASONS, (reason,))
        self._end_call()

    def _trouble(self, event: Trouble) -> None:
        if self._call is None:
            return
        if event.retry_in is None:
            self._call.failed(event.failure.kind)
            self._end_call()
            return
        # What was shown is void, and the next chunk is the first again.
        self._call.waits = True
        self._call.span.add_event(names.RETRY, {names.ERROR: event.failure.kind, names.RETRY_WAIT: event.retry_in})

    def _note(self, event: CompactionEnd | CacheBreak) -> None:
        if isinstance(event, CacheBreak):
            told: dict[str, Value] = {
                names.CACHE_CAUSE: event.reading.cause or "",
                names.CACHE_LOST: event.reading.lost,
                names.CACHE_PLACE: event.where,
            }
            name = names.CACHE_BREAK
        else:
            kind = event.kind or "none"
            told = {
                names.COMPACTION_KIND: kind,
                names.COMPACTION_REASON: event.reason,
                names.TOKENS_BEFORE: event.tokens_before,
                names.TOKENS_AFTER: event.tokens_after,
                names.MESSAGES_FOLDED: event.compacted,
            }
            name = names.COMPACTION
            saved = max(0, event.tokens_before - event.tokens_after)
            self._metrics.saved.record(saved, {names.COMPACTION_KIND: kind, names.REQUEST_MODEL: self._model})
        if self._run is not None:
            self._run.span.add_event(name, told)

    def _end_call(self) -> None:
        if self._call is not None:
            self._close(self._call, self._metrics.calls)
        self._call = None

    def _end_tool(self, call_id: str, *, failed: bool) -> None:
        tool = self._tools.pop(call_id, None)
        if tool is not None:
            if failed:
                tool.failed("tool_error")
            self._close(tool, self._metrics.tools)

    def _end(self, event: AgentEnd) -> None:
        self._end_call()
        for call_id in tuple(self._tools):
            # An interruption leaves calls that never end.
            self._end_tool(call_id, failed=True)
        run, self._run = self._run, None
        if run is None:
            return
        run.span.set_attributes({names.STATE: event.state, names.TURNS: event.turns, names.USD: event.usd})
        if event.failure is not None or event.error is not None:
            run.failed(event.failure.kind if event.failure is not None else type(event.error).__name__)
        self._close(run, self._metrics.runs)

    def _close(self, open_: Open, histogram: Histogram) -> None:
        histogram.record(perf_counter() - open_.since, open_.told)
        open_.span.end()


class Metrics:
    """The histograms."""

    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, what: str) -> Histogram:
            return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=names.SECOND_BOUNDS)

        def tokens(name: str, what: str) -> Histogram:
            return meter.create_histogram(name, "{token}", what, explicit_bucket_boundaries_advisory=names.TOKEN_BOUNDS)

        self.tokens = tokens(names.TOKENS_USED, "Number of input and output tokens used.")
        self.saved = tokens(names.COMPACTION_SAVED, "Tokens by which a rewrite made the view smaller.")
        self.calls = seconds(names.CALL_DURATION, "GenAI operation duration.")
        self.first_chunk = seconds(names.CALL_FIRST_CHUNK, "Time until the first chunk of an answer.")
        self.runs = seconds(names.AGENT_DURATION, "Duration of a run of an agent.")
        self.tools = seconds(names.TOOL_DURATION, "Duration of a call of a tool.")
