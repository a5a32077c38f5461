"""What all replicas have measured together, as the one that judges alerts knows it.

A replica that is out of reach counts with what it told last, until that is older than the window.
One that gets requests and has told nothing for longer than the window makes the whole unknown:
alerts on a part of the requests would be wrong in either direction. A replica that is not ready
gets no requests, so its silence does no harm; one that has gone stays in the sum until its last
measurements have left the window.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steelyard_router.alerts.exchange import Measured, Place
from steelyard_router.alerts.measure import Metric
from steelyard_router.cluster.replica import Replica
from steelyard_router.scheduling.histogram import Histogram


@dataclass(slots=True)
class _Other:
    """One other replica. `complete_at`: until when all that it did is known."""

    listed: bool
    ready: bool
    complete_at: float
    measured: Measured | None = None
    heard_at: float = 0.0


class Others:
    """The other replicas' measurements. Times are on the reader's own steady clock."""

    def __init__(self) -> None:
        self._others: dict[str, _Other] = {}

    def follow(self, replicas: Iterable[Replica], now: float, *, keep_s: float) -> None:
        """Take the newest list. Those that left it are forgotten after `keep_s`."""
        listed = {replica.name: replica for replica in replicas}
        for name, replica in listed.items():
            other = self._others.setdefault(
                name, _Other(listed=True, ready=replica.ready, complete_at=now)
            )
            other.listed = True
            if not (other.ready and replica.ready):
                other.complete_at = now
            other.ready = replica.ready
        for name, other in list(self._others.items()):
            if name not in listed:
                other.listed = False
                if other.measured is None or now - other.heard_at > keep_s:
                    del self._others[name]

    def heard(self, name: str, measured: Measured, now: float) -> None:
        other = self._others.get(name)
        if other is not None:
            other.measured, other.heard_at, other.complete_at = measured, now, now

    def merged(self, own: Measured, now: float) -> "Merged":
        return Merged(own, list(self._others.values()), now)

    def missing(self, now: float, window_s: float) -> list[str]:
        """Those whose silence makes a window unknown."""
        return [name for name, other in self._others.items() if _missing(other, now, window_s)]


class Merged:
    """A Source of alerts and figures: this replica's own measurements and the others'."""

    def __init__(self, own: Measured, others: list[_Other], now: float) -> None:
        self._own = own
        self._others = others
        self._now = now

    def snapshot(
        self,
        metric: Metric,
        workload: str,
        window_s: float,
        now: float,  # noqa: ARG002 -- it was made for one moment
    ) -> Histogram | None:
        merged = Histogram()
        place = Place(metric, workload, int(window_s))
        if (own := self._own.histograms.get(place)) is not None:
            merged.merge(own)
        if any(_missing(other, self._now, window_s) for other in self._others):
            return None
        for measured in self._told(window_s):
            if place in measured.histograms:
                merged.merge(measured.histograms[place])
        return merged

    def replicas(self, window_s: float) -> int:
        """How many have measurements in a window's sum, this one among them."""
        return 1 + sum(1 for _ in self._told(window_s))

    def _told(self, window_s: float) -> Iterator[Measured]:
        for other in self._others:
            measured = other.measured
            if measured is None or measured.revision != self._own.revision:
                continue
            if self._now - other.heard_at <= window_s:
                yield measured


def _missing(other: _Other, now: float, window_s: float) -> bool:
    return other.listed and other.ready and now - other.complete_at > window_s
