"""What OpenTelemetry is told of a run: spans and metrics by its conventions, and never a word of content."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Histogram, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from perdure.kernel.agent import Agent, AgentTool, CompactionEnd, Event, Failure, MessageDelta, Setup, Trouble
from perdure.kernel.context import Settings
from perdure.kernel.messages import JsonObject, Tool
from perdure.kernel.wire import BlockGrew
from perdure.telemetry import Telemetry, names
from perdure.testing.models import ScriptedModel

CONTENT = "Zanzibar"
SCHEMA: JsonObject = {"type": "object", "properties": {}}
SCRIPT = f"""
    say {CONTENT} comes first.
    call read {{"path": "{CONTENT}"}}
    call fall {{"path": "{CONTENT}"}}
    ---
    say All of {CONTENT} is done.
"""


class Told:
    """An SDK that keeps everything in memory."""

    def __init__(self) -> None:
        self.spans_kept, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(self.spans_kept))
        self.telemetry = Telemetry(
            provider="anthropic",
            agent="reviewer",
            conversation="s1",
            tracers=tracers,
            meters=MeterProvider((self.reader,), shutdown_on_exit=False),
        )

    def spans(self) -> Sequence[ReadableSpan]:
        return self.spans_kept.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        return next(span for span in self.spans() if span.name == name)

    def points(self) -> Iterator[tuple[str, dict[str, str], float]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    assert isinstance(metric.data, Histogram)
                    for point in metric.data.data_points:
                        yield (
                            metric.name,
                            {name: str(given) for name, given in (point.attributes or {}).items()},
                            point.sum,
                        )


def tool(name: str) -> AgentTool:
    def run(_given: JsonObject) -> str:
        if name == "fall":
            raise OSError(f"{CONTENT} sank")
        return CONTENT * 3

    return AgentTool(definition=Tool(name=name, description=CONTENT, schema=SCHEMA), run=run)


@pytest.fixture
def told() -> Told:
    told = Told()
    agent = Agent(ScriptedModel(SCRIPT), Setup(system=CONTENT, tools=(tool("read"), tool("fall"))))
    asyncio.run(agent.run(f"Tell me of {CONTENT}.", told.telemetry))
    return told


def test_a_run_is_a_span_with_one_below_it_for_each_call(told: Told) -> None:
    run = told.span("invoke_agent reviewer")
    assert run.context is not None
    below = [span.name for span in told.spans() if span.parent and span.parent.span_id == run.context.span_id]

    assert ["chat claude-opus-5-5", "execute_tool read", "execute_tool fall", "chat claude-opus-5-5"] == below
    assert [SpanKind.CLIENT, SpanKind.INTERNAL] == [told.span(name).kind for name in (below[0], below[1])]


def test_spans_carry_the_attributes_of_the_conventions(told: Told) -> None:
    chat = dict(told.span("chat claude-opus-5-5").attributes or {})
    run = dict(told.span("invoke_agent reviewer").attributes or {})
    read = dict(told.span("execute_tool read").attributes or {})
    wanted = {
        names.OPERATION: "chat",
        names.PROVIDER: "anthropic",
        names.REQUEST_MODEL: "claude-opus-5-5",
        names.CONVERSATION: "s1",
        names.FINISH_REASONS: ("tool_use",),
    }

    assert wanted == {name: chat.get(name) for name in wanted}
    assert {names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.FIRST_CHUNK, names.CACHE_READ} <= set(chat)
    assert ("invoke_agent", "reviewer", "done", 2) == (
        run[names.OPERATION],
        run[names.AGENT],
        run[names.STATE],
        run[names.TURNS],
    )
    assert ("execute_tool", "read", "call_0_0", "function") == (
        read[names.OPERATION],
        read[names.TOOL],
        read[names.CALL],
        read[names.TOOL_TYPE],
    )


def test_a_tool_that_failed_is_an_error_without_its_words(told: Told) -> None:
    fall = told.span("execute_tool fall")

    assert (StatusCode.ERROR, None, "tool_error") == (
        fall.status.status_code,
        fall.status.description,
        (fall.attributes or {})[names.ERROR],
    )


def test_metrics_have_the_names_of_the_conventions(told: Told) -> None:
    points = list(told.points())
    types = {given[names.TOKENS_TYPE] for name, given, _ in points if name == names.TOKENS_USED}

    assert {
        names.TOKENS_USED,
        names.CALL_DURATION,
        names.CALL_FIRST_CHUNK,
        names.AGENT_DURATION,
        names.TOOL_DURATION,
    } == {name for name, _, _ in points}
    assert {"input", "output"} == types


def test_nothing_that_was_said_or_read_is_told(told: Told) -> None:
    spans = [span.to_json() for span in told.spans()]

    assert [] == [text for text in [*spans, *map(repr, told.points())] if CONTENT in text]


def test_a_rewrite_is_an_event_of_the_run_with_its_tokens() -> None:
    told = Told()
    script = "\n---\n".join(['call read {"path": "a"}'] * 6 + ["say Done."])
    big = AgentTool(
        definition=Tool(name="read", description="read", schema=SCHEMA), run=lambda _given: "line of words\n" * 8_000
    )
    seen: list[Event] = []

    def listen(event: Event) -> None:
        seen.append(event)
        told.telemetry(event)

    agent = Agent(ScriptedModel(script), Setup(tools=(big,), settings=Settings()))
    asyncio.run(agent.run("Read it all.", listen))
    rewrites = [event for event in seen if isinstance(event, CompactionEnd)]
    events = [event for event in told.span("invoke_agent reviewer").events if event.name == names.COMPACTION]

    assert rewrites
    assert [(one.kind, one.tokens_before, one.tokens_after) for one in rewrites] == [
        tuple(
            (event.attributes or {})[name] for name in (names.COMPACTION_KIND, names.TOKENS_BEFORE, names.TOKENS_AFTER)
        )
        for event in events
    ]


def test_a_call_that_got_no_answer_has_the_kind_of_its_failure() -> None:
    told = Told()
    asyncio.run(Agent(ScriptedModel("fail authentication no such key")).run("Hello.", told.telemetry))
    chat, run = told.span("chat claude-opus-5-5"), told.span("invoke_agent reviewer")

    assert ["authentication"] * 2 == [(span.attributes or {})[names.ERROR] for span in (chat, run)]
    assert "no such key" not in f"{chat.to_json()} {run.to_json()}"


def test_an_answer_that_began_anew_has_its_own_first_chunk() -> None:
    told = Told()
    listen = told.telemetry
    failure = Failure(kind="cut", message=CONTENT)

    def hear(event: Event) -> None:
        listen(event)
        if event.name == "turn_start":
            listen(MessageDelta(delta=BlockGrew(index=0, kind="text", piece="H")))
            listen(Trouble(failure=failure, retry_in=1.5, void=True))

    asyncio.run(Agent(ScriptedModel("say Hello.")).run("Hello.", hear))
    chat = told.span("chat claude-opus-5-5")

    assert [("perdure.retry", "cut", 1.5)] == [
        (event.name, (event.attributes or {})[names.ERROR], (event.attributes or {})[names.RETRY_WAIT])
        for event in chat.events
    ]
    assert StatusCode.UNSET == chat.status.status_code


def test_without_an_sdk_nothing_happens_and_nothing_fails() -> None:
    agent = Agent(ScriptedModel(SCRIPT), Setup(tools=(tool("read"), tool("fall"))))
    end = asyncio.run(agent.run("Hello.", Telemetry(provider="anthropic")))

    assert "done" == end.state
