"""One call: what a client asks, by whom, over which protocol, and where it goes.

It knows the outside of a request. It must never know its messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from perdure.gateway.callers import Caller
from perdure.gateway.config import Route
from perdure.gateway.tally import Tally
from perdure.gateway.upstream import PATHS, Outgoing, onward
from perdure.kernel.context import with_window
from perdure.kernel.context.context import CODECS
from perdure.kernel.errors import CallRefused
from perdure.kernel.messages import JsonObject, kind_of
from perdure.kernel.models import ModelProfile, lookup
from perdure.kernel.value import value
from perdure.kernel.wire import Codec, Dialect

Action: TypeAlias = Literal["create", "count", "compact"]

AUTO_HEADER = "perdure-auto"
"""`on` or `off`: what a request wishes, where the route says otherwise."""

ITEMS: Mapping[Dialect, str] = {"anthropic": "messages", "chat": "messages", "responses": "input"}
"""Where the messages of a body stand."""


@value
class Call:
    """A call whose caller may call and whose route is known."""

    id: str
    """For logs and errors; says nothing."""
    dialect: Dialect
    """What the client speaks."""
    action: Action
    headers: Mapping[str, str] = field(repr=False)
    query: str
    raw: bytes = field(repr=False)
    """The body as it came."""
    body: JsonObject = field(repr=False)
    """The same, decoded."""
    caller: Caller
    route: Route
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)
    """What it uses upstream."""

    @property
    def model(self) -> str:
        """What the client calls the model."""
        return str(self.body["model"])

    @property
    def profile(self) -> ModelProfile:
        """What is known of the model behind the route."""
        found = lookup(self.route.model_for(self.model))
        if self.route.window is not None:
            return with_window(found, self.route.window)
        return found

    @property
    def summarizer(self) -> ModelProfile:
        """What is known of the model that writes summaries."""
        return lookup(self.route.summarizer) if self.route.summarizer else self.profile

    @property
    def codec(self) -> Codec:
        """The client's dialect."""
        return CODECS[self.dialect]

    @property
    def upstream_codec(self) -> Codec:
        """The upstream's dialect."""
        return CODECS[self.route.dialect]

    @property
    def translated(self) -> bool:
        """Whether the upstream speaks another dialect than the client."""
        return self.route.dialect != self.dialect

    @property
    def streams(self) -> bool:
        """Whether the client wants events."""
        return self.body.get("stream") is True

    @property
    def auto(self) -> bool:
        """Whether the engine works for this request without being asked for anything."""
        wish = self.headers.get(AUTO_HEADER, "").strip().lower()
        granted = self.caller.grant.auto
        usual = self.route.auto if granted is None else granted
        return usual if wish not in ("on", "off") else wish == "on"

    @property
    def may_hold_blocks(self) -> bool:
        """Whether a compaction block can stand among the messages: a look at the bytes, before all blocks are."""
        return b"compaction" in self.raw

    @property
    def betas(self) -> frozenset[str]:
        """Anthropic's betas that the client asked for."""
        return frozenset(part.strip() for part in self.headers.get("anthropic-beta", "").split(",") if part.strip())

    def outgoing(self, body: bytes, *, path: str = "", betas: tuple[str, ...] = ()) -> Outgoing:
        """This call with another body, to its upstream; `betas` are those that it needs besides the client's."""
        same = not self.translated
        headers = onward(self.headers, self.route, self.caller.spent, same=same)
        if betas and self.route.dialect == "anthropic":
            wanted = [*(sorted(self.betas) if same else ()), *betas]
            headers["anthropic-beta"] = ",".join(dict.fromkeys(wanted))
        return Outgoing(
            route=self.route,
            path=path or PATHS[self.route.dialect],
            body=body,
            headers=headers,
            query=self.query if same else "",
        )


def checked(body: JsonObject) -> JsonObject:
    """A body that names a model.

    Raises:
        CallRefused: it does not.
    """
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise CallRefused(f"model: a model's name is needed, not {kind_of(model)}")
    return body
