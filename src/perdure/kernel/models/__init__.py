"""Facts about models: windows, caches, tokenizers, rules on thinking, prices.

`lookup` finds a profile by any spelling of a name, `declare` makes one from settings. This layer knows facts alone
and must never know messages, counting or money spent.
"""

from perdure.kernel.models.declare import KEYS as DECLARED_KEYS
from perdure.kernel.models.declare import declare
from perdure.kernel.models.lookup import PROFILES, lookup
from perdure.kernel.models.profile import (
    CacheLife,
    CacheRules,
    Dialect,
    Family,
    Features,
    ImageFormula,
    ImageRules,
    ModelProfile,
    NativeFeature,
    Prices,
    PriceTier,
    Source,
    ThinkingForm,
    ThinkingKept,
    ThinkingRules,
    Tokenizer,
    Window,
)

__all__ = [
    "DECLARED_KEYS",
    "PROFILES",
    "CacheLife",
    "CacheRules",
    "Dialect",
    "Family",
    "Features",
    "ImageFormula",
    "ImageRules",
    "ModelProfile",
    "NativeFeature",
    "PriceTier",
    "Prices",
    "Source",
    "ThinkingForm",
    "ThinkingKept",
    "ThinkingRules",
    "Tokenizer",
    "Window",
    "declare",
    "lookup",
]
