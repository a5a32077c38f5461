"""From the samples of several runs to one figure per cell and target, and to the comparison."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from steelyard_bench.wire.cell import Cell
from steelyard_bench.wire.load import Load
from steelyard_bench.wire.meter import Meter

Value = float | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one cell against one target."""

    cell: Cell
    target: str
    load: Load
    cpu_s: float | None
    peak_rss_bytes: int | None

    @classmethod
    def of(cls, cell: Cell, target: str, load: Load, meter: Meter) -> "Sample":
        return cls(cell, target, load, meter.cpu_s, meter.peak_rss_bytes)


MEASURES: dict[str, Callable[[Sample], Value]] = {
    "requests_per_s": lambda sample: sample.load.requests / sample.load.seconds,
    "p50_ms": lambda sample: sample.load.p50_ms,
    "p99_ms": lambda sample: sample.load.p99_ms,
    "cpu_us_per_request": lambda sample: _share_us(sample.cpu_s, sample.load.requests),
    "cpu_us_per_chunk": lambda sample: _share_us(sample.cpu_s, sample.load.chunks),
    "rss_bytes": lambda sample: sample.peak_rss_bytes,
    "errors": lambda sample: sample.load.errors,
}
"""CPU is all that the router's processes used in the window, over the requests that ended in it;
per chunk, over the output chunks that came in it, so the cost of a stream's request is inside.
"""


SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {"rss_bytes": max, "errors": sum}
"""Of the runs' values; the median for all others."""


def _share_us(cpu_s: float | None, count: int) -> Value:
    return cpu_s / count * 1e6 if cpu_s is not None and count else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell and a target: the median over the runs (of memory the peak, of errors the sum), and
    least and most.
    """

    cell: str
    target: str
    medians: dict[str, Value]
    spread: dict[str, tuple[float, float]]
    runs: int

    def to_dict(self) -> dict[str, object]:
        return {
            "cell": self.cell,
            "target": self.target,
            **self.medians,
            "spread": self.spread,
            "runs": self.runs,
        }


def figures(samples: Iterable[Sample]) -> list[Figure]:
    """In the order in which cells and targets first appear."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.cell.name, sample.target), []).append(sample)
    return [_figure(cell, target, group) for (cell, target), group in groups.items()]


def _figure(cell: str, target: str, samples: Sequence[Sample]) -> Figure:
    medians: dict[str, Value] = {}
    spread: dict[str, tuple[float, float]] = {}
    for name, measure in MEASURES.items():
        values = [value for sample in samples if (value := measure(sample)) is not None]
        medians[name] = round(SUMMARIES.get(name, median)(values), 3) if values else None
        if values:
            spread[name] = round(min(values), 3), round(max(values), 3)
    return Figure(cell, target, medians, spread, len(samples))


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours over the best peer's, in one measure of one cell."""

    cell: str
    measure: str
    peer: str
    ratio: float


def policy_us(found: Sequence[Figure], ours: str, bare: str) -> dict[str, float]:
    """By cell, the CPU per request that `ours` costs over `bare`, in us."""
    values = {
        (figure.cell, figure.target): figure.medians["cpu_us_per_request"] for figure in found
    }
    return {
        cell: round(mine - theirs, 1)
        for (cell, target), mine in values.items()
        if target == ours and mine is not None and (theirs := values.get((cell, bare))) is not None
    }


COMPARED = {
    "requests_per_s": max,
    "cpu_us_per_request": min,
    "cpu_us_per_chunk": min,
    "rss_bytes": min,
}
"""What is best of the peers' values."""


def compare(found: Sequence[Figure], ours: str, peers: Sequence[str]) -> list[Ratio]:
    """By cell; the best peer is found for each measure on its own."""
    ratios: list[Ratio] = []
    for own in (figure for figure in found if figure.target == ours):
        rivals = [figure for figure in found if figure.cell == own.cell and figure.target in peers]
        for measure, best in COMPARED.items():
            values = {rival.target: value for rival in rivals if (value := rival.medians[measure])}
            mine = own.medians[measure]
            if values and mine is not None:
                peer = best(values, key=values.__getitem__)
                ratios.append(Ratio(own.cell, measure, peer, mine / values[peer]))
    return ratios
