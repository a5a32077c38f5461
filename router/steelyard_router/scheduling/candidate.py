"""What a strategy weighs: every candidate's load and what the request would add, as columns.

Columns are plain lists: fleets are small, and at up to a few hundred rows a list costs less than an
array whose every operation is a call of its own.
"""

from dataclasses import dataclass
from enum import Enum

from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.usual import Latency


class Wish(Enum):
    """When a strategy wants an outlook, which takes as long to make as all other terms."""

    NEVER = 0
    TRUSTED = 1
    """If the coefficients of all candidates are trusted."""
    ALWAYS = 2


@dataclass(slots=True)
class Outlook:
    """What the placement would do in seconds, by the coefficients of each candidate."""

    q_s: list[float]
    """Until the prompts that are queued there are computed, by their cost or by the rate at which
    that line has moved of late, whichever is longer: an engine that is full computes none."""
    own_s: list[float]
    """To compute this one's uncached tokens."""
    token_s: list[float]
    """From one of its tokens to the next: a decode step there with this request in it, stretched by
    the share of the time that prompts take."""
    added_s: list[float]
    """What a step is longer by because of this request."""
    harm: list[float]
    """What a delay of a second costs the requests that are there (objective.py)."""
    risk: list[float]
    """How much of that decides whether they meet targets, of those of no lower class."""
    usual: Latency
    """Of the request's workload."""
    known: bool = True
    """Whether the coefficients of all are trusted."""

    def rows(self, keep: list[int]) -> "Outlook":
        return Outlook(
            [self.q_s[row] for row in keep],
            [self.own_s[row] for row in keep],
            [self.token_s[row] for row in keep],
            [self.added_s[row] for row in keep],
            [self.harm[row] for row in keep],
            [self.risk[row] for row in keep],
            self.usual,
            self.known,
        )


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
    outlook: Outlook | None = None
    """Where the strategy wants it."""

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
            self.outlook and self.outlook.rows(keep),
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
