"""The gauge: it learns a session's tokenizer from what each request added to the one before, and from nothing else."""

import pytest

from perdure.kernel.context.gauge import Gauge, message_mass
from perdure.kernel.context.ledger import Ledger
from perdure.kernel.messages import Block, Image, Message, Text, Transcript, Usage
from perdure.kernel.models import lookup

CLAUDE = lookup("claude-opus-4-6")
PICTURE = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 1_000})


def said(number: int, *content: Block) -> Message:
    return Message(id=f"said_{number}", role="user", content=content, provenance="user")


def answered(number: int, prompt: float) -> Message:
    usage = Usage(input_tokens=round(prompt), output_tokens=1)
    return Message(
        id=f"answered_{number}", role="assistant", content=(Text(text="ok"),), provenance="assistant", usage=usage
    )


def follow(*messages: Message, overhead: int = 0) -> Gauge:
    gauge = Gauge(CLAUDE, overhead)
    gauge.follow(Transcript(messages), Ledger())
    return gauge


def test_a_system_prompt_that_nobody_sees_does_not_disturb_the_calibration() -> None:
    opaque, ratio = 40_000, 1.3
    messages, prompt = list[Message](), float(opaque)
    for number, size in enumerate((9_000, 700, 14_000, 4_100, 2_600) * 6):
        new = said(number, Text(text="x" * size))
        prompt += ratio * (message_mass(new, CLAUDE).text + message_mass(answered(number, 0), CLAUDE).text) / 1_000
        messages += new, answered(number, prompt)

    assert pytest.approx(ratio, rel=0.03) == follow(*messages).calibration.scale


def test_pictures_are_taken_at_their_formula_and_only_text_is_compared() -> None:
    text, picture = said(1, Text(text="x" * 29_000)), said(1, Text(text="x" * 29_000), PICTURE)
    grown = 1.2 * message_mass(text, CLAUDE).text / 1_000
    start = (said(0, Text(text="go")), answered(0, 5_000))

    plain = follow(*start, text, answered(1, 5_000 + grown))
    pictured = follow(*start, picture, answered(1, 5_000 + grown + message_mass(picture, CLAUDE).media))

    assert plain.calibration.scale > 1.1
    assert pytest.approx(plain.calibration.scale, rel=0.002) == pictured.calibration.scale


def test_what_the_provider_counted_replaces_the_estimate_of_what_it_covers() -> None:
    counted = follow(said(0, Text(text="x" * 29_000)), answered(0, 30_000), overhead=2_000)
    answer = message_mass(answered(0, 0), CLAUDE).tokens(counted.calibration)

    assert 30_000 + answer == counted.estimate().tokens
