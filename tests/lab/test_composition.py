"""What a request is made of, followed from view to view."""

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.context.checkpoint import OPENING
from perdure.kernel.messages import (
    Block,
    Message,
    Provenance,
    Role,
    Text,
    Thinking,
    Tool,
    ToolResult,
    ToolUse,
    Transcript,
)
from perdure.lab.composition import KINDS, Composition, Kind, sizes_of, unchanged


def message(number: int, *blocks: Block, role: Role = "user", provenance: Provenance = "user") -> Message:
    return Message(id=f"m{number}", role=role, content=blocks, provenance=provenance)


def by_kind(sizes: tuple[int, ...]) -> dict[Kind, int]:
    return {kind: size for kind, size in zip(KINDS, sizes, strict=True) if size}


def test_each_block_counts_for_its_kind() -> None:
    answer = message(
        1,
        Thinking(thinking="think", signature=None),
        Text(text="words"),
        ToolUse(id="t", name="read", input={}),
        role="assistant",
        provenance="assistant",
    )
    results = message(2, ToolResult(tool_use_id="t", content="found it"), provenance="tool")

    assert {"thinking": 5, "assistant": 5, "calls": 6} == by_kind(sizes_of(answer))
    assert {"results": 8} == by_kind(sizes_of(results))


def test_what_the_harness_adds_is_not_the_users() -> None:
    mixed = message(1, Text(text="typed"), Text(text="<system-reminder>x</system-reminder>"))

    assert {"user": 5, "harness": 36} == by_kind(sizes_of(mixed))


def test_a_checkpoint_is_its_own_kind() -> None:
    summary = message(1, Text(text=f"{OPENING}\nit"), provenance="harness")

    assert {"checkpoint": len(OPENING) + 3} == by_kind(sizes_of(summary))


def test_tools_and_system_stand_in_every_request() -> None:
    composition = Composition((Tool(name="read", description="reads"),), (Text(text="be brief"),))

    assert {"fixed": 17} == by_kind(composition.follow(()))


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=6))
def test_following_gives_what_counting_anew_gives(views: list[list[int]]) -> None:
    composition = Composition((), ())
    for lengths in views:
        view = [message(place, Text(text="x" * length)) for place, length in enumerate(lengths)]
        afresh = Composition((), ()).follow(view)

        assert afresh == composition.follow(Transcript(view))


def test_a_change_in_the_middle_alone_is_seen() -> None:
    first, middle, last = (message(number, Text(text="long enough")) for number in range(3))
    cleared = message(1, Text(text="gone"))

    assert 1 == unchanged([first, middle, last], Transcript([first, cleared, last, message(3)]))
    assert 3 == unchanged([first, middle, last], Transcript([first, middle, last, message(3)]))
