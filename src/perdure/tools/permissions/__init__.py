"""What a call may do: commands taken apart, paths followed to where they lead, and rules as people write them."""

from perdure.tools.permissions.decide import Choice, Mode
from perdure.tools.permissions.gate import Answer, Gate, Question, gate_of, gated

__all__ = ["Answer", "Choice", "Gate", "Mode", "Question", "gate_of", "gated"]
