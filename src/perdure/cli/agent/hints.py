"""What a person can do about a failure of a provider.

It knows kinds of failures. It must never know a provider's words.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.kernel.agent import AgentEnd, FailureKind

HINTS: Mapping[FailureKind, str] = {
    "network": "`perdure doctor` shows what can be reached; is the address right, and the server running?",
    "authentication": (
        "is the key right? For a server of your own, name the variable that holds its key: "
        "perdure config set key_variable NAME"
    ),
    "billing": "the provider wants to be paid first; another model may do: --model NAME",
    "not_found": "the server does not know this model; --model NAME, and `perdure doctor` shows those on this machine",
    "rate_limit": "wait a little, or let another model answer: --model NAME",
    "overloaded": "wait a little, or let another model answer: --model NAME",
}


def hint_of(end: AgentEnd) -> str:
    """The next step where a run failed; empty where there is none to tell."""
    return HINTS.get(end.failure.kind, "") if end.failure is not None else ""
