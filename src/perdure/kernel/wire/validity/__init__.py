"""Whether a provider would accept a request, and the explicit repair of an input that none would."""

from perdure.kernel.wire.validity.check import check, check_messages
from perdure.kernel.wire.validity.faults import Fault, FaultKind
from perdure.kernel.wire.validity.repair import UNKNOWN_OUTCOME, Repair, Repaired, RepairKind, repair
from perdure.kernel.wire.validity.thinking import check_against, check_following

__all__ = [
    "UNKNOWN_OUTCOME",
    "Fault",
    "FaultKind",
    "Repair",
    "RepairKind",
    "Repaired",
    "check",
    "check_against",
    "check_following",
    "check_messages",
    "repair",
]
