"""The bounds: the search is exact, and nothing costs less than a bound."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.context import with_window
from perdure.kernel.models import lookup
from perdure.lab.bound import Course, Item, bounds, exact, free_rewrites, request_cost
from perdure.lab.policies import PEERS, POLICIES, policy_named
from perdure.lab.recall import RecallPrice, recall_cost
from perdure.lab.recording import Asked, Recording
from perdure.lab.replay import Setting, Subject, replay
from perdure.testing.sessions import Scenario, generate

REQUESTS = 4
PRICE = RecallPrice()


@st.composite
def courses(draw: st.DrawFn) -> Course:
    arrivals = sorted(draw(st.lists(st.integers(0, REQUESTS - 1), min_size=1, max_size=4)))
    items = tuple(
        Item(
            arrives=arrives,
            tokens=draw(st.integers(1, 50)),
            clearable=draw(st.booleans()),
            needs=tuple((at, draw(st.floats(0.5, 40))) for at in range(arrives + 1, REQUESTS) if draw(st.booleans())),
        )
        for arrives in arrivals
    )
    warm = (False, *(draw(st.booleans()) for _ in range(REQUESTS - 1)))
    return Course(items=items, warm=warm, read=0.1, write=1.25, fixed=3.0)


def every_schedule(course: Course) -> list[float]:
    """What each way of dropping each item at some request, or never, costs."""
    ways = [range(item.arrives + 1, REQUESTS + 1) if item.clearable else (REQUESTS,) for item in course.items]
    costs: list[float] = []
    for drops in product(*ways):
        gone = [frozenset(at for at, drop in enumerate(drops) if drop <= when) for when in range(-1, REQUESTS)]
        costs.append(3.0 + sum(request_cost(course, at, gone[at], gone[at + 1]) for at in range(REQUESTS)))
    return costs


@given(courses())
def test_the_search_finds_the_cheapest_of_all_schedules(course: Course) -> None:
    cheapest = min(every_schedule(course))

    assert abs(cheapest - exact(course)) < 1e-6


@given(courses())
def test_no_schedule_costs_less_than_free_rewrites(course: Course) -> None:
    assert free_rewrites(course) <= min(every_schedule(course)) + 1e-6


@given(st.integers(0, 10_000), st.sampled_from([*POLICIES, *PEERS]), st.sampled_from([40_000, 80_000, 200_000]))
def test_no_policy_costs_less_than_sending_everything_once(seed: int, name: str, window: int) -> None:
    made = generate(seed, Scenario(requests=24, turns=4, tokens=60_000, images=0))
    asked = tuple(Asked(at=at, time=one.time) for at, one in enumerate(made.transcript) if one.role == "assistant")
    recording = Recording(
        file="made", format="made", transcript=made.transcript, asked=asked, system=made.system, tools=made.tools
    )
    profile = with_window(lookup("claude-sonnet-4-6"), window)
    subject = Subject(recording, profile)
    points = replay(subject, name, policy_named(name), Setting(profile=profile, clock=lambda: 0.0)).points
    cost = sum(one.bill.units + recall_cost(one.missed, one.tokens, profile, PRICE).units for one in points)
    found = bounds(subject, PRICE)

    assert any(one.infeasible for one in points) or found.sent_once <= cost
    assert found.sent_once <= found.free_rewrites
    assert name != "append-only" or found.free_rewrites <= cost
