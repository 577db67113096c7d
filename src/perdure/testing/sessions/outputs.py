"""What tools print: logs, test runs, traces, tables, JSON, build logs, pages and pictures.

It knows how such outputs look and about how long each shall be. It must never know why a tool was called. Each output
tells which of its identifiers somebody may need later.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable

from perdure.kernel.messages import Json, encode_json
from perdure.kernel.value import value
from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.project import Project
from perdure.testing.sessions.vocabulary import HOSTS, LIBRARIES, QUALITIES, UNITS, VERBS, WORDS


@value
class Output:
    """What a tool printed."""

    text: str
    showed: tuple[str, ...] = ()
    """Identifiers in it that may matter later."""
    is_error: bool = False


def service_log(dice: Dice, project: Project, size: int) -> Output:
    """Lines of a running service, with a fault somewhere among them."""
    entity, fields = dice.pick(project.domain.entities)
    second = dice.between(0, 80_000)
    lines: list[str] = []
    length = 0
    fault = f"req_{dice.hex(12)}"
    code = f"E{dice.between(1000, 9999)}"
    while length < size or len(lines) < 4:
        second += dice.between(0, 3)
        roll = dice.roll()
        host = HOSTS[roll % len(HOSTS)]
        word = WORDS[(roll >> 8) % len(WORDS)]
        verb = VERBS[(roll >> 16) % len(VERBS)]
        stamp = f"2026-09-21T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{roll >> 54:03d}Z"
        head = f"{stamp} {host} {project.domain.package}.{entity}"
        ending = (
            f"INFO {verb} done {word}={roll >> 40 & 1023} took={roll >> 30 & 511}ms id={roll >> 20 & 0xFFFFF:05x}",
            f"INFO {verb} {fields[roll >> 5 & 3]}={roll >> 33 & 8191} {word} ok",
            f"DEBUG cache {word} hit ratio 0.{roll >> 44 & 99:02d} size={roll >> 12 & 65535}",
            f"WARN {verb} slow: {word} waited {roll >> 28 & 4095}ms for {HOSTS[(roll >> 3) % len(HOSTS)]}",
        )[roll >> 60 & 3]
        lines.append(f"{head} {ending}")
        length += len(lines[-1]) + 1
    spot = dice.below(len(lines))
    lines.insert(
        spot,
        f"2026-09-21T{second // 3600 % 24:02d}:00:07.412Z {dice.pick(HOSTS)} {project.domain.package}.{entity} "
        f"ERROR {dice.pick(VERBS)} failed code={code} request={fault} {dice.pick(fields)}={dice.pick(QUALITIES)}",
    )
    return Output(text="\n".join(lines), showed=(fault, code))


def json_answer(dice: Dice, project: Project, size: int) -> Output:
    """The answer of an API: a page of entities."""
    entity, fields = dice.pick(project.domain.entities)
    items: list[Json] = []
    length = 0
    cursor = f"cur_{dice.hex(16)}"
    names: list[str] = []
    while length < size or not items:
        name = f"{entity[:3]}_{dice.hex(10)}"
        item: dict[str, Json] = {"id": name, "state": dice.pick(QUALITIES)}
        for field in fields:
            item[field] = dice.between(1, 90_000) if dice.chance(0.6) else f"{dice.pick(WORDS)}-{dice.hex(4)}"
        item["history"] = [{"by": dice.pick(HOSTS), "verb": dice.pick(VERBS), "seq": dice.below(400)}]
        items.append(item)
        names.append(name)
        length += 190
    body: Json = {"items": items, "next": cursor, "total": len(items) + dice.below(4000)}
    return Output(text=encode_json(body).decode(), showed=(dice.pick(names), cursor))


def sql_table(dice: Dice, project: Project, size: int) -> Output:
    """Rows as psql prints them."""
    _, fields = dice.pick(project.domain.entities)
    lines = [" id       | " + " | ".join(f"{field:<18}" for field in fields)]
    lines.append("----------+-" + "-+-".join("-" * 18 for _ in fields))
    picked = ""
    rows = max(1, size // (len(lines[0]) + 1))
    for _ in range(rows):
        picked = dice.hex(8)
        lines.append(f" {picked} | " + " | ".join(f"{dice.pick(WORDS) + '-' + dice.hex(3):<18}" for _ in fields))
    lines.append(f"({rows} rows)")
    return Output(text="\n".join(lines), showed=(picked,))


def build_log(dice: Dice, project: Project, size: int) -> Output:
    """A build that went on for long."""
    lines = [f"$ make image  # {project.domain.package}"]
    length = step = 0
    digest = f"sha256:{dice.hex(24)}"
    while length < size:
        step += 1
        roll = dice.roll()
        library = LIBRARIES[roll % len(LIBRARIES)]
        version = f"{roll >> 8 & 7}.{roll >> 12 & 31}.{roll >> 18 & 15}"
        lines.append(
            (
                f"#{step} [deps {roll >> 24 & 63}/64] RUN fetch {library}=={version} ({roll >> 30 & 8191} kB) done",
                f"#{step} compiling {project.domain.package}/{dice.pick(WORDS)}_{roll >> 40 & 255}.o -O2 -Wall",
                f"warning: {library}@{version}: `{VERBS[(roll >> 16) % len(VERBS)]}` is deprecated, use "
                f"{dice.pick(WORDS)}",
                f"#{step} extracting layer {roll >> 20 & 0xFFFFFFFF:08x} {roll >> 50 & 999}.{roll >> 47 & 9}MB / 1.2GB",
            )[roll >> 61 & 3]
        )
        length += len(lines[-1]) + 1
    lines.append(f"exporting image {digest} done after {dice.between(40, 900)}.{dice.below(10)}s")
    return Output(text="\n".join(lines), showed=(digest,))


def passing_tests(dice: Dice, project: Project, size: int) -> Output:
    """A run of tests in which all pass."""
    lines: list[str] = []
    total = 0
    for path in dice.some(project.tests(), max(1, size // 90)):
        count = sum(line.startswith("def test_") for line in project.lines(path))
        total += count
        lines.append(f"{path} {'.' * count:<40} [{min(100, total):3d}%]")
    lines.append(f"============ {total} passed in {dice.between(1, 80)}.{dice.below(100):02d}s ============")
    return Output(text="\n".join(lines))


def failing_tests(dice: Dice, project: Project, size: int) -> Output:
    """A run of tests with failures, as pytest reports them."""
    lines = ["=================================== FAILURES ==================================="]
    names: list[str] = []
    length = 0
    while length < size or not names:
        path = dice.pick(project.tests())
        source = project.lines(path)
        places = [index for index, line in enumerate(source) if line.startswith("def test_")]
        if not places:
            continue
        place = dice.pick(places)
        name = source[place].removeprefix("def ").split("(")[0]
        body = source[place : place + dice.between(4, 8)]
        got = dice.between(0, 9000)
        failure = [f"_______ {name} _______", "", *(f"    {line}" for line in body)]
        failure.append(f"E       AssertionError: assert {got} == {got + dice.between(1, 60)}")
        failure += ["", f"{path}:{place + len(body)}: AssertionError", "----- Captured log call -----"]
        failure.append(
            f"WARNING  {project.domain.package}:{dice.pick(WORDS)}.py:{dice.between(20, 300)} code=E{got % 9000 + 1000}"
        )
        names.append(f"{path}::{name}")
        lines += failure
        length += sum(map(len, failure))
    lines.append("=========================== short test summary info ============================")
    lines += [f"FAILED {name} - AssertionError" for name in names]
    lines.append(
        f"========== {len(names)} failed, {dice.between(30, 400)} passed in {dice.between(2, 90)}.31s =========="
    )
    return Output(text="\n".join(lines), showed=(names[0], names[0].split("::")[1]), is_error=True)


def stack_trace(dice: Dice, project: Project, size: int) -> Output:
    """A trace through the project's own functions."""
    lines = ["Traceback (most recent call last):"]
    length = 0
    paths = [path for path in project.sources() if path.endswith(".py")]
    while length < size or len(lines) < 5:
        path = dice.pick(paths)
        source = project.lines(path)
        place = dice.below(len(source))
        name = next((line for line in reversed(source[: place + 1]) if line.lstrip().startswith("def ")), "def main(")
        frame = f'  File "/srv/{path}", line {place + 1}, in {name.strip().removeprefix("def ").split("(")[0]}'
        lines += [frame, f"    {source[place].strip() or 'pass'}"]
        length += len(frame) + len(lines[-1])
    code = f"E{dice.between(1000, 9999)}"
    lines.append(
        f"{project.domain.package}.errors.Conflict: {code}: {dice.pick(WORDS)} {dice.hex(6)} is {dice.pick(QUALITIES)}"
    )
    return Output(text="\n".join(lines), showed=(code,), is_error=True)


