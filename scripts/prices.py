"""Writes `src/perdure/kernel/models/_generated_prices.py` from the installed `genai-prices`.

    python scripts/prices.py 2026-11-30   write the file with the prices of that day
    python scripts/prices.py              exit 1 if the file is not what the installed version gives for its day

Knows the package's data model. The kernel never imports the package: it reads the generated literals.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

from genai_prices import __version__
from genai_prices.data import providers
from genai_prices.types import ModelPrice, TieredPrices

from perdure.kernel.models.table import ROWS

TARGET = Path(__file__).parents[1] / "src/perdure/kernel/models/_generated_prices.py"

PROVIDERS = {
    "claude": ("anthropic",),
    "gpt": ("openai",),
    "gemini": ("google",),
    "open": ("deepseek", "moonshotai", "zai", "minimax"),
}
"""Only publishers' own prices: a reseller's would be right for nobody else."""

SPELLINGS = {
    "claude-3-opus": "claude-3-opus-latest",
    "claude-3-5-haiku": "claude-3-5-haiku-latest",
    "claude-3-7-sonnet": "claude-3-7-sonnet-latest",
    "codex-mini": "codex-mini-latest",
    "gpt-5-chat": "gpt-5-chat-latest",
    "gpt-5.1-chat": "gpt-5.1-chat-latest",
    "gpt-5.2-chat": "gpt-5.2-chat-latest",
    "gpt-5.3-chat": "gpt-5.3-chat-latest",
    "gemini-3-pro": "gemini-3-pro-preview",
    "gemini-3-flash": "gemini-3-flash-preview",
    "gemini-3.1-pro": "gemini-3.1-pro-preview",
    "kimi-k2": "kimi-k2-0905-preview",
}
"""Ids of our table that the package knows by a longer name."""

HEADER = '''"""Prices of the models in `table`, in USD per million tokens. Generated: do not edit.

Source: genai-prices {version}, prices of {day}. Command: python scripts/prices.py {day}
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.models.profile import Prices, PriceTier

VERSION = "{version}"
"""Of the package `genai-prices`."""

DATE = "{day}"
"""The day whose prices these are (ISO)."""

# fmt: off
PRICES: Mapping[str, Prices] = {{
'''

_TIER = """
        PriceTier(start={start}, prices=Prices(
            {fields})),
"""

FOOTER = "}\n# fmt: on\n"


def generate(day: date) -> str:
    """The text of the generated module with the prices of `day` at noon UTC."""
    noon = datetime.combine(day, time(12), UTC)
    rows = [f'    "{name}": {source},\n' for name, source in _sources(noon)]
    return HEADER.format(version=__version__, day=day.isoformat()) + "".join(rows) + FOOTER


def stated_day(text: str) -> date:
    """The day that a generated module says it is for."""
    found = re.search(r'^DATE = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{TARGET} has no DATE line: run scripts/prices.py to write it again")
    return date.fromisoformat(found.group(1))


def _sources(noon: datetime) -> Iterator[tuple[str, str]]:
    by_id = {provider.id: provider for provider in providers}
    for profile in ROWS:
        name = SPELLINGS.get(profile.id, profile.id)
        found = [model for publisher in PROVIDERS[profile.family] if (model := by_id[publisher].find_model(name))]
        if found:
            yield profile.id, _literal(found[0].get_prices(noon))


def _literal(price: ModelPrice) -> str:
    """The Python source of a `Prices` value. Without a price of their own, cache reads and writes cost what
    input costs."""
    starts = sorted({tier.start for value in _values(price) if isinstance(value, TieredPrices) for tier in value.tiers})
    tiers = "".join(_TIER.format(start=start, fields=_fields(price, start)) for start in starts)
    return f"Prices({_fields(price, None)}" + (f", above=({tiers}    ))" if starts else ")")


def _values(price: ModelPrice) -> list[Decimal | TieredPrices | None]:
    return [price.input_mtok, price.output_mtok, price.cache_read_mtok, price.cache_write_mtok]


def _fields(price: ModelPrice, start: int | None) -> str:
    plain, output, read, write = (_tier(value, start) for value in _values(price))
    if plain is None or output is None:
        raise SystemExit("a model of the table has no price for input or output in genai-prices: price it by hand")
    long = _tier(price.cache_write_1h_mtok, start)
    fields = {
        "input": plain,
        "output": output,
        "cache_read": plain if read is None else read,
        "cache_write": plain if write is None else write,
    } | ({} if long is None else {"cache_write_long": long})
    return ", ".join(f"{name}={float(value)!r}" for name, value in fields.items())


def _tier(value: Decimal | TieredPrices | None, start: int | None) -> Decimal | None:
    """The price that holds from `start` tokens on; the base price for None."""
    if not isinstance(value, TieredPrices):
        return value
    reached = [tier.price for tier in value.tiers if start is not None and tier.start <= start]
    return reached[-1] if reached else value.base


def main(arguments: list[str]) -> int:
    """Write the file, or without a day check it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("day", nargs="?", type=date.fromisoformat, help="write the prices of this day (ISO)")
    day: date | None = parser.parse_args(arguments).day
    if day is None:
        text = TARGET.read_text(encoding="utf-8")
        return 0 if generate(stated_day(text)) == text else 1
    TARGET.write_text(generate(day), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
