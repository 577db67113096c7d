"""Every exception that Perdure raises on purpose.

    PerdureError
    ├── UserError                 what was handed in is wrong; the message says what to change
    │   ├── CallRefused           a call of the gateway that is not carried out; it says with which status
    │   ├── InvalidJson           bytes or values that are no JSON
    │   ├── InvalidMessage        a message, block or request of a shape that no codec knows
    │   ├── InvalidProfile        a declared model profile that cannot be used
    │   ├── InvalidSetting        an option of the engine that is out of its range or unknown
    │   ├── NoModel               no model can be asked; the message says how to set one up
    │   ├── UnknownFormat         a file that no reader knows
    │   └── UnreadableFile        a file that cannot be opened, or not to its end
    ├── MemoryFault               what is kept across sessions was not read or written
    │   ├── MemoryPathRefused     a path that leads out of the store, or that is no plain name in it
    │   ├── MemoryNotFound        nothing is kept under that path
    │   ├── MemoryTaken           something is kept under that path already, or under one that differs in case alone
    │   ├── MemoryChanged         another writer was faster; what it wrote would have been lost
    │   ├── MemoryFull            a file, or the number of files, would exceed its cap
    │   ├── NoPrincipal           nobody to keep it for; without a tenant and a user nothing can be reached
    │   ├── SecretFound           the text holds a secret; the message names its line and kind, never itself
    │   └── StoreUnreachable      the disk or the database failed, or holds something that no store put there
    ├── DiskError                 what a session keeps on disk cannot be read or written; the message names the file
    │   ├── LogDamaged            a session log that cannot be opened, or not for writing, since lines of it are damaged
    │   ├── LogLocked             another process writes this session
    │   ├── LogTooNew             written by a newer version
    │   ├── ArchiveDamaged        the index or an original of an archive is not what was written
    │   ├── HandleGone            a handle whose original was removed, or that names nothing in this session
    │   ├── DiskFull              no room is left
    │   └── DiskRefused           permission denied, a read-only file system, or a disk that fails
    └── ContextError              the context cannot be made as asked
        ├── Infeasible            fixed overhead and the current request alone exceed the window
        ├── Overflow              the provider says that it is too long, after the recovery as well
        ├── UntranslatableBlock   a block that the other dialect has no form for
        └── RevertRefused         taking an edit back would give a view that does not fit or is not valid

This file knows names and what they carry. It must never know how an error is shown. Messages never contain the
content of a transcript beyond an identifier, since that content may hold secrets.
"""

from __future__ import annotations

__all__ = [
    "ArchiveDamaged",
    "CallRefused",
    "ContextError",
    "DiskError",
    "DiskFull",
    "DiskRefused",
    "HandleGone",
    "Infeasible",
    "InvalidJson",
    "InvalidMessage",
    "InvalidProfile",
    "InvalidSetting",
    "LogDamaged",
    "LogLocked",
    "LogTooNew",
    "MemoryChanged",
    "MemoryFault",
    "MemoryFull",
    "MemoryNotFound",
    "MemoryPathRefused",
    "MemoryTaken",
    "NoModel",
    "NoPrincipal",
    "Overflow",
    "PerdureError",
    "RevertRefused",
    "SecretFound",
    "StoreUnreachable",
    "UnknownFormat",
    "UnreadableFile",
    "UntranslatableBlock",
    "UserError",
]


class PerdureError(Exception):
    """The root of the tree: catch this to catch everything that Perdure raises on purpose."""


class UserError(PerdureError):
    """What was handed in is wrong; the message says what to change."""


class CallRefused(UserError):
    """A call of the gateway that is not carried out; the message goes to the client."""

    def __init__(self, message: str, *, status: int = 400, code: str = "", retry_after: int | None = None) -> None:
        self.status = status
        """HTTP status of the answer."""
        self.code = code
        """A documented error code, where there is one."""
        self.retry_after = retry_after
        """Seconds after which the call may be made again, where that is known."""
        super().__init__(message)


class InvalidJson(UserError):
    """Bytes or values that are no JSON: the message names the place."""


class InvalidMessage(UserError):
    """A message, block or request of a shape that the codec of its dialect does not know."""


class InvalidProfile(UserError):
    """A declared model profile that cannot be used: an unknown key, a wrong type, a number out of range."""


class InvalidSetting(UserError):
    """An option of the engine that is unknown or out of its range."""


class NoModel(UserError):
    """No model can be asked, or not the one that is wanted; the message says how to set one up."""


class UnknownFormat(UserError):
    """A file whose format no reader recognises."""


