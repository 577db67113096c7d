"""The loop with scripted models: order, tools, interruptions, overflow, events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace

import pytest

from perdure.kernel.agent import (
    Agent,
    AgentEnd,
    AgentTool,
    Ask,
    Bounds,
    CompactionEnd,
    CompactionStart,
    Event,
    MemoryHost,
    MessageDelta,
    ModelEvent,
    Setup,
    ToolEnd,
    ToolStart,
    TurnStart,
    UsageSeen,
)
from perdure.kernel.context import Settings
from perdure.kernel.errors import Infeasible, Overflow
from perdure.kernel.messages import JsonObject, Message, Text, Thinking, Tool, ToolResult, ToolUse, text_of
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.wire import ANTHROPIC, BlockGrew
from perdure.kernel.wire.validity import check
from perdure.testing.models import ScriptedModel, ScriptTurn

SCHEMA: JsonObject = {"type": "object", "properties": {}}


def tool(name: str, run: Callable[[JsonObject], str], *, beside: bool = False) -> AgentTool:
    return AgentTool(definition=Tool(name=name, description=name, schema=SCHEMA), run=run, beside=beside)


ECHO = tool("echo", lambda given: f"echo {given.get('n')}", beside=True)


def small(window: int) -> ModelProfile:
    profile = lookup("claude-sonnet-4-5")
    return replace(profile, window=replace(profile.window, tokens=window, max_output=2_000))


def run(
    model: ScriptedModel, setup: Setup | None = None, text: str = "Do it.", *, listen: list[Event] | None = None
) -> tuple[Agent, AgentEnd]:
    async def go() -> tuple[Agent, AgentEnd]:
        agent = Agent(model, setup)
        return agent, await agent.run(text, None if listen is None else listen.append)

    return asyncio.run(go())


def texts(messages: Sequence[Message]) -> list[str]:
    return [text_of(message.content) for message in messages]


def faults(model: ScriptedModel) -> list[str]:
    return [
        f"{fault.kind} {fault.where}"
        for ask in model.asked
        for fault in check(model.request(ask), model.profile, model.codec.dialect)
    ]


def test_calls_run_and_their_results_go_back_until_the_model_is_done() -> None:
    model = ScriptedModel('say Look.\ncall echo {"n": 1}\ncall echo {"n": 2}\n---\nsay Done.')
    agent, end = run(model, Setup(tools=(ECHO,)))

    assert ("done", "Done.", 2) == (end.state, end.answer, end.turns)
    assert ["Do it.", "Look.", "echo 1\necho 2", "Done."] == texts(agent.transcript)


def test_the_whole_content_of_an_answer_returns_in_the_next_request() -> None:
    blocks = (
        Thinking(thinking="", signature="sealed"),
        Text(text="Look."),
        ToolUse(id="c1", name="echo", input={"z": 1, "a": [1.5, None]}),
    )
    model = ScriptedModel([ScriptTurn(blocks=blocks), ScriptTurn(blocks=(Text(text="Done."),))])
    run(model, Setup(tools=(ECHO,)))

    assert blocks == model.asked[1].messages[1].content


def test_results_stand_in_the_order_of_calls_although_they_ran_beside_one_another() -> None:
    order: list[str] = []

    async def go() -> Agent:
        second = asyncio.Event()

        async def slow(_given: JsonObject) -> str:
            await second.wait()
            order.append("slow")
            return "slow"

        async def quick(_given: JsonObject) -> str:
            order.append("quick")
            second.set()
            return "quick"

        tools = (
            AgentTool(definition=Tool(name="slow", schema=SCHEMA), run=slow, beside=True),
            AgentTool(definition=Tool(name="quick", schema=SCHEMA), run=quick, beside=True),
        )
        agent = Agent(ScriptedModel("call slow\ncall quick\n---\nsay Done."), Setup(tools=tools))
        await agent.run("Both.")
        return agent

    agent = asyncio.run(go())

    assert (["quick", "slow"], "slow\nquick") == (order, texts(agent.transcript)[2])


def test_of_a_thousand_calls_in_one_answer_a_bounded_number_runs_at_once() -> None:
    running = most = 0

    async def look(_given: JsonObject) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "seen"

    tools = (AgentTool(definition=Tool(name="look", schema=SCHEMA), run=look, beside=True),)
    agent, end = run(ScriptedModel("\n".join(["call look"] * 1_000) + "\n---\nsay Done."), Setup(tools=tools))

    assert ("done", 1_000, True) == (end.state, len(agent.transcript[2].tool_results), 1 < most <= 16)


def test_calls_that_change_something_run_one_after_the_other() -> None:
    running, most = 0, 0

    async def work(_given: JsonObject) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "ok"

    write = AgentTool(definition=Tool(name="write", schema=SCHEMA), run=work)
    run(ScriptedModel("call write\ncall write\ncall write\n---\nsay Done."), Setup(tools=(write,)))

    assert 1 == most


def test_a_tool_that_raises_gives_a_result_that_says_so() -> None:
    def fall(_given: JsonObject) -> str:
        raise FileNotFoundError("a.py")

    agent, end = run(ScriptedModel("call fall\n---\nsay Done."), Setup(tools=(tool("fall", fall),)))

    assert ("done", [True], "FileNotFoundError: a.py") == (
        end.state,
        [result.is_error for result in agent.transcript[2].tool_results],
        texts(agent.transcript)[2],
    )


def test_a_call_of_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    agent, _ = run(ScriptedModel("call nothing\n---\nsay Done."), Setup(tools=(ECHO,)))

    assert "There is no tool 'nothing'; there are: echo, recall." == texts(agent.transcript)[2]


def test_arguments_that_are_no_object_go_back_as_an_empty_one_with_an_error() -> None:
    call = ToolUse(id="c1", name="echo", input={}, raw_input='{"n": ')
    model = ScriptedModel([ScriptTurn(blocks=(call,)), ScriptTurn(blocks=(Text(text="Done."),))], codec=ANTHROPIC)
    agent, end = run(model, Setup(tools=(ECHO,)))

    assert ("done", {}, None) == (end.state, (sent := agent.transcript[1].tool_uses[0]).input, sent.raw_input)


def test_calls_of_an_answer_that_was_cut_off_are_not_run() -> None:
    ran: list[object] = []
    keep = tool("keep", lambda given: str(ran.append(given)))
    model = ScriptedModel("say Half.\ncall keep\nstop max_tokens\n---\nsay Done.")
    agent, end = run(model, Setup(tools=(keep,)))

    assert ("done", []) == (end.state, ran)
    assert ([], (Text(text="Half."),)) == (faults(model), agent.transcript[1].content)


def test_answers_that_are_cut_off_again_and_again_end_the_run() -> None:
    _, end = run(ScriptedModel("\n---\n".join(["say Half.\nstop max_tokens"] * 9)))

    assert ("cut_off", 4) == (end.state, end.turns)


def test_calls_that_all_fail_again_and_again_end_the_run() -> None:
    _, end = run(ScriptedModel("\n---\n".join(["call nothing"] * 9)), Setup(tools=(ECHO,)))

    assert ("stuck", 5) == (end.state, end.turns)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("fail authentication", "failed"),
        ("fail network", "failed"),
        ("fail refusal", "refused"),
        ("say No.\nstop refusal", "refused"),
    ],
)
def test_a_run_without_an_answer_ends_in_a_state_and_keeps_what_the_user_said(line: str, state: str) -> None:
    agent, end = run(ScriptedModel(line))

    assert (state, ["Do it."]) == (end.state, texts(agent.transcript))


def test_an_overflow_is_recovered_once() -> None:
    model = ScriptedModel("fail overflow too long\n---\nsay Done.")
    _, end = run(model)

    assert ("done", 2) == (end.state, len(model.asked))


def test_a_second_overflow_ends_with_the_numbers() -> None:
    model = ScriptedModel("fail overflow too long\n---\nfail overflow still too long\n---\nsay Never.")
    _, end = run(model)

    assert isinstance(end.error, Overflow)
    assert ("overflow", 2, 1_000_000) == (end.state, len(model.asked), end.error.window)


def test_a_window_that_ends_inside_an_answer_is_an_overflow() -> None:
    model = ScriptedModel("say Half\nstop model_context_window_exceeded\n---\nsay Whole.")
    agent, end = run(model)

    assert ("done", ["Do it.", "Whole."]) == (end.state, texts(agent.transcript))


def test_bound_thinking_is_dropped_from_then_on() -> None:
    model = ScriptedModel("fail thinking_bound\n---\ncall echo\n---\nsay Done.")
    _, end = run(model, Setup(tools=(ECHO,)))

    assert ("done", [False, True, True]) == (end.state, [ask.drop_block for ask in model.asked])


def test_what_cannot_fit_ends_with_the_numbers_and_keeps_what_the_user_said() -> None:
    text = "word " * 40_000
    agent, end = run(ScriptedModel("say Never.", profile=small(8_000)), Setup(system="sys " * 40_000), text)

    assert isinstance(end.error, Infeasible)
    assert ("infeasible", [text]) == (end.state, texts(agent.transcript))


def test_the_context_is_made_smaller_between_the_calls_of_one_run() -> None:
    big = tool("big", lambda given: f"line {given.get('n')} of the file\n" * 800)
    aloud = "say " + "I go through it step by step. " * 60
    script = "\n---\n".join([*(f'{aloud}\ncall big {{"n": {n}}}' for n in range(30)), "say Done."])
    model = ScriptedModel(script, profile=small(16_000))
    events: list[Event] = []
    _, end = run(model, Setup(tools=(big,)), "Read everything.", listen=events)
    kinds = [event.kind for event in events if isinstance(event, CompactionEnd)]

    assert ("done", []) == (end.state, faults(model))
    assert {"micro", "full"} <= set(kinds)
    assert all("Read everything." in str(texts(ask.messages)) for ask in model.asked)


def test_a_rewrite_that_takes_a_summary_is_told_before_the_model_writes_it() -> None:
    big = tool("big", lambda given: f"line {given.get('n')} of the file\n" * 800)
    aloud = "say " + "I go through it step by step. " * 60
    script = "\n---\n".join([*(f'{aloud}\ncall big {{"n": {n}}}' for n in range(30)), "say Done."])
    events: list[Event] = []
    run(ScriptedModel(script, profile=small(16_000)), Setup(tools=(big,)), "Read everything.", listen=events)
    told = [event for event in events if isinstance(event, CompactionStart | CompactionEnd | UsageSeen)]
    begun = [place for place, event in enumerate(told) if event == CompactionStart(reason="summary")]

    assert begun
    assert all(isinstance(told[place + 2], CompactionEnd) for place in begun)
    assert ["summary"] * len(begun) == [getattr(told[place + 1], "purpose", "") for place in begun]
    assert len(begun) == sum(1 for event in told if isinstance(event, UsageSeen) and event.purpose == "summary")


def test_a_guard_may_take_its_time() -> None:
    async def still(message: Message) -> str | None:
        await asyncio.sleep(0)
        return "Run the tests." if "Done" in text_of(message.content) else None

    _, end = run(ScriptedModel("say Done.\n---\nsay Tested."), Setup(guards=(still,)))

    assert ("done", "Tested.") == (end.state, end.answer)


def test_a_rewrite_is_told_only_where_something_changed_unless_somebody_asked() -> None:
    events: list[Event] = []

    async def go() -> None:
        agent = Agent(ScriptedModel("say Done."))
        await agent.run("Hi", events.append)
        await agent.compact("", events.append)

    asyncio.run(go())
    told = [event for event in events if isinstance(event, CompactionStart | CompactionEnd)]

    assert [CompactionStart, CompactionEnd] == [type(event) for event in told]
    assert isinstance(told[1], CompactionEnd)
    assert not told[1].changed


def test_what_is_said_meanwhile_is_read_with_the_next_call() -> None:
    async def go() -> Agent:
        def tell(event: Event) -> None:
            if isinstance(event, ToolStart):
                agent.steer("Use tabs.")

        agent = Agent(ScriptedModel("call echo\n---\nsay Done."), Setup(tools=(ECHO,)))
        await agent.run("Format it.", tell)
        return agent

    agent = asyncio.run(go())

    assert ["Format it.", "", "echo None", "Use tabs.", "Done."] == texts(agent.transcript)
    assert agent.transcript[3].is_typed


def test_what_is_said_during_the_last_answer_is_answered_too() -> None:
    async def go() -> Agent:
        said = iter(["And then?"])

        def tell(event: Event) -> None:
            if isinstance(event, MessageDelta) and (text := next(said, None)):
                agent.steer(text)

        agent = Agent(ScriptedModel("say First.\n---\nsay Second."))
        await agent.run("Hi", tell)
        return agent

    assert ["Hi", "First.", "And then?", "Second."] == texts(asyncio.run(go()).transcript)


def test_an_interruption_while_tools_run_leaves_no_call_open() -> None:
    async def go() -> tuple[Agent, AgentEnd, AgentEnd]:
        async def forever(_given: JsonObject) -> str:
            agent.interrupt()
            await asyncio.Event().wait()
            return ""

        tools = (ECHO, AgentTool(definition=Tool(name="forever", schema=SCHEMA), run=forever), tool("later", str))
        agent = Agent(ScriptedModel('call echo {"n": 1}\ncall forever\ncall later\n---\nsay On.'), Setup(tools=tools))
        first = await agent.run("Go.")
        return agent, first, await agent.run("Go on.")

    agent, first, second = asyncio.run(go())
    results = agent.transcript[2].tool_results

    assert ("interrupted", "done") == (first.state, second.state)
    assert [None, True, True] == [result.is_error for result in results]
    assert ["Go.", "", "Go on.", "On."] == [text for text in texts(agent.transcript) if "\n" not in text]


def test_an_interruption_while_the_model_speaks_keeps_what_it_said() -> None:
    async def go() -> tuple[Agent, AgentEnd]:
        def tell(event: Event) -> None:
            if isinstance(event, MessageDelta) and isinstance(event.delta, BlockGrew):
                agent.interrupt()

        class Slow(ScriptedModel):
            async def stream(self, ask: Ask) -> AsyncGenerator[ModelEvent, None]:
                async for event in super().stream(ask):
                    yield event
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)

        agent = Agent(Slow("say Half of a sentence."), Setup(tools=(ECHO,)))
        return agent, await agent.run("Go.", tell)

    agent, end = asyncio.run(go())

    assert ("interrupted", ["Go.", "Half of a sentence."]) == (end.state, texts(agent.transcript))


def test_a_guard_sends_the_model_on_a_bounded_number_of_times() -> None:
    def still(_message: Message) -> str:
        return "The tests still fail."

    model = ScriptedModel("\n---\n".join(["say Done."] * 9))
    _, end = run(model, Setup(guards=(still,), bounds=Bounds(nudges=2)))

    assert ("done", 3) == (end.state, len(model.asked))


def test_a_host_that_fails_ends_the_run_in_a_state() -> None:
    class Full(MemoryHost):
        async def record(self, messages: Sequence[Message]) -> None:
            if messages[0].role == "assistant":
                raise OSError("no space left")

    async def go() -> tuple[Agent, AgentEnd]:
        agent = Agent(ScriptedModel("say Hi."), host=Full())
        return agent, await agent.run("Keep this.")

    agent, end = asyncio.run(go())

    assert ("broken", ["Keep this."]) == (end.state, texts(agent.transcript))


def test_events_come_in_order() -> None:
    events: list[Event] = []
    run(ScriptedModel("call echo\n---\nsay Done."), Setup(tools=(ECHO,)), listen=events)
    names = [event.name for event in events if not isinstance(event, MessageDelta)]
    turn = ["turn_start", "usage", "message_end"]

    assert [
        "agent_start",
        "message_end",
        *turn,
        "tool_start",
        "tool_end",
        "message_end",
        *turn,
        "agent_end",
    ] == names


def test_usage_and_price_are_summed() -> None:
    events: list[Event] = []
    _, end = run(ScriptedModel("call echo\n---\nsay Done."), Setup(tools=(ECHO,)), listen=events)
    seen = [event for event in events if isinstance(event, UsageSeen)]

    assert (sum(event.usage.total_tokens for event in seen), True) == (end.tokens, (end.usd or 0) > 0)


def test_where_nobody_publishes_a_price_a_run_does_not_seem_to_be_free() -> None:
    _, end = run(ScriptedModel("say Done.", profile=replace(small(16_000), prices=None)))

    assert end.tokens > 0
    assert end.usd is None


def test_a_subagent_has_a_context_of_its_own_that_is_kept_small_too() -> None:
    big = tool("big", lambda given: f"line {given.get('n')} of the file\n" * 800)
    script = "\n---\n".join([*(f'call big {{"n": {n}}}' for n in range(20)), "say The answer is 42."])
    inner = ScriptedModel(script, profile=small(16_000))

    async def explore(given: JsonObject) -> str:
        return (await Agent(inner, Setup(tools=(big,))).run(str(given["task"]))).answer

    helper = AgentTool(definition=Tool(name="explore", schema=SCHEMA), run=explore)
    outer = ScriptedModel('call explore {"task": "Find it."}\n---\nsay Done.')
    agent, end = run(outer, Setup(tools=(helper,)))

    assert ("done", "The answer is 42.", 4) == (end.state, texts(agent.transcript)[2], len(agent.transcript))
    assert ([], 21) == (faults(inner), len(inner.asked))


def test_what_a_tool_spends_counts_against_the_bounds_of_the_run() -> None:
    left: list[Bounds] = []
    agents: list[Agent] = []

    def costly(_given: JsonObject) -> str:
        agents[0].charge(900_000, 0.75)
        left.append(agents[0].left)
        return "done"

    script = "\n---\n".join(["call costly"] * 9)
    setup = Setup(tools=(tool("costly", costly),), bounds=Bounds(tokens=1_000_000, usd=2.0))
    agents.append(Agent(ScriptedModel(script), setup))
    end = asyncio.run(agents[0].run("Go."))

    assert ("token_limit", 2) == (end.state, len(left))
    assert left[0].tokens is not None
    assert left[0].usd is not None
    assert 0 < left[0].tokens < 100_000
    assert 1.2 < left[0].usd < 1.25
    assert 0 == left[1].tokens


def test_a_conversation_that_was_broken_off_goes_on_with_every_call_answered() -> None:
    first, _ = run(ScriptedModel("say Done."))
    call = ToolUse(id="c9", name="echo", input={})
    torn = first.transcript.append(Message(id="x", role="assistant", content=(call,), provenance="assistant"))
    model = ScriptedModel("say Back.")
    agent, end = run(model, Setup(transcript=torn, tools=(ECHO,)), "Go on.")

    assert ("done", []) == (end.state, faults(model))
    assert isinstance(agent.transcript[3].content[0], ToolResult)


def test_what_left_the_view_can_be_recalled_by_the_model() -> None:
    big = tool("big", lambda _given: "\n".join(f"row {n} holds {n * n}" for n in range(4_000)))

    async def go() -> str:
        model = ScriptedModel("call big\n---\nsay Done.")
        agent = Agent(model, Setup(tools=(big,)))
        await agent.run("Read.")
        sent = text_of(model.asked[1].messages[2].content)
        handle = sent.split("recall ")[1].split()[0].strip("].,;:`")
        model.then([ScriptTurn(blocks=(ToolUse(id="r", name="recall", input={"handle": handle}),))])
        await agent.run("Recall it.")
        return texts(agent.transcript)[-2]

    assert "row 2000 holds 4000000" in asyncio.run(go())


def test_limits_end_a_run_with_results_in_place() -> None:
    script = "\n---\n".join(["call echo"] * 9)
    agent, end = run(ScriptedModel(script), Setup(tools=(ECHO,), bounds=Bounds(turns=2)))

    assert ("turn_limit", 2) == (end.state, end.turns)
    assert agent.transcript[len(agent.transcript) - 1].tool_results


def test_a_turn_tells_its_size_and_a_tool_its_result() -> None:
    events: list[Event] = []
    run(ScriptedModel("call echo\n---\nsay Done."), Setup(tools=(ECHO,), settings=Settings()), listen=events)
    turns = [event.number for event in events if isinstance(event, TurnStart) and event.tokens > 0]
    results = [event.result.content for event in events if isinstance(event, ToolEnd)]

    assert ([1, 2], ["echo None"]) == (turns, results)
