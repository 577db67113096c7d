"""The synchronous and the asynchronous driver."""

import asyncio

from perdure.kernel.context import Answer, Engine, Need, drive, drive_async, with_window
from perdure.kernel.models import lookup
from perdure.testing.ports import ScriptedPorts
from perdure.testing.talk import Talk

PROFILE = with_window(lookup("claude-sonnet-4-6"), 32_000)


class Awaited:
    """The same ports, awaited."""

    def __init__(self, ports: ScriptedPorts) -> None:
        self.ports = ports

    async def perform(self, need: Need) -> Answer:
        return self.ports.perform(need)


def test_both_drivers_give_the_same_view() -> None:
    talk = Talk().typed("go on").rounds(40, 3_000)
    one, other = Engine(PROFILE), Engine(PROFILE)

    waited = drive(one.compact(talk.transcript, "", None), ScriptedPorts())
    awaited = asyncio.run(drive_async(other.compact(talk.transcript, "", None), Awaited(ScriptedPorts())))

    assert waited.messages == awaited.messages
    assert one.ledger == other.ledger


def test_archive_comes_before_log_and_log_before_the_host_is_told() -> None:
    talk = Talk().typed("go on").rounds(40, 3_000)
    ports = Recorded()

    drive(Engine(PROFILE).compact(talk.transcript, "", None), ports)

    assert ["Summarize", "Restore", "Archive", "Append", "Rewritten"] == ports.needs


class Recorded(ScriptedPorts):
    """Ports that remember what they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.needs: list[str] = []

    def perform(self, need: Need) -> Answer:
        self.needs.append(type(need).__name__)
        return super().perform(need)
