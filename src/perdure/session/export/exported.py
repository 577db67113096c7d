"""A branch of a log, read and given out in one of the formats.

It knows which formats there are. It must never write a file: whoever asks knows where to.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from perdure.kernel.errors import UserError
from perdure.log import SessionLog, state_of
from perdure.session.export.markdown import as_markdown
from perdure.session.export.page import as_html
from perdure.session.export.plain_json import as_json
from perdure.session.export.story import Exported
from perdure.session.stored import model_in

Form: TypeAlias = Literal["markdown", "json", "html"]

FORMS: tuple[Form, ...] = get_args(Form)


def export(log: SessionLog, form: Form, at: str | None = None) -> str:
    """A session in one of the formats, up to the message `at`; None: to the end of the present branch.

    A log that was opened with `read_log` will do, also while another process writes it.

    Raises:
        UserError: no such message.
        LogDamaged: an entry cannot be read.
    """
    exported = exported_of(log, at)
    match form:
        case "markdown":
            return as_markdown(exported)
        case "json":
            return as_json(exported)
        case "html":
            return as_html(exported)


def exported_of(log: SessionLog, at: str | None = None) -> Exported:
    """What is exported, as a value.

    Raises:
        UserError: no such message.
        LogDamaged: an entry cannot be read.
    """
    leaf = log.entry_of(at) if at is not None else None
    if at is not None and leaf is None:
        raise UserError(f"there is no message {at[:80]!r} on this branch; `perdure show` lists them")
    state = state_of(log, leaf)
    return Exported(
        session=log.header.session,
        title=state.name or state_of(log).name,
        created=log.header.created,
        model=model_in(state) or "",
        messages=state.transcript[:],
    )
