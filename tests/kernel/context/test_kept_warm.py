"""What is known to be warm is not cleared as if the cache were cold."""

import pytest

from perdure.kernel.context import Engine, InMemory, drive
from perdure.kernel.messages import Transcript
from perdure.kernel.models import lookup
from perdure.testing.sessions import Scenario, generate

SESSION = generate(5, Scenario(requests=40, turns=4, tokens=50_000))
LAST = next(message.time for message in reversed(SESSION.transcript) if message.time is not None)
AWAY = 1_500.0


@pytest.mark.parametrize(("kept_until", "clears"), [(None, True), (LAST + AWAY - 1, True), (LAST + AWAY + 60, False)])
def test_a_pause_clears_only_what_has_gone_cold(kept_until: float | None, clears: bool) -> None:
    engine = Engine(lookup("claude-sonnet-4-5"))
    transcript = Transcript(message.counted(None) for message in SESSION.transcript)
    engine.kept_warm(kept_until)
    projection = drive(engine.project(transcript, LAST + AWAY), InMemory())

    assert clears == ("cold" in {edit.reason.why for edit in projection.edits})
