"""What is pending follows from the view: nothing is told twice, and nothing that changed stays untold."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.context import (
    Answer,
    Engine,
    InMemory,
    Need,
    Projection,
    Restore,
    Restored,
    Settings,
    drive,
    with_window,
)
from perdure.kernel.messages import Message, Text, Transcript
from perdure.kernel.models import lookup
from perdure.kernel.prompt import (
    RETRACTED,
    Mode,
    Reminder,
    Telling,
    changed,
    last_told,
    memory,
    note,
    part,
    pending,
    remind,
    reminders,
    restored,
)

DATE, SKILLS, PROJECT = part("date", "Today is Monday."), part("skills", "- build"), part("project", "Use tabs.")
PARTS = (DATE, SKILLS, PROJECT)
KEYS = st.sampled_from(["date", "skills", "project", "overlay a"])
BODIES = st.dictionaries(KEYS, st.sampled_from(["", "one", "two"]))


def typed(name: str, text: str = "Go on.") -> Message:
    return Message(id=name, role="user", content=(Text(text=text),), provenance="user")


def answered(name: str) -> Message:
    return Message(id=name, role="assistant", content=(Text(text="Done."),), provenance="assistant")


def tell(view: Sequence[Message], telling: Telling, mode: Mode = "on_change") -> tuple[Message, ...]:
    """The view after a message of the user's and its answer."""
    told = remind(reminders(telling, view, mode), id=f"r{len(view)}", time=None)
    before = () if told is None else (told,)
    return (*view, *before, typed(f"u{len(view)}"), answered(f"a{len(view)}"))


def texts(*given: Reminder) -> tuple[str, ...]:
    return tuple(each.text for each in given)


def test_a_first_message_is_told_every_part_that_says_something_in_order() -> None:
    assert texts(*PARTS) == reminders(Telling(parts=(*PARTS, part("memory", " \n "))), ())


def test_what_the_view_shows_is_not_told_again() -> None:
    assert () == pending(PARTS, tell((), Telling(parts=PARTS)))


def test_only_the_part_that_changed_is_told_again() -> None:
    view = tell((), Telling(parts=PARTS))
    edited = part("project", "Use spaces.")

    assert texts(edited) == pending((DATE, SKILLS, edited), view)


def test_a_part_that_goes_back_to_what_it_was_is_told_again() -> None:
    view = tell(tell((), Telling(parts=(DATE,))), Telling(parts=(part("date", "Tuesday."),)))

    assert texts(DATE) == pending((DATE,), view)


@pytest.mark.parametrize("now", [(DATE, part("skills", "")), (DATE,)], ids=["empty", "missing"])
def test_a_part_that_was_told_and_has_gone_is_retracted_once(now: tuple[Reminder, ...]) -> None:
    view = tell((), Telling(parts=(DATE, SKILLS)))
    retraction = texts(part("skills", RETRACTED))

    assert retraction == pending(now, view)
    assert () == pending(now, tell(view, Telling(parts=now)))


def test_an_empty_part_that_was_never_told_is_not_retracted() -> None:
    assert () == pending((part("skills", ""),), ())


def test_every_turn_tells_all_parts_before_each_message_and_retracts_once() -> None:
    view = tell((), Telling(parts=(DATE, SKILLS)), "every_turn")
    later = tell(view, Telling(parts=(DATE,)), "every_turn")

    assert texts(DATE, SKILLS) == reminders(Telling(parts=(DATE, SKILLS)), view, "every_turn")
    assert texts(DATE, part("skills", RETRACTED)) == reminders(Telling(parts=(DATE,)), view, "every_turn")
    assert texts(DATE) == reminders(Telling(parts=(DATE,)), later, "every_turn")


@pytest.mark.parametrize("mode", ["on_change", "every_turn"])
def test_notes_come_first_then_parts_then_memories_next_to_the_question(mode: Mode) -> None:
    told, recalled = note("todos", "Look."), memory("/m/build.md", "Use make.")
    telling = Telling(memories=(recalled,), parts=PARTS, notes=(told,))

    assert texts(told, *PARTS, recalled) == reminders(telling, (), mode)


def test_a_memory_is_never_told_twice_in_one_view() -> None:
    recalled = memory("/m/build.md", "Use make.")
    view = tell((), Telling(memories=(recalled,)))

    assert () == reminders(Telling(memories=(memory("/m/build.md", "Use ninja."),)), view)
    assert texts(recalled) == reminders(Telling(memories=(recalled,)), view[2:])


def test_the_date_is_told_once_when_midnight_passes_while_the_agent_runs() -> None:
    view = tell((), Telling(parts=PARTS))
    tuesday = part("date", "Today is Tuesday.")
    told = changed(tuesday, view)
    assert told is not None
    later = (*view, Message(id="n", role="user", content=(Text(text=told),), provenance="harness"))

    assert tuesday.text == told
    assert changed(tuesday, later) is None
    assert () == pending((tuesday, SKILLS, PROJECT), later)


def test_a_date_that_was_never_told_has_not_changed() -> None:
    assert changed(DATE, ()) is None


@given(st.lists(BODIES, max_size=6))
def test_after_each_telling_the_view_says_how_everything_stands(states: list[dict[str, str]]) -> None:
    view: tuple[Message, ...] = ()
    for state in states:
        parts = tuple(part(key, body) for key, body in state.items())
        view = tell(view, Telling(parts=parts))

        assert () == pending(parts, view)
        in_force = {key: text for key, text in last_told(view).items() if RETRACTED not in text}
        assert {each.key: each.text for each in parts if each.body} == in_force


def test_behind_a_checkpoint_each_part_that_the_tail_lacks_has_a_message_of_its_own() -> None:
    tail = tell((), Telling(parts=(part("date", "Sunday."),)))

    after = restored(PARTS, tail, checkpoint="c1", time=1.0)

    assert ["c1-skills", "c1-project"] == [message.id for message in after]
    assert texts(DATE) == pending(PARTS, (*after, *tail))


class TellingAgain(InMemory):
    """Ports of a host that tells its parts again behind a checkpoint."""

    def perform(self, need: Need) -> Answer:
        if isinstance(need, Restore):
            return Restored(messages=restored(PARTS, need.tail, checkpoint="c", time=None))
        return super().perform(need)


def test_after_a_checkpoint_the_view_tells_every_part_again_and_nothing_is_pending() -> None:
    profile = with_window(lookup("claude-sonnet-4-5"), 32_000)
    view = tell((), Telling(parts=PARTS))
    for _ in range(40):
        view = tell((*view, typed(f"p{len(view)}", "word " * 400)), Telling(parts=PARTS))
    engine = Engine(profile, Settings(), overhead=0)

    projection: Projection = drive(engine.compact(Transcript(view), "", None), TellingAgain())

    assert projection.view.summary is not None
    assert {each.key: each.text for each in PARTS} == dict(last_told(projection.messages))
    assert () == pending(PARTS, projection.messages)
