"""Recorded sessions of others are replayed from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.cli import main
from perdure.kernel.messages import Json, encode_json


def test_a_name_in_a_recording_neither_steers_the_terminal_nor_ends_the_replay(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    thread: dict[str, Json] = {"isSidechain": True, "agentId": "\x1b[31mred\nnew \ud800"}
    said: list[Json] = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "Go"}, **thread},
        {"type": "assistant", "uuid": "a", "parentUuid": "u", "message": {"content": "Done."}, **thread},
    ]
    path = tmp_path / "a\x1b]0;title\x07.jsonl"
    path.write_bytes(b"\n".join(map(encode_json, said)))

    code = main(["replay", str(path)])

    out = capfdbinary.readouterr().out.decode()
    assert (0, False) == (code, "\x1b" in out)
    assert r"a\x1b]0;title\x07.jsonl#agent-\x1b[31mred\nnew \ud800  (claude-code" in out