def web_page(dice: Dice, project: Project, size: int) -> Output:
    """The documentation of an invented library, as a fetch tool returns it."""
    library = dice.pick(LIBRARIES)
    lines = [f"# {library} {dice.between(1, 6)}.{dice.below(20)}: reference", ""]
    length = 0
    option = ""
    while length < size or not option:
        word, (unit, low, high) = dice.pick(WORDS), dice.pick(UNITS)
        option = f"{library}_{word}_{unit.lower()}"
        verb, quality, other = dice.pick(VERBS), dice.pick(QUALITIES), dice.pick(WORDS)
        lines += [
            f"## `{option}`",
            "",
            f"How long a {quality} {word} may wait before {library} will {verb} it. The default is "
            f"{dice.between(low, high)}; "
            f"values above {high} are refused with `{word.capitalize()}OutOfRange`. It is read once at start.",
            "",
            f"Set it together with `{other}`: a {other} that is {dice.pick(QUALITIES)} is never asked to "
            f"{dice.pick(VERBS)}, "
            f"so a low value costs one more round trip to {dice.pick(HOSTS)} for each {word}.",
            "",
        ]
        length += 420
    return Output(text="\n".join(lines), showed=(option, library))


LONG: tuple[Callable[[Dice, Project, int], Output], ...] = (service_log, build_log, json_answer, sql_table)
"""What becomes huge."""


def png(dice: Dice, width: int, height: int) -> str:
    """A picture of bars, black on white, as base64. Its data is stored and not compressed, so that no library changes
    it."""
    rows = bytearray()
    bars = [dice.between(1, height) for _ in range(width // 8)]
    for y in range(height):
        rows.append(0)
        rows += bytes(0 if height - y <= bar else 255 for bar in bars)
    data = bytearray(b"\x78\x01")
    for start in range(0, len(rows), 65_535):
        part = rows[start : start + 65_535]
        data += struct.pack("<BHH", start + 65_535 >= len(rows), len(part), len(part) ^ 0xFFFF) + part
    data += struct.pack(">I", zlib.adler32(rows))
    header = struct.pack(">IIBBBBB", len(bars) * 8, height, 1, 0, 0, 0, 0)
    picture = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", bytes(data)) + _chunk(b"IEND", b"")
    return base64.b64encode(picture).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
