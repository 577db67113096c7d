"""Canaries: planted where they do no harm, found word for word, and counted by kind and round."""

from perdure.kernel.context import with_window
from perdure.kernel.models import lookup
from perdure.kernel.wire.validity import check_messages
from perdure.lab.canaries import KINDS, judged, plant, survey
from perdure.lab.policies import policy_named
from perdure.lab.recording import Asked, Recording
from perdure.testing.sessions import Scenario, generate

PROFILE = with_window(lookup("claude-sonnet-4-6"), 60_000)


def recording() -> Recording:
    """A generated session that has to be folded in its window."""
    made = generate(5, Scenario(requests=80, turns=6, tokens=120_000, images=0))
    asked = tuple(Asked(at=at, time=one.time) for at, one in enumerate(made.transcript) if one.role == "assistant")
    return Recording(file="made", format="made", transcript=made.transcript, asked=asked, tools=made.tools)


def test_the_same_seed_plants_the_same_and_another_plants_otherwise() -> None:
    assert plant(recording(), 1) == plant(recording(), 1)
    assert plant(recording(), 1)[1] != plant(recording(), 2)[1]


def test_a_planted_session_is_still_one_that_a_provider_accepts() -> None:
    planted, canaries = plant(recording(), 3)
    transcript = planted.transcript

    assert () == check_messages(transcript[:], PROFILE, "anthropic")
    assert len(KINDS) * 2 == len(canaries)
    assert all(transcript[one.at].role == "assistant" for one in planted.asked)
    assert {canary.kind for canary in canaries} == set(KINDS)


def test_what_the_user_said_survives_every_fold_of_ours_and_not_a_plain_summary() -> None:
    planted, canaries = plant(recording(), 3)
    ours, _ = survey(planted, canaries, policy_named("balanced"), PROFILE)
    plain, _ = survey(planted, canaries, policy_named("summary-85"), PROFILE)
    said = [one for one in ours if one.kind != "fact"]

    assert said
    assert all(one.round for one in [*ours, *plain])
    assert sum(one.planted for one in said) == sum(one.visible for one in said)
    assert all(one.visible + one.recallable == one.planted for one in ours)
    assert sum(one.visible for one in plain) < sum(one.planted for one in plain)


def test_a_judge_is_right_where_its_answer_holds_the_value() -> None:
    planted, canaries = plant(recording(), 3)
    _, last = survey(planted, canaries, policy_named("append-only"), PROFILE)
    found = judged(last, canaries, lambda prompt: canaries[0].value)

    assert 1 == sum(right for right, _ in found.values())
    assert len(canaries) == sum(asked for _, asked in found.values())
