"""Counts as plain integers: cheap to add to, turned into metrics only when somebody scrapes.

What it keeps true: the number of series has an upper bound, whatever names requests carry.
Instances that come when there are MAX_INSTANCES already are counted together, as OTHER.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from steelyard_router.observability.outcome import Outcome

OTHER = "other"
"""Label value of everything that has no series of its own."""

MAX_INSTANCES = 512
"""So many instances have series of their own."""

Bounds = tuple[float, ...]

TTFT_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TPOT_BOUNDS_S = (0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)
E2E_BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
QUEUE_BOUNDS_S = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OVERHEAD_BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
SCORE_BOUNDS = (1e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8)

RESULTS = frozenset(
    {
        "ok",
        "client_gone",
        "client_error",
        "upstream_error",
        "timeout",
        "overloaded",
        "no_instance",
    }
)
NOT_OUR_ERRORS = frozenset({"ok", "client_gone", "client_error"})
CODES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")


class Buckets:
    """A histogram with fixed upper bounds, inclusive as in Prometheus, and an overflow bucket."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """Counts at or below each bound; the last is the count of all."""
        return list(accumulate(self.counts))


@dataclass(slots=True)
class Tally:
    """Sums over any set of requests."""

    results: dict[tuple[str, int], int] = field(default_factory=dict)
    """Requests by result and hundreds of the status."""
    prompt_tokens: int = 0
    output_tokens: int = 0
    hit_tokens: int = 0
    """Prompt tokens that the index expected to be cached."""
    cached_tokens: int = 0
    """Prompt tokens that engines reported as cached."""
    reported_prompt_tokens: int = 0
    """Prompt tokens of the requests whose engine reported cached tokens."""

    def add(self, outcome: Outcome) -> None:
        result = (outcome.result, outcome.status // 100)
        try:
            self.results[result] += 1
        except KeyError:
            self._first(result)
        self.prompt_tokens += outcome.prompt_tokens
        self.output_tokens += outcome.output_tokens
        self.hit_tokens += outcome.predicted_hit_tokens
        if outcome.cached_tokens is not None:
            self.cached_tokens += outcome.cached_tokens
            self.reported_prompt_tokens += outcome.prompt_tokens

    def absorb(self, other: "Tally") -> None:
        for result, count in other.results.items():
            self.results[result] = self.results.get(result, 0) + count
        self.prompt_tokens += other.prompt_tokens
        self.output_tokens += other.output_tokens
        self.hit_tokens += other.hit_tokens
        self.cached_tokens += other.cached_tokens
        self.reported_prompt_tokens += other.reported_prompt_tokens

    @property
    def requests(self) -> int:
        return sum(self.results.values())

    @property
    def errors(self) -> int:
        """Requests that failed for a reason that is not the client's."""
        return sum(n for (result, _), n in self.results.items() if result not in NOT_OUR_ERRORS)

    @property
    def hit_ratio(self) -> float | None:
        """Share of prompt tokens that engines say they had; None before any engine said so."""
        whole = self.reported_prompt_tokens
        return self.cached_tokens / whole if whole else None

    def _first(self, result: tuple[str, int]) -> None:
        """Count a result not seen before; one that nobody documented is counted as OTHER."""
        name, hundreds = result
        known = (name if name in RESULTS else OTHER, hundreds if 0 < hundreds < len(CODES) else 0)
        self.results[known] = self.results.get(known, 0) + 1


class Series:
    """What is counted for one workload on one instance."""

    __slots__ = ("e2e", "tally", "tpot", "ttft")

    def __init__(self) -> None:
        self.tally = Tally()
        self.ttft = Buckets(TTFT_BOUNDS_S)
        self.tpot = Buckets(TPOT_BOUNDS_S)
        self.e2e = Buckets(E2E_BOUNDS_S)

    def add(self, outcome: Outcome) -> None:
        self.tally.add(outcome)
        if outcome.ttft_s is not None:
            self.ttft.add(outcome.ttft_s)
        if outcome.tpot_s is not None:
            self.tpot.add(outcome.tpot_s)
        if outcome.e2e_s is not None:
            self.e2e.add(outcome.e2e_s)


class SeriesTable:
    """Series by (workload, instance), with at most `max_instances` instances.

    The empty instance stands for requests that no instance was chosen for. It needs no place. What
    is dropped goes on counting in the total.
    """

    def __init__(self, max_instances: int = MAX_INSTANCES) -> None:
        self._series: dict[tuple[str, str], Series] = {}
        self._instances: set[str] = set()
        self._max_instances = max_instances
        self._dropped = Tally()

    def get(self, workload: str, instance: str) -> Series:
        """The series to count in; `workload` must come from a bounded set, `instance` need not."""
        series = self._series.get((workload, instance))
        return self._open(workload, instance) if series is None else series

    def items(self) -> list[tuple[tuple[str, str], Series]]:
        """A copy, so that a scrape may pause while requests go on."""
        return list(self._series.items())

    def total(self) -> Tally:
        """Of all requests ever counted."""
        total = Tally()
        total.absorb(self._dropped)
        for series in self._series.values():
            total.absorb(series.tally)
        return total

    def keep(self, instances: Collection[str]) -> None:
        """Drop all instances but these."""
        if gone := self._instances.difference(instances):
            self._instances -= gone
            self._drop([key for key in self._series if key[1] in gone])

    def drop_workload(self, workload: str) -> None:
        self._drop([key for key in self._series if key[0] == workload])

    def _drop(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            self._dropped.absorb(self._series.pop(key).tally)

    def _open(self, workload: str, instance: str) -> Series:
        if instance not in self._instances and instance not in {"", OTHER}:
            if len(self._instances) >= self._max_instances:
                instance = OTHER
            else:
                self._instances.add(instance)
        return self._series.setdefault((workload, instance), Series())
