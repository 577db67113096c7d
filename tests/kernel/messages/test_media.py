"""Dimensions come from the first bytes of a file, and no file, however hostile, stops the reading."""

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Document, Extra, Image, Json, Media, media_of


def image(data: bytes) -> Image:
    return Image(source={"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()})


def pdf(data: bytes) -> Document:
    source: dict[str, Json] = {"type": "base64", "media_type": "application/pdf"}
    return Document(source=source | {"data": base64.b64encode(data).decode()})


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    checksum = struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + header + checksum + b"\0" * 5_000


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 50


def segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


def jpeg(width: int, height: int, *, before: bytes = b"") -> bytes:
    frame = segment(0xC2, struct.pack(">BHHB", 8, height, width, 3) + b"\0" * 9)
    return b"\xff\xd8" + segment(0xE0, b"JFIF\0") + before + b"\xff" + frame + b"\0" * 50


def webp(chunk: bytes, body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + chunk + struct.pack("<I", 50) + body + b"\0" * 30


LOSSY = webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640 | 0x4000, 480))
LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14))
EXTENDED = webp(b"VP8X", b"\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"))

PICTURES = {
    "png": png(640, 480),
    "gif": gif(640, 480),
    "jpeg": jpeg(640, 480),
    "jpeg behind 200 kB of profiles": jpeg(640, 480, before=segment(0xE2, b"\xff\xc0" * 30_000) * 4),
    "lossy webp": LOSSY,
    "lossless webp": LOSSLESS,
    "extended webp": EXTENDED,
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_the_size_that_its_header_tells(name: str) -> None:
    assert Media(kind="image", width=640, height=480) == media_of(image(PICTURES[name]))


def test_a_data_url_is_read_like_data() -> None:
    url = "data:image/png;base64," + base64.b64encode(png(300, 200)).decode()

    assert Media(kind="image", width=300, height=200) == media_of(Image(source={"type": "url", "url": url}))


def test_a_picture_elsewhere_has_no_size() -> None:
    assert Media(kind="image") == media_of(Image(source={"type": "url", "url": "https://pictures.example/a.png"}))
    assert Media(kind="image") == media_of(Image(source={"type": "file", "file_id": "file_1"}))


def test_the_detail_that_a_client_asked_for_is_kept() -> None:
    extra = Extra(dialect="chat", fields=(("detail", "low"),))

    assert "low" == media_of(Image(source={"type": "url", "url": "https://pictures.example/a.png"}, extra=extra)).detail


@pytest.mark.parametrize("name", PICTURES)
@given(cut=st.integers(min_value=0, max_value=120), noise=st.binary(max_size=40))
def test_a_damaged_header_gives_some_size_and_no_error(name: str, cut: int, noise: bytes) -> None:
    media = media_of(image(PICTURES[name][:cut] + noise))

    assert (media.width == 0) == (media.height == 0)
    assert 0 <= media.width <= 65_535


@given(data=st.text(max_size=200))
def test_data_that_is_no_base64_gives_no_size(data: str) -> None:
    source: dict[str, Json] = {"type": "base64", "data": "é" + data}

    assert Media(kind="image") == media_of(Image(source=source))
    assert Media(kind="document") == media_of(Document(source=source))


def test_segments_without_end_are_left_after_a_hundred() -> None:
    assert Media(kind="image") == media_of(image(b"\xff\xd8" + segment(0xE1, b"") * 100_000))


def test_the_pages_of_a_pdf_are_those_of_its_page_tree() -> None:
    tree = b"%PDF-1.7\n1 0 obj <</Type /Pages /Kids [3 0 R] /Count 12>> endobj\n"
    outline = b"9 0 obj <</Type /Outlines /Count 40>> endobj\n" + b" " * 300
    pages = b"".join(b"%d 0 obj <</Type/Page>> endobj\n" % number for number in range(3, 6))

    assert 12 == media_of(pdf(outline.join((b"%PDF-1.7\n", tree + pages)))).pages


def test_pages_are_counted_where_no_tree_tells() -> None:
    pages = b"".join(b"%d 0 obj <</Type /Page /Parent 1 0 R>> endobj\n" % number for number in range(3, 10))

    assert 7 == media_of(pdf(b"%PDF-1.4\n" + pages)).pages


def test_a_page_tree_at_the_end_of_a_large_file_is_found() -> None:
    filling = b"\0" * 6_000_000

    assert 31 == media_of(pdf(b"%PDF-1.4\n" + filling + b"<</Type /Pages /Count 31>>")).pages


def test_a_pdf_that_claims_millions_of_pages_has_ten_thousand() -> None:
    assert 10_000 == media_of(pdf(b"%PDF-1.4\n<</Type /Pages /Count 9999999>>")).pages


def test_a_document_that_is_no_pdf_has_no_pages() -> None:
    assert 0 == media_of(pdf(b"PK\x03\x04 /Type /Page")).pages
