"""The formats that can be read. A new one is a file of its own and an entry here.

It knows them all, in the order in which they are tried: what is most particular first. It must never read anything.
"""

from __future__ import annotations

from perdure.lab.readers import (
    claude_code,
    codex,
    copilot_cli,
    message_list,
    mini_swe_agent,
    opencode,
    openhands,
    perdure_log,
    pi,
    raw,
    swe_agent,
)
from perdure.lab.readers.format import Format

FORMATS: tuple[Format, ...] = (
    perdure_log.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    copilot_cli.FORMAT,
    pi.FORMAT,
    swe_agent.FORMAT,
    mini_swe_agent.FORMAT,
    openhands.FORMAT,
    opencode.FORMAT,
    raw.ANTHROPIC_REQUESTS,
    raw.OPENAI_REQUESTS,
    message_list.FORMAT,
)
