"""Auto-memory: Markdown files that a model keeps for itself; told at the start, recalled by topic, kept in order."""

from perdure.memory.auto.check import Finding, Kind, check
from perdure.memory.auto.index import INDEX, Index, memory_body, read_index
from perdure.memory.auto.recall import recall
from perdure.memory.auto.topics import Topic, find_topics

__all__ = [
    "INDEX",
    "Finding",
    "Index",
    "Kind",
    "Topic",
    "check",
    "find_topics",
    "memory_body",
    "read_index",
    "recall",
]
