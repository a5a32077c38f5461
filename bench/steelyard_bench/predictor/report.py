"""All of `steelyard bench predictor`: errors under steady load, errors after the clock has dropped,
and costs, held against the bars that this is to meet.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from steelyard_bench.predictor.cost import Cost, costs
from steelyard_bench.predictor.play import Load, Throttle, play
from steelyard_bench.predictor.row import KINDS, RIVALS, Error, Row, error

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""

LEARNED: Final = 200
"""Requests after which predictions are judged."""
SPAN: Final = 100
"""Requests of a span after the clock has dropped."""
WORKLOADS: Final = ("all", "chat", "code", "batch")
MEDIAN_BARS: Final = {"ttft": 0.10, "tpot": 0.20}
BACK: Final = 1.5
"""Times the error before, at most, in the second span; and times the bars themselves."""
COST_BARS_US: Final = {"update": 20.0, "prediction": 5.0}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    rates_per_s: tuple[float, ...]
    duration_s: float
    seeds: tuple[int, ...]
    throttled_rate_per_s: float
    drop_s: float
    """When the clock drops; the load goes on for as long again."""
    factor: float
    rounds: int
    calls: int


FULL: Final = Plan((12.0, 24.0, 34.0), 120.0, (1, 2, 3, 4), 12.0, 60.0, 2.0, 9, 20_000)
QUICK: Final = Plan((12.0,), 40.0, (1,), 12.0, 30.0, 2.0, 2, 200)


@dataclass(frozen=True, slots=True)
class Steady:
    """Errors at one rate, by rival, kind and workload."""

    rate_per_s: float
    requests: int
    predicted: int
    """Of them, those for which the router predicted anything."""
    errors: list[Error]


@dataclass(frozen=True, slots=True)
class Span:
    """The router's median errors before the clock dropped (`first` is None), or over the requests
    from number `first` to `last` after it. Beside them those of a router that is told what steps
    cost: load that a fleet can bear only half as well changes more than its clock.
    """

    first: int | None
    last: int | None
    requests: int
    predicted: int
    ttft: float | None
    tpot: float | None
    told_ttft: float | None
    told_tpot: float | None


@dataclass(frozen=True, slots=True)
class Bar:
    """`value` is not to be above `limit`."""

    name: str
    value: float | None
    limit: float
    holds: bool

    @classmethod
    def of(cls, name: str, value: float | None, limit: float) -> Self:
        return cls(name, value, limit, value is not None and value <= limit)


@dataclass(frozen=True, slots=True)
class Report:
    """Errors are relative to what was measured."""

    steady: list[Steady]
    spans: list[Span]
    costs: list[Cost]
    bars: list[Bar]
    met: bool


def measure(plan: Plan, progress: Progress) -> Report:
    """A few minutes for FULL."""
    found = [_steady(rate, plan, progress) for rate in plan.rates_per_s]
    spans = _spans(plan, progress)
    cost = costs(plan.rounds, plan.calls, lambda share: progress("processor time", share))
    bars = [*error_bars(found, MEDIAN_BARS), *_back_bars(spans), *_cost_bars(cost)]
    return Report(found, spans, cost, bars, all(bar.holds for bar in bars))


def _steady(rate_per_s: float, plan: Plan, progress: Progress) -> Steady:
    rows: list[Row] = []
    for number, seed in enumerate(plan.seeds):
        rows += play(Load(rate_per_s, plan.duration_s, seed))[LEARNED:]
        progress(f"{rate_per_s:g} requests a second", (number + 1) / len(plan.seeds))
    return steady(rate_per_s, rows)


def steady(rate_per_s: float, rows: Sequence[Row]) -> Steady:
    """What they come to."""
    errors = [
        found
        for kind in KINDS
        for workload in WORKLOADS
        for rival in RIVALS
        if (found := error(rows, rival, kind, workload)) is not None
    ]
    return Steady(rate_per_s, len(rows), _predicted(rows), errors)


def _spans(plan: Plan, progress: Progress) -> list[Span]:
    """Over all seeds together."""
    learned, told = (_drops(plan, progress, told=told) for told in (False, True))
    spans = [_span(learned.before, told.before, None)]
    for first in range(0, min(map(len, learned.after)) - SPAN + 1, SPAN):
        rows, told_rows = (
            [row for rows in drops.after for row in rows[first : first + SPAN]]
            for drops in (learned, told)
        )
        spans.append(_span(rows, told_rows, first))
    return spans


class _Drops(NamedTuple):
    """Of all seeds: requests before the clock dropped, once the router had learned, and those after
    it of each.
    """

    before: list[Row]
    after: list[list[Row]]


def _drops(plan: Plan, progress: Progress, *, told: bool) -> _Drops:
    drops = _Drops([], [])
    for number, seed in enumerate(plan.seeds):
        throttle = Throttle(plan.drop_s, plan.factor)
        load = Load(plan.throttled_rate_per_s, 2 * plan.drop_s, seed, throttle)
        rows = play(load, told=told)
        dropped = sum(row.at_s < plan.drop_s for row in rows)
        drops.before.extend(rows[LEARNED:dropped])
        drops.after.append(rows[dropped:])
        progress("the clock drops", (told + (number + 1) / len(plan.seeds)) / 2)
    return drops


def _span(rows: Sequence[Row], told: Sequence[Row], first: int | None) -> Span:
    middle = [
        found.median if (found := error(each, "router", kind)) else None
        for each in (rows, told)
        for kind in KINDS
    ]
    last = None if first is None else first + SPAN
    return Span(first, last, len(rows), _predicted(rows), *middle)


def _predicted(rows: Sequence[Row]) -> int:
    return sum(row.told["router"].ttft is not None for row in rows)


def error_bars(found: Sequence[Steady], limits: Mapping[str, float]) -> list[Bar]:
    """Of the router's medians over all workloads; `limits` by kind."""
    return [
        Bar.of(f"median error of {kind.upper()} at {one.rate_per_s:g}/s", _median(one, kind), limit)
        for one in found
        for kind, limit in limits.items()
    ]


def _median(one: Steady, kind: str) -> float | None:
    """The router's; None: it has predicted nothing."""
    wanted = ("router", kind, "all")
    medians = (
        each.median for each in one.errors if (each.rival, each.kind, each.workload) == wanted
    )
    return next(medians, None)


def _back_bars(spans: Sequence[Span]) -> list[Bar]:
    """Of the second hundred requests after the drop."""
    before, second = spans[0], spans[2] if len(spans) > 2 else None
    bars = []
    for kind, limit in MEDIAN_BARS.items():
        usual: float | None = getattr(before, kind)
        then: float | None = None if second is None else getattr(second, kind)
        ratio = then / usual if then is not None and usual else None
        name = f"{kind.upper()}, second hundred after the drop"
        bars += [Bar.of(name, then, BACK * limit), Bar.of(f"{name} / before", ratio, BACK)]
    return bars


def _cost_bars(cost: Sequence[Cost]) -> list[Bar]:
    return [Bar.of(f"one {one.what}, us", one.us, COST_BARS_US[one.what]) for one in cost]
