"""What a system knows of its instances by counting what it placed itself.

Every count goes up when a request is placed and comes back when it ends, however it ends, so an
idle instance has zeros. What an engine's metrics said is kept beside the counts, as last heard.
"""

from dataclasses import dataclass, field

from steelyard_simulator.replay.policy import Arrival, Polled


@dataclass(slots=True, eq=False)
class Instance:
    """One member of the fleet, from join to leave."""

    name: str
    slot: int
    """A small number, used again after the instance has left."""
    cache_tokens: int
    block_tokens: int
    claims: "dict[int, Claim]" = field(default_factory=dict)
    """Requests there, in order of placing;"""
    unanswered: "dict[int, Claim]" = field(default_factory=dict)
    """those of them without a first byte;"""
    queued_tokens: int = 0
    """uncached prompt tokens of these;"""
    all_tokens: int = 0
    """prompt tokens and output tokens seen, of all requests there."""
    head_since: float = 0.0
    """Since when the oldest unanswered one can have been computed."""
    polled: Polled | None = None
    """None until the first poll has come."""

    @property
    def requests(self) -> int:
        return len(self.claims)

    @property
    def decoding(self) -> int:
        return len(self.claims) - len(self.unanswered)


@dataclass(slots=True, eq=False)
class Claim:
    """A request from its placing to its end."""

    arrival: Arrival
    instance: Instance
    placed_at: float
    uncached_tokens: int
    """Of its prompt, as believed when it was placed."""
    output_tokens: int = 0
