"""What the user of the sample project asks for, message by message.

It knows the user's words. It must never know a carrier's right answer.
"""

from __future__ import annotations

from perdure.kernel.value import value

RULES = (
    "Never change anything under legacy/.",
    "Begin every module that you change with the comment line `# checked: STAMP`, where STAMP is the stamp in force.",
    "A surcharge may be 400 cents at most; where a contract names more, use 400.",
    "Behind each carrier, append one line to CHANGES.md: its name, its surcharge in cents, and the stamp.",
)
"""Hold for the whole session."""

CORRECTION = "The stamp is not FR-2291 any more: the stamp in force is FR-2307."
"""Takes back what the first message said."""

_FIRST = """\
The modules in carriers/ compute prices as floating-point euros and leave out the fuel surcharge that each contract in
contracts/ names. They have to give whole cents, surcharge included, as the tests say.

Rules:
{rules}

The stamp in force is FR-2291. Keep a todo list. Do the carriers from a to d, and run the tests of each.
"""


@value
class Task:
    """One message of the user's."""

    text: str
    first: str = ""
    """First letter of the carriers that it is about; empty: it is about the report."""
    last: str = ""


TASKS = (
    Task(text=_FIRST.format(rules="\n".join(f"* {rule}" for rule in RULES)), first="a", last="d"),
    Task(text=f"{CORRECTION} Go on: do the carriers from e to j.", first="e", last="j"),
    Task(text="Now do the carriers from l to o.", first="l", last="o"),
    Task(text="Do the carriers from p to z.", first="p", last="z"),
    Task(
        text="Write REPORT.md: a line for each carrier with its surcharge, and the stamp in force. Quote in it, word "
        "for word, the clause of the contract with Alder that names the surcharge. Then run all tests."
    ),
)
"""In order."""
