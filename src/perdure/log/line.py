"""One line of a session log: its bytes, what they say, and the check that they are what was written.

It knows the frame of a line. It must never know what an entry means, nor open a file.

    {"format":"perdure-session","version":1,"session":"s1","created":1790000000.0}
    {"id":1,"parent":null,"kind":"started","time":1790000000.0,"crc":"0f1e2d3c","payload":{...}}

`id`, `parent`, `kind`, `time` and `crc` come first and in this order, so that a log is opened without decoding what its
entries hold. `crc` is the CRC-32 of the line without itself: a line that was changed on the disk is never taken for one
that was written.
"""

from __future__ import annotations

from zlib import crc32

from perdure.kernel.errors import InvalidJson, LogTooNew
from perdure.kernel.messages import Json, JsonObject, decode_object, encode_json
from perdure.kernel.messages.fields import Fields
from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value

FORMAT = "perdure-session"
VERSION = 1
"""The version that is written. Every version up to it is read."""

_HEAD = pattern(
    rb'\{"id":([1-9]\d{0,15}),"parent":(null|[1-9]\d{0,15}),"kind":"([a-z_]{1,40})","time":(-?[\d.e+-]{1,30}),'
    rb'"crc":"([0-9a-f]{8})","payload":(?=\{)'
)
_KIND = pattern(r"[a-z_]{1,40}")


@value
class Origin:
    """Where a forked session comes from."""

    session: str
    entry: int
    """The last entry that both share."""


@value
class Header:
    """The first line of a log."""

    session: str
    """The name of the session."""
    created: float
    """Seconds since 1970."""
    version: int = VERSION
    origin: Origin | None = None
    """None for a session that is no fork."""


@value
class Entry:
    """One entry, as the file holds it."""

    id: int
    """Unique in its file; entries are numbered in the order in which they were written."""
    parent: int | None
    """The entry that it follows: None for the first of a session."""
    kind: str
    time: float
    """Seconds since 1970, by the writer's clock, which may have gone back. Order is that of the file."""
    payload: JsonObject


@record(frozen=True)
class Head:
    """What a line says before its payload."""

    id: int
    parent: int | None
    kind: str
    time: float
    size: int
    """Bytes before the payload."""


def line_of(entry: Entry) -> bytes:
    """The line of an entry, its end included.

    Raises:
        InvalidJson: it holds what has no JSON form, or its kind is no name.
    """
    if not _KIND.fullmatch(entry.kind):
        raise InvalidJson(f"{entry.kind!r} is no kind of entry: up to 40 lower-case letters and underscores are")
    parent = b"null" if entry.parent is None else b"%d" % entry.parent
    opening = b'{"id":%d,"parent":%b,"kind":"%b","time":%b,' % (
        entry.id,
        parent,
        entry.kind.encode(),
        encode_json(float(entry.time)),
    )
    payload = b'"payload":%b}' % encode_json(entry.payload)
    return b'%b"crc":"%08x",%b\n' % (opening, crc32(payload, crc32(opening)), payload)


def head_of(line: bytes) -> Head | None:
    """What a line without its end says; None where it is not what was written."""
    found = _HEAD.match(line)
    if found is None:
        return None
    crc = found.start(5)
    whole = memoryview(line)
    if crc32(whole[crc + 10 :], crc32(whole[: crc - 7])) != int(found[5], 16):
        return None
    parent = None if found[2] == b"null" else int(found[2])
    return Head(int(found[1]), parent, found[3].decode(), float(found[4]), found.end())


def payload_of(line: bytes, head: Head) -> JsonObject:
    """The payload of a line whose head is known to be right."""
    return decode_object(line[head.size : -1])


def header_line(header: Header) -> bytes:
    """The first line of a log, its end included."""
    told: JsonObject = {
        "format": FORMAT,
        "version": header.version,
        "session": header.session,
        "created": float(header.created),
    }
    if header.origin is not None:
        told["origin"] = {"session": header.origin.session, "entry": header.origin.entry}
    return encode_json(told) + b"\n"


def is_header(value: Json) -> bool:
    """Whether a decoded line opens a session log of any version."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def header_of(line: bytes) -> Header | None:
    """What the first line says; None where it is none.

    Raises:
        LogTooNew: a newer version wrote it.
    """
    try:
        value = decode_object(line)
        if not is_header(value):
            return None
        fields = Fields(value, "the first line")
        version = known_version(value)
        created = fields.time("created")
        return Header(
            session=fields.text("session"),
            created=0.0 if created is None else created,
            version=version,
            origin=_origin(fields.optional_object("origin")),
        )
    except InvalidJson:
        return None


def known_version(header: JsonObject) -> int:
    """The version that a first line tells.

    Raises:
        InvalidJson: it tells none.
        LogTooNew: it is newer than this code.
    """
    version = Fields(header, "the first line").number("version")
    if version > VERSION:
        raise LogTooNew(
            f"the session log is of version {version}, and this Perdure reads up to version {VERSION}; update it"
        )
    return version


def _origin(given: JsonObject | None) -> Origin | None:
    if given is None:
        return None
    fields = Fields(given, "'origin'")
    return Origin(session=fields.text("session"), entry=fields.number("entry"))
