"""How an answer goes onto the wire: what the generating endpoints have in common."""

from dataclasses import dataclass
from typing import Any, Protocol

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, all its sequences together; a prompt counts once however many
    answers."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "completion_tokens": self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


class Format(Protocol):
    """One endpoint's answer to one request. Chunks are whole SSE events; `index` is the
    sequence's."""

    def preamble(self) -> bytes:
        """Events that precede all work."""
        ...

    def opening(self, index: int) -> bytes:
        """Events just before a sequence's first token."""
        ...

    def delta(self, index: int, text: bytes) -> bytes:
        """More text."""
        ...

    def ending(self, index: int, text: bytes, reason: str) -> bytes:
        """The last text of a sequence, and why it ended."""
        ...

    def closing(self, usage: Usage) -> bytes:
        """Events after all sequences; the usage only if it was asked for."""
        ...

    def plain(self, texts: list[str], reason: str, usage: Usage) -> dict[str, Any]:
        """The whole answer of a request that does not stream."""
        ...
