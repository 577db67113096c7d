"""The wire: pure codecs between values and the providers' dialects, and the checker of what a provider enforces."""

from perdure.kernel.wire.anthropic import ANTHROPIC
from perdure.kernel.wire.chat import CHAT
from perdure.kernel.wire.codec import BlockDone, BlockGrew, BlockStarted, Codec, Delta, Dialect, StreamDecoder
from perdure.kernel.wire.responses import RESPONSES

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "RESPONSES",
    "BlockDone",
    "BlockGrew",
    "BlockStarted",
    "Codec",
    "Delta",
    "Dialect",
    "StreamDecoder",
]
