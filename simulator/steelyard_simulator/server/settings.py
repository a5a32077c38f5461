"""What one simulated server is: fixed when it starts. What may change while it runs is in
fault.py."""

from dataclasses import dataclass, field

from steelyard_simulator.engine.profile import Profile, profile


@dataclass(frozen=True, slots=True)
class Settings:
    """`speed` engine seconds pass in each real second."""

    model: str = "simulated"
    profile: Profile = field(default_factory=lambda: profile("h100-8b"))
    speed: float = 1.0
    seed: int = 0
    """Of the generated text and of the fault dice."""
    drain_s: float = 30.0
    """Real seconds that running requests have when the server is told to stop."""
    abrupt: bool = False
    """Stop without draining: streams break off, as they do with vLLM's default settings."""
    tick_s: float = 0.005
    """Real seconds over which tokens of a stream are gathered into one chunk; first and last tokens
    are sent when they are there."""
