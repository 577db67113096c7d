"""What a file is by its first bytes: pictures that models can see, and names for what is no text.

It knows signatures. It must never decode a picture.
"""

from __future__ import annotations

import re

from perdure.kernel.value import value

_OTHERS = (
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O file"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"PK\x03\x04", "a ZIP archive, or an office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\x00asm", "WebAssembly"),
    (b"BM", "a BMP picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"\x89HDF", "HDF5 data"),
    (b"PAR1", "Parquet data"),
    (b"\x93NUMPY", "a NumPy array"),
)


@value
class Picture:
    """A picture of a kind that models take."""

    media_type: str
    width: int = 0
    """Pixels; 0 where the first bytes do not tell."""
    height: int = 0


def picture_of(start: bytes) -> Picture | None:
    """The picture that begins like this; None where it is none, or of a kind that models do not take."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture(media_type="image/png", width=_big(start[16:20]), height=_big(start[20:24]))
    if start[:6] in (b"GIF87a", b"GIF89a"):
        return Picture(media_type="image/gif", width=_little(start[6:8]), height=_little(start[8:10]))
    if start.startswith(b"\xff\xd8\xff"):
        # A start-of-frame segment: its length, 8 bits, height, width (ITU T.81, B.2.2).
        frame = re.search(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]..\x08(..)(..)", start[2:], re.DOTALL)
        return Picture(
            media_type="image/jpeg", width=_big(frame[2]) if frame else 0, height=_big(frame[1]) if frame else 0
        )
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        extended = start[12:16] == b"VP8X"
        width, height = (_little(start[24:27]) + 1, _little(start[27:30]) + 1) if extended else (0, 0)
        return Picture(media_type="image/webp", width=width, height=height)
    return None


def kind_of_binary(start: bytes) -> str:
    """A few words for data that is no text."""
    return next((name for signature, name in _OTHERS if start.startswith(signature)), "of a format unknown here")


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
