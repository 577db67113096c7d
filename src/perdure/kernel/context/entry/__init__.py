"""Reduction of large tool outputs at entry, before their first send, where it costs no cache.

It knows kinds of output and what matters in each. It must never know the engine: `reduce_text` takes a text and a
limit, and gives a text.
"""

from perdure.kernel.context.entry.envelope import kind_of_output
from perdure.kernel.context.entry.kind import Draft, Kind, Reducer
from perdure.kernel.context.entry.reduce import reduce_text
from perdure.kernel.context.entry.reducers import REDUCERS

__all__ = ["REDUCERS", "Draft", "Kind", "Reducer", "kind_of_output", "reduce_text"]
