"""The prompt cache as a model: what is warm, what a request costs, where marks go, and why a read fell short."""

from perdure.kernel.cache.bill import Bill, Parts, bill, bill_of
from perdure.kernel.cache.chain import Head, PrefixChain, chain_of
from perdure.kernel.cache.marks import plan_marks, rolling_mark
from perdure.kernel.cache.monitor import CacheMonitor, Cause, Reading
from perdure.kernel.cache.ping import MOST_PINGS, Pause, next_ping
from perdure.kernel.cache.price import EMPTY, PromptCache, life_of, marks_of, price, price_request, readable
from perdure.kernel.cache.warmth import warmth

__all__ = [
    "EMPTY",
    "MOST_PINGS",
    "Bill",
    "CacheMonitor",
    "Cause",
    "Head",
    "Parts",
    "Pause",
    "PrefixChain",
    "PromptCache",
    "Reading",
    "bill",
    "bill_of",
    "chain_of",
    "life_of",
    "marks_of",
    "next_ping",
    "plan_marks",
    "price",
    "price_request",
    "readable",
    "rolling_mark",
    "warmth",
]
