"""What a strategy weighs: every candidate's load and what the request would add, as columns.

Columns are plain lists: fleets are small, and at up to a few hundred rows a list costs less than an
array whose every operation is a call of its own.
"""

from dataclasses import dataclass

from steelyard_router.scheduling.request import RequestView


@dataclass(slots=True)
class Terms:
    """Row i of each column is the instance in slot `slots[i]`; in order of slots, never empty."""

    slots: list[int]
    q: list[float]
    """Q: queued uncached prefill tokens there."""
    p: list[float]
    """P: uncached prompt tokens of this request there, at least 1."""
    b: list[float]
    """B: sequences there, running and waiting."""
    c: list[float]
    """C: context tokens of the sequences that decode there."""
    request: RequestView
    now: float

    def rows(self, keep: list[int]) -> "Terms":
        """These rows only."""
        return Terms(
            [self.slots[row] for row in keep],
            [self.q[row] for row in keep],
            [self.p[row] for row in keep],
            [self.b[row] for row in keep],
            [self.c[row] for row in keep],
            self.request,
            self.now,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row, for people: `explain` shows it."""

    instance: str
    q: float
    p: float
    b: float
    c: float
    cost: float
