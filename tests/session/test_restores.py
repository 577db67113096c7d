"""Which files are told again behind a checkpoint: few, small, those of the work, and none that leads out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.session.stage import Stage

from perdure.guard import SecretGuard
from perdure.kernel.messages import Message, Text, ToolUse, text_of, weigh
from perdure.kernel.models import lookup
from perdure.kernel.tokens import tokens_of
from perdure.session import Session
from perdure.session.restores import ALL, EACH, Again, Ground, files_again
from perdure.tools.seen import Seen, digest_of

PROFILE = lookup("claude-sonnet-4-5")


def measure(messages: Sequence[Message]) -> int:
    return sum(tokens_of(weigh(message), PROFILE) for message in messages)


class Work:
    """A project whose files were seen in order."""

    def __init__(self, top: Path) -> None:
        self.root, self.memory = top / "project", top / "project" / "memory"
        self.memory.mkdir(parents=True)
        self.seen = Seen(lambda: 0.0)

    def file(self, name: str, text: str = "words\n", *, modified: bool = False) -> Path:
        path = self.root / name
        path.write_text(text)
        self.sees(path, modified=modified)
        return path

    def sees(self, path: Path, *, modified: bool = False) -> None:
        digest = digest_of(path.read_bytes())
        if modified:
            self.seen.wrote(path, digest, mtime=0.0, lines=1)
        else:
            self.seen.saw(path, digest, mtime=0.0, lines=1, span=(1, 1))

    def again(self, tail: Sequence[Message] = (), room: int = 100_000) -> Again:
        ground = Ground(
            roots=(self.root,),
            memories=(self.memory,),
            guard=SecretGuard(),
            measure=measure,
            resolve=lambda given: (self.root / given).resolve(),
        )
        return files_again(self.seen, ground, tail, room, "c1")


def told(again: Again) -> list[str]:
    """The names of the files, in order."""
    texts = [text_of(message.content) for message in again.messages]
    return [name for text in texts for name in ("a", "b", "c", "d", "e", "f", "g") if f"/{name}.txt" in text]


def test_modified_files_come_first_then_the_latest_read_five_at_most(tmp_path: Path) -> None:
    work = Work(tmp_path)
    for name in "abcdef":
        work.file(f"{name}.txt", modified=name in "bc")

    assert ["c", "b", "f", "e", "d"] == told(work.again())


def test_a_long_file_is_told_in_part_and_nothing_exceeds_the_room(tmp_path: Path) -> None:
    work = Work(tmp_path)
    long = work.file("a.txt", "a line of words\n" * 20_000)
    work.file("b.txt", "a line of words\n" * 100)
    whole, little = work.again(), work.again(room=1_000)

    assert ["b", "a"] == told(whole)
    assert long not in whole.paths
    assert all(measure((message,)) <= EACH for message in whole.messages)
    assert (["b"], True) == (told(little), measure(little.messages) <= 1_000 <= ALL)


def test_what_the_tail_shows_what_is_binary_secret_or_a_memory_and_what_leads_out_is_left_out(tmp_path: Path) -> None:
    work = Work(tmp_path)
    work.file("a.txt")
    work.file("b.txt", "\0\1\2")
    work.file("c.txt", "token = ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "\n")
    work.file("memory/d.txt")
    work.file("AGENTS.md")
    outside = tmp_path / "e.txt"
    outside.write_text("not of the project\n")
    work.sees(outside)
    moved = work.file("f.txt")
    moved.unlink()
    moved.symlink_to(outside)
    work.file("g.txt")
    call = ToolUse(id="t", name="read", input={"path": "a.txt"})
    tail = [Message(id="m", role="assistant", content=(Text(text="Again."), call), provenance="assistant")]

    assert ["g"] == told(work.again(tail))


def test_behind_a_checkpoint_only_files_that_are_shown_whole_may_be_changed_without_being_read_again(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, window=60_000)
    stage.reader.rounds = 20

    async def play() -> list[bool]:
        session = Session.start(stage.spec(stage.model()))
        short, long, moved = (stage.project / f"{name}.txt" for name in ("short", "long", "moved"))
        for path, text in ((short, "words\n"), (long, "many words\n" * 9_000), (moved, "old\n")):
            path.write_text(text)
            session.seen.saw(path, digest_of(path.read_bytes()), mtime=0.0, lines=1, span=(1, 1))
        # Somebody else changes one after it was read.
        moved.write_text("new\n")
        await session.run("Read on.")
        await session.compact()
        known = [session.seen.sight(path) is not None for path in (short, long, moved)]
        await session.close()
        return known

    assert [True, False, False] == asyncio.run(play())
