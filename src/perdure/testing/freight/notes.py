"""What the scripted model writes when it is asked to summarise: only what the request shows.

It knows the headings of both forms. It must never know whether it is believed.
"""

from __future__ import annotations

from perdure.kernel.pattern import pattern
from perdure.testing.freight.seen import Seen

_TESTED = pattern(r"tests\.test_(\w+)")
_FORM = pattern(r"in this order:\n\n(?P<form>(?:## .+\n+)+)")


def narrative(seen: Seen) -> str:
    """The narrative of a checkpoint."""
    passed = [
        (name, step.id)
        for step in seen.steps
        if step.name == "bash" and not step.failed and step.result.rstrip().endswith("OK")
        for name in _TESTED.findall(step.text("command"))
    ]
    open_names = [name for name, state in seen.todos.items() if state != "completed"]
    lines = ["<summary>", "## Goal", "- Modules in carriers/ give whole cents, surcharge included."]
    lines += ["## Progress", "### Done", *(f"- The tests of {name} pass [{step}]" for name, step in passed)]
    if open_names:
        lines += ["### In progress", f"- carriers/{open_names[0]}.py"]
    lines += ["## Next steps", *(f"- carriers/{name}.py" for name in open_names[1:4]), "</summary>"]
    return "\n".join(lines)


def notes(request: str) -> str:
    """The living document of a session."""
    form = _FORM.search(request)
    headings = form["form"].split("\n") if form else []
    tested = list(dict.fromkeys(_TESTED.findall(request)))
    lines: list[str] = []
    for heading in filter(None, headings):
        lines.append(heading)
        if heading.endswith("Current state"):
            lines += ["Carriers are put right one by one, in the order of the todo list.", ""]
        elif heading.endswith("Worklog"):
            lines += [*(f"- the tests of {name} were run" for name in tested), ""]
        else:
            lines.append("")
    return "\n".join(lines)
