"""What others do with a context: every policy sends valid requests, and does what its name says."""

from perdure.kernel.context import with_window
from perdure.kernel.models import lookup
from perdure.lab.policies import PEERS, POLICIES, policy_named
from perdure.lab.recording import Asked, Recording
from perdure.lab.replay import Replayed, Setting, Subject, replay
from perdure.testing.sessions import Scenario, generate

WINDOW = 60_000


def subject(seed: int = 3) -> Subject:
    """A generated session that does not fit its window."""
    made = generate(seed, Scenario(requests=60, turns=4, tokens=110_000, images=0))
    messages = made.transcript
    asked = tuple(
        Asked(at=place, time=message.time) for place, message in enumerate(messages) if message.role == "assistant"
    )
    recording = Recording(
        file="made.jsonl", format="made", transcript=messages, asked=asked, system=made.system, tools=made.tools
    )
    return Subject(recording, with_window(lookup("claude-sonnet-4-6"), WINDOW))


def replayed(name: str) -> Replayed:
    made = subject()
    return replay(made, name, policy_named(name), Setting(profile=made.profile, clock=lambda: 0.0))


def test_every_policy_sends_requests_that_a_provider_accepts() -> None:
    faults = {name: sum(point.faults for point in replayed(name).points) for name in [*PEERS, *POLICIES]}

    assert dict.fromkeys([*PEERS, *POLICIES], 0) == faults


def test_policies_that_act_near_the_window_keep_within_it_where_appending_does_not() -> None:
    over = {
        name: sum(point.over_window for point in replayed(name).points)
        for name in ("append-only", "sliding-window", "reset-80", "summary-85", "summary-92", "entry-only")
    }

    assert over.pop("append-only") > 0
    assert dict.fromkeys(over, 0) == over


def test_a_mask_that_moves_in_batches_breaks_the_prefix_less_often_than_one_that_slides() -> None:
    sliding, batched = (
        sum(point.broke == "edited" for point in replayed(name).points) for name in ("mask-10", "mask-10-batched")
    )

    assert 0 < batched < sliding


def test_a_summary_is_paid_for() -> None:
    points = replayed("summary-85").points
    folded = [point for point in points if "full_summary" in point.rungs]

    assert folded
    assert all(point.bill.prompt_tokens > point.tokens for point in folded)
