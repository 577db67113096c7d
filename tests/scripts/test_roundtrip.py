"""The script that takes recorded sessions round finds every format, and fails where something differs."""

import subprocess
import sys
from pathlib import Path

from perdure.kernel.messages import Json, encode_json

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "roundtrip.py"

RESPONSE: Json = {
    "model": "claude",
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "hello"}],
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
SESSION: list[Json] = [
    {"type": "user", "message": {"role": "user", "content": "hi"}},
    {"type": "assistant", "message": RESPONSE},
    {"type": "response_item", "payload": {"type": "reasoning", "summary": [], "encrypted_content": "e"}},
    {"type": "summary", "text": "nothing to see"},
]
CHOICE: Json = {"index": 0, "message": {"role": "assistant", "content": "hello"}}
ANSWER: Json = {"object": "chat.completion", "choices": [CHOICE]}
TRAJECTORY: Json = {
    "info": {},
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "assistant", "content": "hello", "extra": {"response": ANSWER}},
    ],
}
REQUEST: Json = {"model": "claude", "max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "new"}]}]}


def run(*arguments: str) -> tuple[int, dict[str, list[str]], str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return done.returncode, {" ".join(row[:2]): row[2:] for row in rows}, done.stdout + done.stderr


def test_everything_in_a_providers_format_is_found_and_counted(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(b"\n".join(encode_json(line) for line in SESSION))
    (tmp_path / "one.traj.json").write_bytes(encode_json(TRAJECTORY))
    (tmp_path / "requests.jsonl").write_bytes(encode_json(REQUEST) + b"\n")
    status, rows, output = run(str(tmp_path))

    assert 0 == status, output
    assert {
        "anthropic message": ["1", "1", "0", "0"],
        "anthropic request": ["1", "1", "0", "0"],
        "anthropic response": ["1", "1", "0", "0"],
        "chat message": ["2", "2", "0", "0"],
        "chat response": ["1", "1", "0", "0"],
        "responses item": ["1", "1", "0", "0"],
    } == rows


def test_what_cannot_go_round_is_named_and_fails_the_run(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(encode_json({"type": "user", "message": {"role": "user", "content": 5}}))
    status, _, output = run(str(path))

    assert 1 == status
    assert "session.jsonl:1" in output
