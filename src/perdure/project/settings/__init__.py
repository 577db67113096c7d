"""Settings: what may be set, where it was set, and which one counts."""

from perdure.project.settings.keys import KEYS, Key, key_named
from perdure.project.settings.layers import Layer, from_environment, from_flags, from_text, read_layer
from perdure.project.settings.settled import Setting, Settled, settle
from perdure.project.settings.trust import is_trusted, trust

__all__ = [
    "KEYS",
    "Key",
    "Layer",
    "Setting",
    "Settled",
    "from_environment",
    "from_flags",
    "from_text",
    "is_trusted",
    "key_named",
    "read_layer",
    "settle",
    "trust",
]
