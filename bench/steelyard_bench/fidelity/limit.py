"""How much fits into an engine: told to the real one by its arguments, to the simulated one by its
profile.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A block of 64 tokens is one of the router's index too: 256 bytes of four-letter words."""

    block_tokens: int = 64
    blocks: int = 768
    step_tokens: int = 512
    sequences: int = 32
    model_tokens: int = 16_384

    @property
    def usable_tokens(self) -> int:
        """The engine keeps one block for itself."""
        return (self.blocks - 1) * self.block_tokens
