"""The count of a weight: near a real tokenizer's on text, exact where providers publish formulas, and additive."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.messages import NOTHING, Extra, Media, Text, Tool, Weight, encode_json, weigh_text
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.tokens import (
    TOOL_PROMPT,
    UNCALIBRATED,
    overhead_tokens,
    text_tokens,
    tokens_of,
    tokens_of_media,
    weigh_overhead,
)
from perdure.testing.doubles.counting import count_text

CLAUDE = lookup("claude-opus-4-6")
CLAUDE_NEW = lookup("claude-opus-5-5")
GPT_TILES = lookup("gpt-4o")
GPT_PATCHES = lookup("gpt-5.4")
GEMINI = lookup("gemini-3-pro")

PROSE = (
    """The harbour was quiet when the last ferry came in. Nobody on the quay looked up from the nets, and the woman who
kept the customs book had long gone home. What the captain carried ashore that evening was later described in four
letters, none of which agree: a crate of oranges, a clock, a child asleep, or nothing at all. The town preferred the
clock. It stood in the window of the bakery for thirty years, always ten minutes slow, and people arranged their lives
around the difference. When the bakery closed, the clock was sold to a dealer from the north who did not know its story.
"""
    * 4
)

CODE = (
    '''
class Ledger:
    """Keeps entries in the order in which they came."""

    def __init__(self, entries: list[Entry] | None = None) -> None:
        self._entries = list(entries or [])
        self._by_id = {entry.id: entry for entry in self._entries}

    def append(self, entry: Entry) -> None:
        if entry.id in self._by_id:
            raise ValueError(f"the entry {entry.id!r} is already in the ledger")
        self._entries.append(entry)
        self._by_id[entry.id] = entry

    def balance(self, account: str, until: float | None = None) -> Decimal:
        """Sum of the account's entries up to a moment, both ends included."""
        total = Decimal(0)
        for entry in self._entries:
            if until is not None and entry.time > until:
                break
            if entry.account == account:
                total += entry.amount if entry.side == "debit" else -entry.amount
        return total
