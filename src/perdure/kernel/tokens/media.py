"""What a picture or a document costs, in tokens, by the formula of the model's provider.

It knows the published formulas. It must never know a file format: `Media` says what was read from one.
Sources: Anthropic, vision and PDF guides (2026-10); OpenAI, images and vision guide (2026-11); Google, token guide
(2026-11).
"""

from __future__ import annotations

from math import ceil, sqrt

from perdure.kernel.messages import Media
from perdure.kernel.models import ImageRules, ModelProfile

UNKNOWN_IMAGE = (1440, 900)
"""Pixels assumed of a picture whose header does not tell: a screenshot, which is what coding agents look at."""

UNKNOWN_PAGES = 5
"""Pages assumed of a document whose data does not tell."""

PAGE_TEXT = 1_200
"""Tokens of the text of one page, beside its picture. Anthropic: 1,500 to 3,000 tokens per page in all."""

PAGE_IMAGE = (935, 1_210)
"""Pixels of the picture that a provider makes of a page."""


def tokens_of_media(media: Media, profile: ModelProfile) -> int:
    """Tokens of one picture or document for this model."""
    rules = profile.tokenizer.image
    if media.kind == "image":
        return _image(media.width, media.height, media.detail, rules)
    text = 0 if profile.family == "gemini" else PAGE_TEXT
    return (media.pages or UNKNOWN_PAGES) * (text + _image(*PAGE_IMAGE, "", rules))


def _image(width: int, height: int, detail: str, rules: ImageRules) -> int:
    if not width or not height:
        width, height = UNKNOWN_IMAGE
    units = 0 if rules.per_unit == 0 else _units(width, height, detail, rules)
    return min(rules.cap, ceil(rules.base + rules.per_unit * units))


def _units(width: int, height: int, detail: str, rules: ImageRules) -> int:
    match rules.formula:
        case "patches_28":
            return _patches(width, height, 28, rules)
        case "patches_32":
            # At low detail the model sees 512 pixels at most.
            return _patches(*(_within(width, height, 512) if detail == "low" else (width, height)), 32, rules)
        case "tiles_512":
            return 0 if detail == "low" else _openai_tiles(width, height)
        case "tiles_768":
            return 1 if max(width, height) <= 384 else ceil(width / 768) * ceil(height / 768)
        case "flat":
            return 1


def _patches(width: float, height: float, edge: int, rules: ImageRules) -> int:
    """Patches that cover a picture after it was scaled down to the longest edge and the most patches allowed."""
    most = rules.cap / rules.per_unit
    scale = min(1.0, rules.long_edge / max(width, height), edge * sqrt(most / (width * height)))
    return min(int(most), ceil(width * scale / edge) * ceil(height * scale / edge))


def _openai_tiles(width: int, height: int) -> int:
    """Tiles of 512 pixels after the picture was fitted into 2,048 by 2,048, and then its short side into 768."""
    fitted = _within(width, height, 2_048)
    scale = min(1.0, 768 / min(fitted))
    return ceil(fitted[0] * scale / 512) * ceil(fitted[1] * scale / 512)


def _within(width: float, height: float, edge: int) -> tuple[float, float]:
    scale = min(1.0, edge / max(width, height))
    return width * scale, height * scale
