"""A count of the provider's that says nothing about the view as it stands."""

from perdure.kernel.context import Engine, Settings, drive, with_window
from perdure.kernel.messages import Usage
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import LINE, Talk, output, play

PROFILE = with_window(lookup("claude-sonnet-4-6"), 200_000)


def test_usage_from_before_a_checkpoint_does_not_trigger_the_next_one() -> None:
    talk = Talk().typed("go on").rounds(20, 9_000).called(usage=Usage(input_tokens=150_000)).answered("fine")
    engine, ports = Engine(PROFILE, Settings(clear_growth=None)), ScriptedPorts()

    folded = drive(engine.project(talk.transcript, None), ports)
    again = drive(engine.project(talk.transcript, None), ports)

    assert folded.strategy == "full_summary"
    assert again.usage.tokens < 50_000
    assert () == again.edits


def test_after_a_checkpoint_the_estimate_is_that_of_an_engine_that_never_saw_the_old_usage() -> None:
    talk = Talk().typed("go on").rounds(20, 9_000).called(usage=Usage(input_tokens=150_000)).answered("fine")
    counted, uncounted = Engine(PROFILE), Engine(PROFILE)
    plain = Talk().typed("go on").rounds(20, 9_000).called().answered("fine")

    seen = drive(counted.compact(talk.transcript, "", None), ScriptedPorts())
    unseen = drive(uncounted.compact(plain.transcript, "", None), ScriptedPorts())

    assert unseen.usage == seen.usage


def test_a_count_that_came_after_a_checkpoint_holds_again() -> None:
    talk = Talk().typed("go on").rounds(20, 9_000)
    engine, ports = Engine(PROFILE), ScriptedPorts()
    drive(engine.compact(talk.transcript, "", None), ports)
    talk.said("going on", usage=Usage(input_tokens=41_000)).typed("yes")

    assert 41_000 <= engine.usage(talk.transcript).usage.tokens <= 41_100


def test_an_edit_takes_what_it_saved_from_the_count() -> None:
    talk = Talk().typed("go on").rounds(20, 9_000).called(usage=Usage(input_tokens=100_000)).answered("fine")
    engine = Engine(PROFILE, Settings(fold_growth=None))

    lightened = drive(engine.project(talk.transcript, None), ScriptedPorts())
    saved = sum(getattr(edit, "saved", 0) for edit in lightened.edits)

    assert lightened.strategy == "tool_result_microcompact"
    # Each saving is rounded on its own, and their sum once.
    assert abs(lightened.tokens_before - saved - lightened.usage.tokens) <= len(lightened.edits)


def test_usage_of_nothing_or_of_a_rest_or_of_more_than_any_model_reads_is_no_count() -> None:
    for broken in (Usage(), Usage(output_tokens=7), Usage(input_tokens=3), Usage(input_tokens=10**9)):
        talk = Talk().typed("go on").rounds(20, 9_000).said("I", usage=broken).typed("go on")
        plain = Talk().typed("go on").rounds(20, 9_000).said("I").typed("go on")

        assert Engine(PROFILE).usage(plain.transcript).usage == Engine(PROFILE).usage(talk.transcript).usage


def test_a_count_from_before_other_tools_came_is_replaced_by_an_estimate_with_the_new_overhead() -> None:
    talk = Talk().typed("go on").called(usage=Usage(input_tokens=31_000)).answered("fine")
    engine = Engine(PROFILE, overhead=30_000)

    changed = drive(engine.prefix_changed(talk.transcript, PROFILE, 80_000, None), ScriptedPorts())

    assert 80_000 < changed.usage.tokens < 80_200
    assert ["PrefixChange"] == [type(edit).__name__ for edit in changed.edits]


def test_counts_of_another_model_say_nothing_after_a_switch() -> None:
    other = with_window(lookup("gpt-5"), 200_000)
    talk = Talk().typed("go on")
    for number in range(8):
        talk.called(usage=Usage(input_tokens=200 + 9_000 * number)).answered(output(number, 9_000))
    engine = Engine(PROFILE)
    engine.usage(talk.transcript)

    switched = drive(engine.prefix_changed(talk.transcript, other, 0, None), ScriptedPorts())

    assert Engine(other).usage(Talk().typed("go on").rounds(8, 9_000).transcript).usage.tokens == switched.usage.tokens


def test_a_switch_gives_the_same_estimate_to_an_engine_that_is_made_anew() -> None:
    talk = Talk().typed("go on").rounds(3, 9_000).called(usage=Usage(input_tokens=12_000)).answered("fine")
    engine = Engine(PROFILE, overhead=3_000)

    changed = drive(engine.prefix_changed(talk.transcript, PROFILE, 9_000, None), ScriptedPorts())

    assert changed.usage == Engine(PROFILE, overhead=9_000, ledger=engine.ledger).usage(talk.transcript).usage


def test_a_session_with_phantom_usage_still_fits_its_window() -> None:
    talk = Talk().typed("go on")
    for number in range(80):
        talk.called(usage=Usage(input_tokens=2)).answered(output(number, 12_000))

    sent = list(play(Engine(with_window(PROFILE, 64_000)), talk.transcript, ScriptedPorts(["absent"])))

    assert all(sum(len(str(message.content)) for message in one.messages) < 64_000 * 4 for one in sent)


def test_a_pasted_text_is_counted_before_the_provider_counted_it() -> None:
    talk = Talk().typed("hi").said("hello", usage=Usage(input_tokens=1_000)).typed(LINE * 1_000)

    assert 1_000 + 15_000 < Engine(PROFILE).usage(talk.transcript).usage.tokens < 1_000 + 30_000
