"""The cache doctor names a break, its cause, its price and what would have prevented it."""

from perdure.kernel.messages import Message, Text, Transcript, Usage
from perdure.lab.doctor import doctor_text, incidents
from perdure.lab.recording import Asked, Recording


def recording(gap: float, read: int, model: str = "claude-sonnet-4-6") -> Recording:
    """Two requests: the first writes 100,000 tokens, the second reads some of them."""
    message = Message(id="m", role="user", content=(Text(text="Go"),), provenance="user")
    first = Usage(cache_write_tokens=100_000)
    second = Usage(cache_read_tokens=read, cache_write_tokens=101_000 - read)
    return Recording(
        file="one.jsonl",
        format="made",
        transcript=Transcript((message,)),
        asked=(
            Asked(at=1, time=0.0, usage=first, model="claude-sonnet-4-6"),
            Asked(at=1, time=gap, usage=second, model=model),
        ),
        model="claude-sonnet-4-6",
    )


def test_a_request_that_reads_what_was_left_is_no_break() -> None:
    assert [] == list(incidents([recording(60, 100_000)]))


def test_a_pause_is_priced_by_what_had_to_be_written_again() -> None:
    (found,) = incidents([recording(400, 0)])

    assert ("idle", 2) == (found.cause, found.request)
    assert 100_000 * (1.25 - 0.1) == found.units
    assert "1 keep-alive pings" in found.advice
    assert "60 minutes would have held it" in found.advice


def test_a_switch_of_models_is_told_apart_from_a_change_that_nobody_knows_of() -> None:
    causes = [one.cause for one in incidents([recording(9, 0, "claude-opus-4-6"), recording(9, 20_000)])]

    assert ["model", "unexplained"] == causes
    assert "one.jsonl request 2: unexplained" in doctor_text(list(incidents([recording(9, 20_000)])))


def test_a_clock_that_was_set_back_is_no_pause() -> None:
    (found,) = incidents([recording(-90, 0)])

    assert ("unexplained", None) == (found.cause, found.gap)
