"""Eight processes that edit one file at once lose nothing that was acknowledged.

PERDURE_SECONDS says how long they try: 1 here, 30 in `make reliability`.
"""

import os
import subprocess
import sys
from pathlib import Path

from perdure.memory import FileStore, Principal, parse_path

SECONDS = float(os.environ.get("PERDURE_SECONDS", "1"))
WRITERS = 8

WRITER = """
import sys
from pathlib import Path
from time import monotonic
from perdure.guard import SecretGuard
from perdure.kernel.errors import MemoryChanged
from perdure.memory import Commands, FileStore, Principal, parse_path

root, name, seconds = sys.argv[1:]
ana = Principal(tenant="acme", user="ana")
commands = Commands(store=FileStore(root=Path(root)), principal=ana, guard=SecretGuard())
path = parse_path("/memories/shared.md")
commands.view(path)
print("ready", flush=True)
sys.stdin.readline()
end = monotonic() + float(seconds)
number = refused = 0
while monotonic() < end:
    try:
        if number % 2:
            commands.insert(path, 0, f"{name}-{number}")
        else:
            commands.str_replace(path, "# Log\\n", f"# Log\\n{name}-{number}\\n")
    except MemoryChanged:
        refused += 1
        commands.view(path)
        continue
    number += 1
print(number, refused, flush=True)
"""


def test_no_update_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    store, ana, path = (
        FileStore(root=tmp_path),
        Principal(tenant="acme", user="ana"),
        parse_path("/memories/shared.md"),
    )
    store.write(ana, path, "# Log\n", expected=None)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), f"w{number}", str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert "ready\n" == writer.stdout.readline()
    acknowledged: list[str] = []
    refused = 0
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    told = [writer.communicate(timeout=SECONDS + 60)[0].split() for writer in writers]
    for number, (made, turned_away) in enumerate(told):
        acknowledged += [f"w{number}-{made_before}" for made_before in range(int(made))]
        refused += int(turned_away)
    found = store.read(ana, path)
    assert found is not None
    lines = [line for line in found.text.split("\n") if line.startswith("w")]

    assert sorted(acknowledged) == sorted(lines)
    assert len(lines) >= WRITERS
    assert refused > 0
