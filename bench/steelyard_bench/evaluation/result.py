"""Reads an evaluation: means over seeds, and comparisons of runs that have the same seed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

METRICS: Final[Mapping[str, Callable[[Mapping[str, Any]], float | None]]] = {
    "ttft": lambda run: run["ttft_ms"]["mean"],
    "ttft_p99": lambda run: run["ttft_ms"]["p99"],
    "tpot": lambda run: run["tpot_ms"]["mean"],
    "tpot_p99": lambda run: run["tpot_ms"]["p99"],
    "e2e": lambda run: run["e2e_ms"]["mean"],
    "hit": lambda run: run["hit_ratio"],
    "attainment": lambda run: run["attainment"],
}


class Figure(NamedTuple):
    """Over seeds: the mean, and the standard deviation (None of a single one)."""

    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One policy's figure over another's in the same cell, over the seeds that both have."""

    ratio: float
    deviation: float | None
    """Of the seeds' own ratios."""
    seeds: int

    @property
    def change(self) -> float:
        return self.ratio - 1

    @property
    def error(self) -> float:
        """Of the mean; 0 where one seed tells nothing of it."""
        return 0.0 if self.deviation is None else self.deviation / sqrt(self.seeds)


class Evaluation:
    """A document of store.py."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.subjects: list[str] = document["subjects"]
        """The default first."""
        self.cells: dict[str, Mapping[str, Any]] = {c["name"]: c for c in document["cells"]}
        self._runs: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
        for run in document["runs"]:
            self._runs.setdefault((run["cell"], run["policy"]), {})[run["seed"]] = run

    def names(self, group: str) -> list[str]:
        """Cells of a group of which something is there."""
        known = {cell for cell, _ in self._runs}
        return [n for n, cell in self.cells.items() if cell["group"] == group and n in known]

    def policies(self, cell: str) -> list[str]:
        return [policy for name, policy in self._runs if name == cell]

    def runs(self, cell: str, policy: str) -> dict[int, Mapping[str, Any]]:
        """By seed."""
        return self._runs.get((cell, policy), {})

    def figure(self, cell: str, policy: str, metric: str) -> Figure | None:
        values = list(self._values(cell, policy, metric).values())
        if not values:
            return None
        return Figure(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def compare(
        self, cell: str, policy: str, other: str, metric: str, *, other_cell: str | None = None
    ) -> Comparison | None:
        """None where they have no seed in common, or the other's figure is 0."""
        mine = self._values(cell, policy, metric)
        theirs = self._values(other_cell or cell, other, metric)
        seeds = sorted(mine.keys() & theirs.keys())
        if not seeds or not all(theirs[seed] for seed in seeds):
            return None
        ratios = [mine[seed] / theirs[seed] for seed in seeds]
        total = sum(mine[seed] for seed in seeds) / sum(theirs[seed] for seed in seeds)
        return Comparison(total, stdev(ratios) if len(ratios) > 1 else None, len(seeds))

    def cpu_s(self) -> float:
        return float(sum(run["cpu_s"] for run in self.document["runs"]))

    def _values(self, cell: str, policy: str, metric: str) -> dict[int, float]:
        read = METRICS[metric]
        found = {seed: read(run) for seed, run in self.runs(cell, policy).items()}
        return {seed: value for seed, value in found.items() if value is not None}


def known(found: Iterable[Comparison | None]) -> list[Comparison]:
    return [one for one in found if one is not None]
