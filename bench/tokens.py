"""Milliseconds of processor time to count one megabyte of text: `python bench/tokens.py`. The aim is under 1 ms."""

from time import process_time
from timeit import repeat

from perdure.kernel.messages import weigh_text
from perdure.kernel.models import lookup
from perdure.kernel.tokens import tokens_of

MEGABYTE = 1_000_000
PROFILE = lookup("claude-opus-5-5")

LINES = {
    "ASCII": "    total += entry.amount if entry.side == 'debit' else -entry.amount\n",
    "mixed with Chinese": "    # 若出现错误则立即回滚，并通知值班工程师\n    total += entry.amount  # 合计\n",
    "mixed with emoji": "deploy finished ✅ in 12 s 🚀, 3 warnings\n",
}


def main() -> None:
    for name, line in LINES.items():
        text = line * (MEGABYTE // len(line.encode()))
        seconds = (
            min(repeat(lambda text=text: tokens_of(weigh_text(text), PROFILE), timer=process_time, number=5, repeat=40))
            / 5
        )
        print(f"{name:20} {1_000 * seconds:8.3f} ms per MB, {tokens_of(weigh_text(text), PROFILE):,} tokens")


if __name__ == "__main__":
    main()
