"""What a rule compares: one number out of a distribution, in the unit of its threshold.

Latencies are recorded in seconds and judged in milliseconds; only this module converts. Attainment
is recorded as 1 for a met SLO and 0 for a missed one, so its percentage is the mean and merges like
everything else. PredictionError is recorded as |actual / predicted - 1| of TTFT and judged in
percent.
"""

from typing import Literal, get_args

from steelyard_router.scheduling.histogram import Histogram

Metric = Literal["Score", "TTFT", "TPOT", "E2E", "Attainment", "PredictionError"]
METRICS: tuple[Metric, ...] = get_args(Metric)

_UNITS: dict[Metric, str] = {
    "TTFT": " ms",
    "TPOT": " ms",
    "E2E": " ms",
    "Attainment": " %",
    "PredictionError": " %",
}
_SCALES: dict[Metric, float] = {
    "TTFT": 1000.0,
    "TPOT": 1000.0,
    "E2E": 1000.0,
    "Attainment": 100.0,
    "PredictionError": 100.0,
}


def measure(metric: Metric, histogram: Histogram, percentile: float) -> float | None:
    """The percentile in the threshold's unit (tokens x requests, ms, %); the mean of Attainment."""
    value = histogram.mean if is_floor(metric) else histogram.quantile(percentile / 100)
    return None if value is None else value * _SCALES.get(metric, 1.0)


def digest(metric: Metric, histogram: Histogram) -> dict[str, float | int | None]:
    """For people: count, mean, p50, p95 and p99 in the threshold's unit; of Attainment, percent."""
    if is_floor(metric):
        return {"count": histogram.count, "percent": measure(metric, histogram, 0)}
    mean = histogram.mean
    quantiles = {f"p{p}": measure(metric, histogram, p) for p in (50, 95, 99)}
    scaled = None if mean is None else mean * _SCALES.get(metric, 1.0)
    return {"count": histogram.count, "mean": scaled, **quantiles}


def is_floor(metric: Metric) -> bool:
    """Whether low values are the bad ones."""
    return metric == "Attainment"


def label(metric: Metric, percentile: int) -> str:
    return metric if is_floor(metric) else f"p{percentile} {metric}"


def show(metric: Metric, value: float) -> str:
    """A value with its unit, as short as it can be read: 812,345 or 31.5 ms."""
    number = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.1f}"
    return number + _UNITS.get(metric, "")
