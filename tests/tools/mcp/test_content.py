"""An answer of a server becomes blocks that a request can hold, whatever it is."""

import base64
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import Block, Image, Json, Text, encode_json, text_of
from perdure.tools.mcp.content import PICTURE, PICTURES, TEXT, blocks_of

PIXEL = base64.b64encode(b"\x89PNG made up").decode()


def texts(*content: Json) -> list[str]:
    return [block.text if isinstance(block, Text) else type(block).__name__ for block in blocks(*content)]


def blocks(*content: Json) -> tuple[Block, ...]:
    return blocks_of({"content": list(content)})


def test_each_kind_of_content_is_shown_as_what_it_is_or_named() -> None:
    assert [
        "3 EUR",
        "Image",
        "[a sound of some 3 bytes, which cannot be heard here]",
        "[resource file:///a.txt]\nHello",
        "[resource file:///b.bin: application/pdf, some 3 bytes]",
        "[resource file:///c: The rest]",
        "[a piece of a kind that cannot be shown]",
    ] == texts(
        {"type": "text", "text": "3 EUR"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Hello"}},
        {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAAA", "mimeType": "application/pdf"}},
        {"type": "resource_link", "uri": "file:///c", "name": "c", "description": "The\trest".replace("\t", " ")},
        {"type": "hologram"},
    )


def test_a_picture_that_no_provider_would_take_is_named_instead() -> None:
    assert [
        "[a picture of the kind 'image/tiff', which cannot be shown]",
        "[a picture whose data is damaged]",
        f"[a picture of some {(PICTURE + 4) * 3 // 4:,} bytes, too large to be shown]",
    ] == texts(
        {"type": "image", "data": PIXEL, "mimeType": "image/tiff"},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "image", "data": "A" * (PICTURE + 4), "mimeType": "image/png"},
    )


def test_of_many_pictures_the_first_ones_are_shown() -> None:
    many: list[Json] = [{"type": "image", "data": PIXEL, "mimeType": "image/png"}] * (PICTURES + 3)

    assert PICTURES == sum(isinstance(block, Image) for block in blocks(*many))


def test_a_giant_text_keeps_its_ends_and_says_what_is_missing() -> None:
    (block,) = blocks({"type": "text", "text": "a" * TEXT + "z" * TEXT})
    text = cast("Text", block).text

    assert ("a", "z", True) == (text[0], text[-1], f"{TEXT:,} of {2 * TEXT:,} characters left out" in text)
    assert len(text) < TEXT + 200


def test_many_texts_together_have_one_bound() -> None:
    many: list[Json] = [{"type": "text", "text": "a" * TEXT}] * 50

    assert len(text_of(blocks(*many))) < TEXT + 50 * 200


def test_structured_content_is_told_where_there_is_no_text_of_it() -> None:
    result: dict[str, Json] = {"content": [], "structuredContent": {"price": 3, "odd": float("nan")}}

    assert (Text(text='{"price":3,"odd":null}'),) == blocks_of(result)


def test_an_answer_without_anything_says_so() -> None:
    assert ["(no output)"] == texts()


@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=20),
        lambda inner: (
            st.lists(inner, max_size=5)
            | st.dictionaries(st.sampled_from(["type", "text", "resource", "uri", "data", "mimeType", "blob"]), inner)
        ),
        max_leaves=15,
    )
)
def test_whatever_comes_becomes_blocks_that_can_be_encoded(content: Json) -> None:
    for block in blocks_of({"content": content, "structuredContent": content}):
        encode_json(block.text if isinstance(block, Text) else cast("Image", block).source)
