"""What one measurement of a load saw, whichever client made it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """Counts and times of the measured window.

    The percentiles are of whole requests; in a paced cell, of how much later each chunk came than
    its schedule says.
    """

    seconds: float
    requests: int
    chunks: int
    """Output chunks of streams; 0 in cells that do not stream."""
    p50_ms: float
    p99_ms: float
    errors: int
    """Failed connections, broken answers, timeouts, and every status but 2xx."""


def quantile(values: Sequence[float], q: float) -> float:
    """Of sorted values; 0 when there are none."""
    return values[min(int(q * len(values)), len(values) - 1)] if values else 0.0