'''
    * 4
)

CHINESE = (
    "请先把配置文件读一遍，再告诉我为什么测试会失败。上次修改之后，登录页面在手机上总是打不开，用户抱怨了好几次。"
    "数据库迁移需要在凌晨执行，执行前必须备份，若出现错误则立即回滚，并在群里通知值班工程师。"
    "新的搜索功能已经完成，但是排序结果不稳定，我们怀疑是缓存没有及时更新，请检查相关的代码和日志。"
) * 6


def orders(first: int) -> str:
    rows = [
        {"id": number, "customer": f"C-{number * 37 % 1000}", "paid": number % 3 == 0, "total": number * 1.25}
        for number in range(first, first + 60)
    ]
    return encode_json([dict(row) for row in rows]).decode()


@pytest.mark.parametrize(
    "text", [PROSE, CODE, CHINESE, PROSE + CHINESE + CODE], ids=["prose", "code", "chinese", "mixed"]
)
def test_the_prior_of_gpt_is_within_15_percent_of_its_tokenizer(text: str) -> None:
    assert pytest.approx(count_text(text), rel=0.15) == tokens_of(weigh_text(text), GPT_TILES)


def test_json_is_within_15_percent_once_some_json_was_counted() -> None:
    calibration = UNCALIBRATED
    for first in (0, 60, 120, 180, 240, 300, 360, 420):
        seen = orders(first)
        calibration = calibration.observe(text_tokens(weigh_text(seen), GPT_TILES), count_text(seen))
    text = orders(480)

    assert pytest.approx(count_text(text), rel=0.15) == tokens_of(weigh_text(text), GPT_TILES, calibration)


@given(narrow=st.integers(min_value=0, max_value=5_000), wide=st.integers(min_value=0, max_value=5_000))
def test_wide_characters_are_told_from_narrow_ones_by_bytes_and_characters_alone(narrow: int, wide: int) -> None:
    weight = replace(weigh_text("x" * narrow + "字" * wide), blocks=0)
    tokenizer = CLAUDE.tokenizer

    expected = narrow / tokenizer.bytes_per_token + wide * tokenizer.tokens_per_wide

    assert pytest.approx(expected, rel=1e-9) == text_tokens(weight, CLAUDE)


@given(text=st.text(max_size=300))
def test_no_text_counts_less_than_nothing(text: str) -> None:
    assert 0 < text_tokens(weigh_text(text), CLAUDE) < 20 + 2 * len(text.encode("utf-8", "surrogatepass"))


@given(texts=st.lists(st.text(max_size=200), max_size=8))
def test_counting_parts_costs_at_most_one_token_each_over_counting_the_whole(texts: list[str]) -> None:
    parts = [weigh_text(text) for text in texts]
    whole = tokens_of(sum(parts, NOTHING), CLAUDE)

    assert whole <= sum(tokens_of(part, CLAUDE) for part in parts) <= whole + len(parts)


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [(1000, 1000, 36 * 36), (28, 28, 1), (29, 28, 2), (4000, 3000, 1534), (8000, 100, 56)],
)
def test_claude_sees_patches_of_28_pixels_after_scaling_down(width: int, height: int, expected: int) -> None:
    actual = tokens_of_media(Media(kind="image", width=width, height=height), CLAUDE)

    assert pytest.approx(expected, rel=0.03) == actual
    assert actual <= 1_568


def test_newer_claude_models_see_larger_pictures() -> None:
    large = Media(kind="image", width=3000, height=2000)

    assert 1_568 >= tokens_of_media(large, CLAUDE)
    assert 4_500 < tokens_of_media(large, CLAUDE_NEW) <= 4_784


@pytest.mark.parametrize(
    ("width", "height", "detail", "expected"),
    [(1024, 1024, "high", 765), (2048, 4096, "high", 1105), (4096, 8192, "low", 85), (512, 512, "", 255)],
)
def test_gpt_with_tiles_counts_as_its_guide_does(width: int, height: int, detail: str, expected: int) -> None:
    assert expected == tokens_of_media(Media(kind="image", width=width, height=height, detail=detail), GPT_TILES)


def test_gpt_with_patches_pays_by_the_patch_up_to_its_limit() -> None:
    rules = GPT_PATCHES.tokenizer.image
    small = Media(kind="image", width=320, height=320)

    assert round(100 * rules.per_unit) == tokens_of_media(small, GPT_PATCHES)
    assert rules.cap >= tokens_of_media(Media(kind="image", width=9_000, height=9_000), GPT_PATCHES) > 0.9 * rules.cap


def test_low_detail_never_costs_more_patches_than_512_pixels_have() -> None:
    low = Media(kind="image", width=9_000, height=9_000, detail="low")

    assert round(256 * GPT_PATCHES.tokenizer.image.per_unit) + 1 >= tokens_of_media(low, GPT_PATCHES)


@pytest.mark.parametrize(("width", "height", "expected"), [(384, 384, 258), (960, 540, 516), (1536, 1536, 4 * 258)])
def test_gemini_pays_by_the_tile(width: int, height: int, expected: int) -> None:
    assert expected == tokens_of_media(Media(kind="image", width=width, height=height), GEMINI)


@pytest.mark.parametrize("profile", [CLAUDE, CLAUDE_NEW, GPT_TILES, GPT_PATCHES, GEMINI, lookup("qwen3-coder")])
@given(width=st.integers(min_value=0, max_value=65_535), height=st.integers(min_value=0, max_value=65_535))
def test_every_picture_costs_something_and_never_more_than_the_cap(
    profile: ModelProfile, width: int, height: int
) -> None:
    assert 0 < tokens_of_media(Media(kind="image", width=width, height=height), profile) <= profile.tokenizer.image.cap


def test_a_page_costs_claude_what_the_guide_says() -> None:
    one = tokens_of_media(Media(kind="document", pages=1), CLAUDE)

    assert 1_500 <= one <= 3_000
    assert 12 * one == tokens_of_media(Media(kind="document", pages=12), CLAUDE)


def test_a_document_of_unknown_length_is_taken_for_five_pages() -> None:
    assert 5 * tokens_of_media(Media(kind="document", pages=1), CLAUDE) == tokens_of_media(
        Media(kind="document"), CLAUDE
    )


def test_pictures_are_not_scaled_by_what_was_learnt_from_text() -> None:
    calibration = UNCALIBRATED.observe(10_000, 20_000)
    picture = Weight(media=(Media(kind="image", width=1000, height=1000),))

    assert tokens_of(picture, CLAUDE) == tokens_of(picture, CLAUDE, calibration)


TOOLS = (
    Tool(name="read", description="Reads a file.", schema={"type": "object"}),
    Tool(name="grep", schema={}, extra=Extra(dialect="anthropic", fields=(("defer_loading", True),))),
)


def test_the_fixed_overhead_is_tools_and_system_and_the_providers_own_prompt() -> None:
    system = (Text(text="You are a coding agent."),)

    expected = tokens_of(weigh_overhead(TOOLS[:1], system), CLAUDE) + TOOL_PROMPT

    assert expected == overhead_tokens(TOOLS, system, CLAUDE)


def test_without_tools_the_provider_adds_no_prompt() -> None:
    system = (Text(text="You are a coding agent."),)

    assert tokens_of(weigh_text(system[0].text), CLAUDE) == overhead_tokens((), system, CLAUDE)
