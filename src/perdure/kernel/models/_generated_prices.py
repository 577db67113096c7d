"""Prices of the models in `table`, in USD per million tokens. Generated: do not edit.

Source: genai-prices 0.2.3, prices of 2026-11-30. Command: python scripts/prices.py 2026-11-30
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.models.profile import Prices, PriceTier

VERSION = "0.2.3"
"""Of the package `genai-prices`."""

DATE = "2026-11-30"
"""The day whose prices these are (ISO)."""

# fmt: off
PRICES: Mapping[str, Prices] = {
    "claude-3-opus": Prices(input=15.0, output=75.0, cache_read=1.5, cache_write=18.75, cache_write_long=30.0),
    "claude-3-5-sonnet": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0),
    "claude-3-5-haiku": Prices(input=0.8, output=4.0, cache_read=0.08, cache_write=1.0, cache_write_long=1.6),
    "claude-3-7-sonnet": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0),
    "claude-opus-4": Prices(input=15.0, output=75.0, cache_read=1.5, cache_write=18.75, cache_write_long=30.0),
    "claude-opus-4-1": Prices(input=15.0, output=75.0, cache_read=1.5, cache_write=18.75, cache_write_long=30.0),
    "claude-sonnet-4": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0),
    "claude-sonnet-4-5": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0, above=(
        PriceTier(start=200000, prices=Prices(
            input=6.0, output=22.5, cache_read=0.6, cache_write=7.5, cache_write_long=12.0)),
    )),
    "claude-haiku-4-5": Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, cache_write_long=2.0),
    "claude-opus-4-5": Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, cache_write_long=10.0),
    "claude-opus-4-6": Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, cache_write_long=10.0),
    "claude-sonnet-4-6": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0),
    "claude-opus-4-7": Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, cache_write_long=10.0),
    "claude-opus-4-8": Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, cache_write_long=10.0),
    "claude-sonnet-5": Prices(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5, cache_write_long=4.0),
    "claude-opus-5": Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25, cache_write_long=10.0),
    "claude-fable-5": Prices(input=10.0, output=50.0, cache_read=1.0, cache_write=12.5, cache_write_long=20.0),
    "claude-fable-5-1": Prices(input=10.0, output=50.0, cache_read=0.25, cache_write=12.5, cache_write_long=20.0),
    "claude-opus-5-5": Prices(input=4.0, output=20.0, cache_read=0.2, cache_write=5.0, cache_write_long=8.0),
    "claude-sonnet-5-5": Prices(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5, cache_write_long=4.0),
    "claude-haiku-5-5": Prices(input=0.1, output=0.5, cache_read=0.01, cache_write=0.125, cache_write_long=0.2, above=(
        PriceTier(start=100000, prices=Prices(
            input=0.5, output=2.5, cache_read=0.05, cache_write=0.625, cache_write_long=1.0)),
    )),
    "claude-fable-5-2": Prices(input=8.0, output=40.0, cache_read=0.2, cache_write=10.0, cache_write_long=16.0),
    "claude-mythos-5-2": Prices(input=8.0, output=40.0, cache_read=0.2, cache_write=10.0, cache_write_long=16.0),
    "gpt-4o": Prices(input=2.5, output=10.0, cache_read=1.25, cache_write=2.5),
    "gpt-4o-mini": Prices(input=0.15, output=0.6, cache_read=0.075, cache_write=0.15),
    "gpt-4.1": Prices(input=2.0, output=8.0, cache_read=0.5, cache_write=2.0),
    "gpt-4.1-mini": Prices(input=0.4, output=1.6, cache_read=0.1, cache_write=0.4),
    "gpt-4.1-nano": Prices(input=0.1, output=0.4, cache_read=0.025, cache_write=0.1),
    "o3": Prices(input=2.0, output=8.0, cache_read=0.5, cache_write=2.0),
    "o4-mini": Prices(input=1.1, output=4.4, cache_read=0.275, cache_write=1.1),
    "codex-mini": Prices(input=1.5, output=6.0, cache_read=0.375, cache_write=1.5),
    "gpt-5": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5-chat": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5-codex": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5-mini": Prices(input=0.25, output=2.0, cache_read=0.025, cache_write=0.25),
    "gpt-5-nano": Prices(input=0.05, output=0.4, cache_read=0.005, cache_write=0.05),
    "gpt-5-pro": Prices(input=15.0, output=120.0, cache_read=15.0, cache_write=15.0),
    "gpt-5.1": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5.1-chat": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5.1-codex": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5.1-codex-max": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25),
    "gpt-5.1-codex-mini": Prices(input=0.25, output=2.0, cache_read=0.025, cache_write=0.25),
    "gpt-5.2": Prices(input=1.75, output=14.0, cache_read=0.175, cache_write=1.75),
    "gpt-5.2-chat": Prices(input=1.75, output=14.0, cache_read=0.175, cache_write=1.75),
    "gpt-5.2-codex": Prices(input=1.75, output=14.0, cache_read=0.175, cache_write=1.75),
    "gpt-5.2-pro": Prices(input=21.0, output=168.0, cache_read=21.0, cache_write=21.0),
    "gpt-5.3-chat": Prices(input=1.75, output=14.0, cache_read=0.175, cache_write=1.75),
    "gpt-5.3-codex": Prices(input=1.75, output=14.0, cache_read=0.175, cache_write=1.75),
    "gpt-5.4": Prices(input=2.5, output=15.0, cache_read=0.25, cache_write=2.5, above=(
        PriceTier(start=272000, prices=Prices(
            input=5.0, output=22.5, cache_read=0.5, cache_write=5.0)),
    )),
    "gpt-5.4-mini": Prices(input=0.75, output=4.5, cache_read=0.075, cache_write=0.75),
    "gpt-5.4-nano": Prices(input=0.2, output=1.25, cache_read=0.02, cache_write=0.2),
    "gpt-5.4-pro": Prices(input=30.0, output=180.0, cache_read=30.0, cache_write=30.0, above=(
        PriceTier(start=272000, prices=Prices(
            input=60.0, output=270.0, cache_read=60.0, cache_write=60.0)),
    )),
    "gpt-5.5": Prices(input=5.0, output=30.0, cache_read=0.5, cache_write=5.0, above=(
        PriceTier(start=272000, prices=Prices(
            input=10.0, output=45.0, cache_read=1.0, cache_write=10.0)),
    )),
    "gpt-5.5-pro": Prices(input=30.0, output=180.0, cache_read=30.0, cache_write=30.0, above=(
        PriceTier(start=272000, prices=Prices(
            input=60.0, output=270.0, cache_read=60.0, cache_write=60.0)),
    )),
    "gpt-5.6-sol": Prices(input=4.0, output=20.0, cache_read=0.4, cache_write=5.0, above=(
        PriceTier(start=272000, prices=Prices(
            input=8.0, output=30.0, cache_read=0.8, cache_write=10.0)),
    )),
    "gpt-5.6-terra": Prices(input=2.0, output=12.0, cache_read=0.2, cache_write=2.5, above=(
        PriceTier(start=272000, prices=Prices(
            input=4.0, output=18.0, cache_read=0.4, cache_write=5.0)),
    )),
    "gpt-5.6-luna": Prices(input=0.2, output=1.2, cache_read=0.02, cache_write=0.25, above=(
        PriceTier(start=272000, prices=Prices(
            input=0.4, output=1.8, cache_read=0.04, cache_write=0.5)),
    )),
    "gpt-6-astra": Prices(input=10.0, output=50.0, cache_read=1.0, cache_write=12.5, above=(
        PriceTier(start=272000, prices=Prices(
            input=20.0, output=75.0, cache_read=2.0, cache_write=25.0)),
    )),
    "gpt-6-sol": Prices(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5, above=(
        PriceTier(start=272000, prices=Prices(
            input=4.0, output=15.0, cache_read=0.4, cache_write=5.0)),
    )),
    "gpt-6-luna": Prices(input=0.1, output=0.5, cache_read=0.01, cache_write=0.125, above=(
        PriceTier(start=272000, prices=Prices(
            input=0.2, output=0.75, cache_read=0.02, cache_write=0.25)),
    )),
    "gpt-6.1-sol": Prices(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5, above=(
        PriceTier(start=272000, prices=Prices(
            input=4.0, output=15.0, cache_read=0.2, cache_write=5.0)),
    )),
    "gpt-6.1-terra": Prices(input=1.0, output=5.0, cache_read=0.05, cache_write=1.25, above=(
        PriceTier(start=272000, prices=Prices(
            input=2.0, output=7.5, cache_read=0.1, cache_write=2.5)),
    )),
    "gemini-2.5-pro": Prices(input=1.25, output=10.0, cache_read=0.125, cache_write=1.25, above=(
        PriceTier(start=200000, prices=Prices(
            input=2.5, output=15.0, cache_read=0.25, cache_write=2.5)),
    )),
    "gemini-2.5-flash": Prices(input=0.3, output=2.5, cache_read=0.03, cache_write=0.3),
    "gemini-2.5-flash-lite": Prices(input=0.1, output=0.4, cache_read=0.01, cache_write=0.1),
    "gemini-3-pro": Prices(input=2.0, output=12.0, cache_read=0.2, cache_write=2.0, above=(
        PriceTier(start=200000, prices=Prices(
            input=4.0, output=18.0, cache_read=0.4, cache_write=4.0)),
    )),
    "gemini-3-flash": Prices(input=0.5, output=3.0, cache_read=0.05, cache_write=0.5),
    "gemini-3.1-pro": Prices(input=2.0, output=12.0, cache_read=0.2, cache_write=2.0, above=(
        PriceTier(start=200000, prices=Prices(
            input=4.0, output=18.0, cache_read=0.4, cache_write=4.0)),
    )),
    "gemini-3.5-flash": Prices(input=1.5, output=9.0, cache_read=0.15, cache_write=1.5),
    "gemini-3.8-flash": Prices(input=0.75, output=3.75, cache_read=0.075, cache_write=0.75),
    "deepseek-v4-pro": Prices(input=0.66, output=1.98, cache_read=0.022, cache_write=0.66),
    "deepseek-v4-flash": Prices(input=0.15, output=0.6, cache_read=0.003, cache_write=0.15),
    "deepseek-chat": Prices(input=0.27, output=1.1, cache_read=0.07, cache_write=0.27),
    "glm-4.6": Prices(input=0.6, output=2.2, cache_read=0.11, cache_write=0.6),
    "minimax-m2": Prices(input=0.3, output=1.2, cache_read=0.03, cache_write=0.375),
    "kimi-k2": Prices(input=0.6, output=2.5, cache_read=0.15, cache_write=0.6),
    "kimi-k2.5": Prices(input=0.6, output=3.0, cache_read=0.1, cache_write=0.6),
    "kimi-k3": Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.0, cache_write_long=6.0),
}
# fmt: on
