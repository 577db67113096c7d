"""Whose memory it is. There is no memory without an owner.

It knows two names. It must never know who may act for whom: the host says who is asking.
"""

from __future__ import annotations

from perdure.kernel.errors import NoPrincipal
from perdure.kernel.value import value

LONGEST = 200
"""Characters of a tenant's or a user's name."""


@value
class Principal:
    """A user of a tenant: the owner of one namespace.

    Raises:
        NoPrincipal: a name is missing, too long, or holds what cannot be stored everywhere.
    """

    tenant: str
    user: str

    def __post_init__(self) -> None:
        for role, name in (("tenant", self.tenant), ("user", self.user)):
            if not _is_name(name):
                raise NoPrincipal(f"the {role} must be a text of 1 to {LONGEST} printable characters")


def require(principal: Principal | None) -> Principal:
    """The principal, where there is one.

    Raises:
        NoPrincipal: there is none.
    """
    if not isinstance(principal, Principal):
        raise NoPrincipal("nobody is named whose memory this is: hand in a Principal with a tenant and a user")
    return principal


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST and bool(name.strip()) and name.isprintable()
