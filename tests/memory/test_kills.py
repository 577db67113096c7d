"""A writer that is killed at any moment leaves a store that can be read, with all that it acknowledged.

PERDURE_STORE_KILLS says how often: 5 here, 300 in `make reliability`.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

from perdure.memory import FileStore, Principal, parse_path

KILLS = int(os.environ.get("PERDURE_STORE_KILLS", "5"))
ANA = Principal(tenant="acme", user="ana")

WRITER = """
import sys
from pathlib import Path
from perdure.memory import FileStore, Principal, parse_path

store = FileStore(root=Path(sys.argv[1]))
ana = Principal(tenant="acme", user="ana")
number = int(sys.argv[2])
print("ready", flush=True)
while True:
    number += 1
    path = parse_path(f"/memories/{number % 3}/notes.md")
    seen = store.read(ana, path)
    store.write(ana, path, f"{number}\\n" * 500, expected=seen.version if seen else None, provenance="tool")
    print("wrote", number, flush=True)
    if number % 5 == 0:
        moved = parse_path(f"/memories/moved/{number}.md")
        store.rename(ana, path, moved)
        store.delete(ana, parse_path("/memories/moved"))
        print("deleted", number, flush=True)
"""


def test_every_kill_leaves_whole_files_and_a_store_that_goes_on(tmp_path: Path) -> None:
    dice = random.Random(11)
    store = FileStore(root=tmp_path)
    last = 0
    for _ in range(KILLS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(last)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        killer = Timer(dice.uniform(0, 0.08), writer.send_signal, (signal.SIGKILL,))
        killer.start()
        # A kill may cut the last line short.
        said = [line.split() for line in writer.stdout.read().split("\n")[:-1]]
        writer.wait(10)
        killer.join()
        writer.stdout.close()
        numbers = [int(number) for verb, number in said if verb == "wrote"]
        last = max([last, *numbers])
        texts = {
            str(entry.path): kept.text
            for entry in store.files(ANA, parse_path("/memories")) or ()
            if (kept := store.read(ANA, entry.path))
        }

        assert [] == [path for path, text in texts.items() if len(set(text.split())) != 1 or len(text.split()) != 500]
        if numbers and last % 5:
            # At the most the write that was not acknowledged yet came after it.
            kept_now = texts.get(f"/memories/{last % 3}/notes.md", "").split()
            assert kept_now[:1] in ([str(last)], [str(last + 3)])
        last += 1
