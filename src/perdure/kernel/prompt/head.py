"""The head of a Markdown file: its name, its description, and when it is of use.

It knows `key: value` lines between two lines of dashes, as skills and memories begin with, and a little of the
YAML that people write there. It must never know what a field means.
"""

from __future__ import annotations

from perdure.kernel.pattern import pattern

_FIELD = pattern(r"([A-Za-z_-]+):(?:\s+(.*))?")


def head_of(text: str) -> dict[str, str]:
    """The fields of a file's head: `key: value` lines between two lines of dashes. A value may go on in lines that are
    indented; what is not of this form is passed over."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        return {}
    fields: dict[str, str] = {}
    last = ""
    for line in lines[1:]:
        if line.strip() == "---":
            return fields
        if line[:1].isspace() and last:
            fields[last] = f"{fields[last]} {line.strip()}".strip()
        elif (field := _FIELD.fullmatch(line.strip())) is not None:
            last = field[1].lower().replace("-", "_")
            value = (field[2] or "").strip()
            fields[last] = "" if value in {">", "|", ">-", "|-"} else _unquoted(value)
    # A head that is never closed is no head.
    return {}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