class UnreadableFile(UserError):
    """A file that cannot be opened, that is empty, or that breaks off: the message says which."""


class MemoryFault(PerdureError):
    """What is kept across sessions was not read or not written; nothing was changed."""


class MemoryPathRefused(MemoryFault):
    """A path that leads out of the store, or that is no plain name in it. The message gives the rule."""


class MemoryNotFound(MemoryFault):
    """Nothing is kept under that path."""


class MemoryTaken(MemoryFault):
    """Something is kept under that path already, or under one that differs from it in case alone."""


class MemoryChanged(MemoryFault):
    """Another writer changed the file since this one saw it; to write now would lose what the other wrote."""


class MemoryFull(MemoryFault):
    """A file, or the number of files, would exceed its cap."""


class NoPrincipal(MemoryFault):
    """There is nobody to keep it for. Without a tenant and a user nothing can be reached."""


class SecretFound(MemoryFault):
    """The text holds a secret. The message names its line and kind, never the secret itself."""

    def __init__(self, *, line: int, kind: str) -> None:
        self.line = line
        """Where, counted from 1."""
        self.kind = kind
        """What it looks like: `GitHub token`, `password` ..."""
        super().__init__(
            f"line {line} holds a secret ({kind}), and nothing was written. "
            f"Write where it is kept instead of what it is."
        )


class StoreUnreachable(MemoryFault):
    """The disk or the database failed, or holds something that no store put there."""


class DiskError(PerdureError):
    """What a session keeps on disk cannot be read or written; the message names the file."""


class LogDamaged(DiskError):
    """A session log of which nothing can be read, or that is open for reading only because lines of it are damaged."""


class LogLocked(DiskError):
    """Another process writes this session; a fork of it may be opened."""


class LogTooNew(DiskError):
    """A session log that a newer version wrote."""


class ArchiveDamaged(DiskError):
    """The index of an archive, or an original in it, is not what was written."""


class HandleGone(DiskError):
    """A handle whose original was removed on purpose, or that never named anything in this session."""


class DiskFull(DiskError):
    """No room is left on the disk, or in the quota; what was being written was taken back."""


class DiskRefused(DiskError):
    """Permission denied, a read-only file system, or a disk that fails."""


class ContextError(PerdureError):
    """The context cannot be made as asked."""


class Overflow(ContextError):
    """The provider says that the request is too long, after the context was made smaller as well.

    All numbers are tokens.
    """

    def __init__(self, *, estimate: int, window: int | None, counted: int | None, limit: int | None) -> None:
        self.estimate = estimate
        """The size of the request as the engine estimates it."""
        self.window = window
        """The window that the model is taken to have; None where it is unknown."""
        self.counted = counted
        """The size that the provider told, if it did."""
        self.limit = limit
        """The limit that the provider told, if it did."""
        told = f"{counted or 'an untold number of'} tokens against a limit of {limit or 'an untold number'}"
        super().__init__(
            f"the provider refuses the request as too long ({told}), after everything that can be left out was; the "
            f"estimate is {estimate} tokens, and the window is taken to be {window or 'unknown'}. "
            f"Declare the window that the server really has."
        )


class Infeasible(ContextError):
    """Fixed overhead and the current request alone exceed the window, so that no edit can help; or edits would, and
    cannot be kept.

    All numbers are tokens, estimated as the engine estimates.
    """

    def __init__(self, *, window: int, overhead: int, current: int, reserve: int, refusal: str = "") -> None:
        self.window = window
        """The model's window."""
        self.overhead = overhead
        """Tools and system blocks, present in every request."""
        self.current = current
        """What cannot be reduced behind them: the current request of the user and what must stay with it."""
        self.reserve = reserve
        """What is kept free for the answer."""
        self.refusal = refusal
        """Why log or archive did not take what would have left the view; empty where they took it."""
        if refusal:
            super().__init__(
                f"the request does not fit: it takes {overhead + current} tokens, {reserve} are kept free for the "
                f"answer, and the window holds {window}. What would have made room could not be kept first: "
                f"{refusal.rstrip('.')}. Nothing is lost. Mend that, then go on."
            )
            return
        super().__init__(
            f"the request cannot fit: tools and system take {overhead} tokens, what cannot be reduced behind them "
            f"{current}, {reserve} are kept free for the answer, and the window holds {window}. "
            f"Use a model with a larger window, fewer tools, or a shorter message."
        )


class UntranslatableBlock(ContextError):
    """A block that the other dialect has no form for; it is refused rather than dropped."""


class RevertRefused(ContextError):
    """Taking an edit back would give a view that does not fit or is not valid."""
