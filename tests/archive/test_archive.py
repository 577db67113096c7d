"""Whatever left a view is recalled exactly, by handle or by words, after a restart too; and nothing is kept twice."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from perdure.archive import Archive, carry_over, collect, folder_of, open_archive
from perdure.archive.archive import INDEX
from perdure.kernel.context import (
    Answer,
    Append,
    Done,
    Engine,
    Need,
    Original,
    drive,
    overhead_of,
    render,
)
from perdure.kernel.context import Archive as Keep
from perdure.kernel.context.persist import edit_to_json
from perdure.kernel.errors import ArchiveDamaged, HandleGone
from perdure.kernel.messages import Block, Image, Message, Text, ToolResult, Transcript, encode_json
from perdure.kernel.messages.persist import block_to_json, message_to_json
from perdure.kernel.models import lookup
from perdure.log import SessionLog, Started, create_log, fork_log, open_log, state_of
from perdure.testing.ports import ScriptedPorts
from perdure.testing.sessions import GeneratedSession, Scenario, generate

NOW = 1_790_000_000.0
PICTURE = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})


class Kept(ScriptedPorts):
    """Ports that keep what the engine asks for in a log and an archive, and remember it on their own."""

    def __init__(self, log: SessionLog, archive: Archive) -> None:
        super().__init__(("good",))
        self.log, self.kept = log, archive
        self.evicted: dict[str, Original] = {}

    def perform(self, need: Need) -> Answer:
        match need:
            case Keep(originals=originals):
                for original in originals:
                    self.evicted.setdefault(original.handle, original)
                return self.kept.keep(originals, NOW)
            case Append(edits=edits):
                self.log.append_edits(edits, NOW)
                return super().perform(need)
            case _:
                return super().perform(need)


def result(content: str | tuple[Block, ...], number: int = 1) -> Message:
    block = ToolResult(tool_use_id=f"t{number}", content=content)
    return Message(id=f"m{number}", role="user", content=(block,), provenance="tool")


def original_of(message: Message, handle: str = "h1", what: str = "bash ls") -> Original:
    return Original(handle=handle, message_id=message.id, what=what, tokens=9, content=message.content)


def bytes_of(original: Original) -> bytes:
    return encode_json(
        [[block_to_json(block) for block in original.content], [message_to_json(one) for one in original.messages]]
    )


def recalled(archive: Archive, handle: str) -> bytes:
    found = archive.recall(handle)
    return encode_json(
        [[block_to_json(block) for block in found.content], [message_to_json(one) for one in found.messages]]
    )


def uncounted(session: GeneratedSession) -> Transcript:
    """Without the generated counts, which are those of a session that never folded anything."""
    return Transcript(message.counted(None) for message in session.transcript)


def played(session: GeneratedSession, log: SessionLog, archive: Archive) -> tuple[Engine, Kept]:
    """A session as a host runs it: each message is logged before the engine sees it."""
    profile = lookup("claude-sonnet-4-5")
    engine = Engine(profile, overhead=overhead_of(profile, system=session.system, tools=session.tools))
    ports = Kept(log, archive)
    log.append(Started(system=session.system, tools=session.tools), NOW)
    transcript = Transcript()
    for message in uncounted(session):
        if message.role == "assistant":
            drive(engine.project(transcript, message.time), ports)
        log.append_message(message, message.time or NOW)
        transcript = transcript.append(message)
    return engine, ports


def test_everything_that_left_the_views_of_a_session_of_500_requests_comes_back(tmp_path: Path) -> None:
    session = generate(11, Scenario(requests=500, turns=16, tokens=500_000))
    path = tmp_path / "s.jsonl"
    with create_log(path, "s", NOW) as log, open_archive(log) as archive:
        engine, ports = played(session, log, archive)
        wanted = {handle: bytes_of(original) for handle, original in ports.evicted.items()}
        kinds = {str(edit_to_json(edit)["kind"]) for edit in engine.ledger}

        assert {"reduce_output", "clear_tool_result", "checkpoint"} <= kinds
        assert len(wanted) > 50
        assert wanted == {handle: recalled(archive, handle) for handle in wanted}

    with open_log(path) as log, open_archive(log) as archive:
        state = state_of(log)

        assert wanted == {handle: recalled(archive, handle) for handle in wanted}
        assert [] == list(archive.blobs.names())
        assert (uncounted(session), engine.ledger) == (state.transcript, state.ledger)
        assert render(uncounted(session), engine.ledger).messages == render(state.transcript, state.ledger).messages

    # An index is made of what the log holds, so that it can be made again.
    (folder_of(path) / INDEX).write_bytes(b"no index " * 500)
    with open_log(path) as log, open_archive(log) as archive:
        assert wanted == {handle: recalled(archive, handle) for handle in wanted}


def test_an_original_of_the_log_is_not_stored_twice(tmp_path: Path) -> None:
    message = replace(result("ok"), content=(*result("one").content, *result("two", 2).content))
    second = replace(original_of(message), content=message.content[1:])
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(message, NOW)
        archive.keep([second], NOW)

        assert message.content[1:] == archive.recall("h1").content
        assert [] == list(archive.blobs.names())


def test_an_original_that_the_log_holds_otherwise_is_kept_as_it_was(tmp_path: Path) -> None:
    whole, logged = result("all of it\n" * 500), result("the beginning of it")
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(logged, NOW)
        archive.keep([original_of(whole)], NOW)

    with open_log(tmp_path / "s.jsonl") as log, open_archive(log) as archive:
        assert whole.content == archive.recall("h1").content
        assert [1] == [len(list(archive.blobs.names()))]
        assert logged == archive.recall("m1").messages[0]


def test_without_a_log_the_archive_keeps_everything_itself(tmp_path: Path) -> None:
    messages = (result("first"), result((Text(text="second"), PICTURE), 2))
    fold = Original(handle="h9", message_id="m2", what="messages m1 to m2", tokens=5, messages=messages)
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(messages[0]), fold], NOW)

    with open_archive(None, tmp_path / "a") as archive:
        assert messages[0].content == archive.recall("h1").content
        assert messages == archive.recall("h9").messages
        assert (messages[1],) == archive.recall("m2").messages


def test_the_first_copy_is_the_original(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(result("as it was"))], NOW)
        archive.keep([original_of(result("as it was left"))], NOW)

        assert "as it was" == archive.recall("h1").text


def test_a_handle_that_two_branches_share_recalls_what_this_branch_lost(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        first = log.append_message(result("root", 0), NOW)
        log.append_message(result("left"), NOW)
        archive.keep([original_of(result("left"))], NOW)
        left = log.leaf
        log.go_to(first.id)
        log.append_message(result("right"), NOW)
        archive.keep([original_of(result("right"))], NOW)

        assert "right" == archive.recall("h1").text
        log.go_to(left)
        assert "left" == archive.recall("h1").text


def test_a_fork_recalls_what_its_session_lost_before(tmp_path: Path) -> None:
    session = generate(3, Scenario(requests=60, turns=4, tokens=90_000))
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        _, ports = played(session, log, archive)
        wanted = {handle: bytes_of(original) for handle, original in ports.evicted.items()}
        with fork_log(log, tmp_path / "f.jsonl", "f", NOW) as fork, open_archive(fork) as other:
            assert len(wanted) > 3
            assert wanted == {handle: recalled(other, handle) for handle in wanted}


def test_a_fork_may_be_given_what_only_the_archive_holds(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(result("the beginning"), NOW)
        archive.keep([original_of(result("all of it"))], NOW)
        with fork_log(log, tmp_path / "f.jsonl", "f", NOW) as fork, open_archive(fork) as other:
            carry_over(archive, other)

            assert "all of it" == other.recall("h1").text


def test_text_that_is_no_text_is_kept_as_it_is(tmp_path: Path) -> None:
    broken = replace(original_of(result("cut \ud83d off \0 here")), what="bash \ud83d\0")
    with open_archive(None, tmp_path / "a") as archive:
        assert Done() == archive.keep([broken], NOW)

        assert broken.content == archive.recall("h1").content
        assert ["h1"] == [hit.handle for hit in archive.search("off \ud83d")]
        with pytest.raises(HandleGone):
            archive.recall("\ud83d")


def test_several_threads_keep_and_recall_at_once(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:

        def work(number: int) -> str:
            log.append_message(result(f"output {number}", number), NOW)
            assert archive.keep([original_of(result(f"output {number}", number), f"h{number}")], NOW) == Done()
            return archive.recall(f"h{number}").text

        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(work, range(1, 101)))

        assert [f"output {number}" for number in range(1, 101)] == texts
        assert list(range(1, 101)) == [row.id for row in log.branch()]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("needle", ["h1"]),
        ("NEEDLE thread", ["h1"]),
        ("src/app/needle_case.py", ["h1"]),
        ("重试上限", ["h2"]),
        ("限", ["h2"]),
        ("haystack absent", ["h1", "h2"]),
        ('unlucky "quote" OR -', []),
        ("***", []),
        ("absent", []),
    ],
)
def test_words_find_what_was_evicted(tmp_path: Path, question: str, found: list[str]) -> None:
    one = result("haystack\nin src/app/needle_case.py the needle has a thread\nhaystack", 1)
    two = result("haystack\n把重试上限改成三次\n", 2)
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(one, "h1"), original_of(two, "h2")], NOW)

        assert found == sorted(hit.handle for hit in archive.search(question))


def test_a_hit_shows_the_lines_that_have_the_words(tmp_path: Path) -> None:
    text = "one thing\nanother thing\nthe other thing entirely\n" + "x\n" * 100
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(result(text))], NOW)
        (hit,) = archive.search("other thing")

        assert [(2, "another thing"), (3, "the other thing entirely")] == [
            (line.number, line.text) for line in hit.lines
        ]


def test_words_of_a_folded_message_lead_to_that_message(tmp_path: Path) -> None:
    messages = tuple(result(f"output number {number}", number) for number in range(1, 30))
    fold = Original(handle="h9", message_id="m29", what="messages m1 to m29", tokens=5, messages=messages)
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        for message in messages:
            log.append_message(message, NOW)
        archive.keep([fold], NOW)

        assert ["m17"] == [hit.handle for hit in archive.search("17")]
        assert (messages[16],) == archive.recall("m17").messages


def test_a_name_that_never_was_says_so_once_and_for_all(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive, pytest.raises(HandleGone, match="of no use"):
        archive.recall("h0000000000")


def test_a_changed_blob_is_never_taken_for_the_original(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(result("as it was" * 50))], NOW)
        (path,) = (tmp_path / "a" / "blobs").glob("??/*")
        path.write_bytes(path.read_bytes()[:-3] + b"abc")

        with pytest.raises(ArchiveDamaged, match="damaged"):
            archive.recall("h1")


def test_a_damaged_index_without_a_log_has_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / INDEX).write_bytes(b"no index " * 500)

    with pytest.raises(ArchiveDamaged, match="damaged"):
        open_archive(None, tmp_path / "a")


def test_nobody_else_may_read_an_archive(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(result("secret"))], NOW)
        places = sorted((tmp_path / "a").rglob("*"))
        modes = {stat.S_IMODE(place.stat().st_mode) for place in places}

        assert {0o600, 0o700} == modes


def test_only_what_is_old_is_collected_and_then_says_that_it_is_gone(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        archive.keep([original_of(result("old needle"), "h1")], NOW)
        archive.keep([original_of(result("new needle", 2), "h2")], NOW + 100)
        collected = collect(archive, NOW + 200, before=NOW + 50)

        assert (1, True) == (collected.originals, collected.bytes > 0)
        assert ["h2"] == [hit.handle for hit in archive.search("needle")]
        with pytest.raises(HandleGone, match="will not come back"):
            archive.recall("h1")
        assert "new needle" == archive.recall("h2").text


def test_a_bound_on_size_takes_the_oldest_first(tmp_path: Path) -> None:
    with open_archive(None, tmp_path / "a") as archive:
        for number in range(1, 11):
            text = "".join(chr(97 + (number * place * place) % 26) for place in range(4_000))
            archive.keep([original_of(result(text, number), f"h{number}")], NOW + number)
        sizes = [archive.blobs.size(name) for name in archive.blobs.names()]
        collected = collect(archive, NOW + 99, most=sum(sizes) // 2)

        assert collected.left <= sum(sizes) // 2
        assert [f"h{number}" for number in range(10, collected.originals, -1)] == [
            row.handle for row in archive.newest()
        ]


def test_collecting_takes_nothing_that_the_log_holds(tmp_path: Path) -> None:
    with create_log(tmp_path / "s.jsonl", "s", NOW) as log, open_archive(log) as archive:
        log.append_message(result("in the log"), NOW)
        archive.keep([original_of(result("in the log"))], NOW)
        collected = collect(archive, NOW + 200, before=NOW + 100, most=0)

        assert 0 == collected.originals
        assert "in the log" == archive.recall("h1").text
