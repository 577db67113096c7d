"""Counts for an operator, in the text form of Prometheus.

It knows names and numbers. It must never hold a word of a request, a key or a user: labels come from fixed sets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from perdure.kernel.value import record

_HELP = {
    "perdure_requests_total": "Requests by protocol and status.",
    "perdure_unknown_callers_total": "Requests without a valid key.",
    "perdure_over_quota_total": "Calls that a limit of their key refused.",
    "perdure_upstream_requests_total": "Requests sent upstream.",
    "perdure_edited_requests_total": "Requests that left otherwise than they came.",
    "perdure_verbatim_requests_total": "Requests forwarded byte for byte.",
    "perdure_overflows_recovered_total": "Overflows of an upstream that a retry resolved.",
    "perdure_compactions_total": "Summaries made for clients that asked.",
    "perdure_own_tool_calls_total": "Calls of memory and recall carried out here.",
    "perdure_disconnects_total": "Clients that left before their answer was whole.",
    "perdure_state_failures_total": "Times that the state store did not answer.",
    "perdure_lost_races_total": "Conversations that another replica changed first, and that were then read again.",
    "perdure_input_tokens_total": "Input tokens that upstreams counted.",
    "perdure_cache_read_tokens_total": "The part of them read from prompt caches.",
    "perdure_saved_tokens_total": "Tokens that edits took out of requests.",
}


@record()
class Metrics:
    """All counts since the start."""

    counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = field(
        default_factory=Counter[tuple[str, tuple[tuple[str, str], ...]]]
    )

    def add(self, name: str, by: int = 1, **labels: str) -> None:
        """Count something."""
        self.counts[f"perdure_{name}_total", tuple(sorted(labels.items()))] += by

    def of(self, name: str) -> int:
        """The sum of one count over its labels."""
        return sum(count for (key, _), count in self.counts.items() if key == f"perdure_{name}_total")

    def text(self) -> str:
        """Everything, as `/metrics` tells it."""
        lines: list[str] = []
        for name, says in _HELP.items():
            lines += [f"# HELP {name} {says}", f"# TYPE {name} counter"]
            rows = sorted((labels, count) for (key, labels), count in self.counts.items() if key == name)
            for labels, count in rows or [((), 0)]:
                inside = ",".join(f'{label}="{value}"' for label, value in labels)
                lines.append(f"{name}{{{inside}}} {count}" if inside else f"{name} {count}")
        return "\n".join(lines) + "\n"
