"""The table of prices, by its type alone: a checker that reads its 1.6 MB of literals takes minutes."""

from genai_prices.types import Provider

__all__ = ("providers",)

providers: list[Provider]
