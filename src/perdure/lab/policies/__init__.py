"""Context policies, one small file each, and the names they are replayed by."""

from __future__ import annotations

from perdure.kernel.context import PRESETS
from perdure.kernel.context.classic import Classic
from perdure.kernel.errors import InvalidSetting
from perdure.lab.policies.append_only import AppendOnly
from perdure.lab.policies.classic import ClassicRun
from perdure.lab.policies.engine import engine
from perdure.lab.policies.entry import ENTRY_ONLY
from perdure.lab.policies.followed import followed
from perdure.lab.policies.marked import marked
from perdure.lab.policies.masking import masking
from perdure.lab.policies.narrative import NARRATIVE_TOKENS, stand_in
from perdure.lab.policies.native import native
from perdure.lab.policies.run import Policy, Run, Sent
from perdure.lab.policies.summary import summary
from perdure.lab.policies.tail import full_reset, sliding_window

__all__ = [
    "NARRATIVE_TOKENS",
    "PEERS",
    "POLICIES",
    "Policy",
    "Run",
    "Sent",
    "engine",
    "followed",
    "policy_named",
    "stand_in",
]

POLICIES: dict[str, Policy] = {
    "append-only": lambda profile, overhead: AppendOnly(),
    "classic": lambda profile, overhead: ClassicRun(Classic(profile, overhead=overhead)),
    **{name: engine(settings) for name, settings in PRESETS.items()},
}
"""What `perdure replay --policy all` compares; `recorded` is no policy but the bill that the session shows."""

PEERS: dict[str, Policy] = {
    "sliding-window": sliding_window(),
    "mask-10": masking(10),
    "mask-3": masking(3),
    "mask-10-batched": masking(10, batch=10),
    "native-100k": native(),
    "mask-10-marked": marked(masking(10)),
    "native-100k-marked": marked(native()),
    "native-100k-20k": native(clear_at_least=20_000),
    "reset-80": full_reset(),
    "summary-85": summary(0.85),
    "summary-92": summary(0.92),
    "entry-only": ENTRY_ONLY,
}
"""What others do, written from what they document. Names with a number say where they act."""


def policy_named(name: str) -> Policy:
    """The policy of that name.

    Raises:
        InvalidSetting: there is none.
    """
    found = POLICIES.get(name) or PEERS.get(name)
    if found is None:
        raise InvalidSetting(f"no policy {name!r}; there are {', '.join([*POLICIES, *PEERS, 'recorded'])}")
    return found
