"""One request: what was predicted when it was placed, by whom, and what then was measured."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Final, NamedTuple

KINDS: Final = ("ttft", "tpot")
RIVALS: Final = ("router", "oracle", "constant")
"""The router's own; one that knows the engine's state and all lengths, but not who comes later; and
the mean of what was measured before in the same workload.
"""


class Times(NamedTuple):
    """From the placement on, in seconds; None where there is none."""

    ttft: float | None = None
    tpot: float | None = None


NOTHING: Final = Times()


@dataclass(slots=True)
class Row:
    """Filled while it is under way."""

    number: int
    workload: str
    at_s: float
    """When it was placed."""
    told: dict[str, Times] = field(default_factory=dict)
    """By rival."""
    measured: Times = NOTHING

    def error(self, rival: str, kind: str) -> float | None:
        """|predicted / measured - 1|."""
        told = getattr(self.told.get(rival, NOTHING), kind)
        measured = getattr(self.measured, kind)
        return None if told is None or not measured else abs(told / measured - 1)

    def miss(self, rival: str, kind: str) -> float | None:
        """|measured / predicted - 1|, as the router shows it."""
        told = getattr(self.told.get(rival, NOTHING), kind)
        measured = getattr(self.measured, kind)
        return None if not told or measured is None else abs(measured / told - 1)


@dataclass(frozen=True, slots=True)
class Error:
    """Of one rival's predictions of one kind, over some requests: relative to what was measured,
    and, as the router shows it, to what was predicted.
    """

    rival: str
    kind: str
    workload: str
    requests: int
    median: float
    mape: float
    shown_median: float
    shown_mape: float


def error(rows: Iterable[Row], rival: str, kind: str, workload: str = "all") -> Error | None:
    """None: there is nothing to compare."""
    chosen = [row for row in rows if workload in {"all", row.workload}]
    errors = [each for row in chosen if (each := row.error(rival, kind)) is not None]
    misses = [each for row in chosen if (each := row.miss(rival, kind)) is not None]
    if not errors or not misses:
        return None
    return Error(
        rival=rival,
        kind=kind,
        workload=workload,
        requests=len(errors),
        median=median(errors),
        mape=fmean(errors),
        shown_median=median(misses),
        shown_mape=fmean(misses),
    )
