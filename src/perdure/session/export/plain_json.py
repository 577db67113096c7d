"""A session as JSON: its messages as the log keeps them, so that nothing is lost.

It knows the names of the fields. It must never decide what is worth keeping.
"""

from __future__ import annotations

from perdure.kernel.messages import encode_json
from perdure.kernel.messages.persist import message_to_json
from perdure.session.export.story import Exported

FORMAT = "perdure-export"


def as_json(exported: Exported) -> str:
    """The whole session, in one object."""
    value = encode_json(
        {
            "format": FORMAT,
            "version": 1,
            "session": exported.session,
            "title": exported.title,
            "created": exported.created,
            "model": exported.model,
            "messages": [message_to_json(message) for message in exported.messages],
        }
    )
    return value.decode() + "\n"
