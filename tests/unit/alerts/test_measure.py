import pytest

from steelyard_router.alerts.measure import METRICS, Metric, digest, label, measure, show
from steelyard_router.config import Alert
from steelyard_router.scheduling.histogram import ACCURACY, Histogram


def holding(*values: float) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        ("Score", (100.0, 500_000.0), 500_000),
        ("TTFT", (0.1, 0.5), 500),
        ("TPOT", (0.01, 0.03), 30),
        ("E2E", (1.0, 12.0), 12_000),
        ("Attainment", (1, 1, 1, 0), 75),
        ("PredictionError", (0.1, 0.85), 85),
    ],
)
def test_values_come_in_the_unit_of_their_threshold(
    metric: Metric, values: tuple[float, ...], expected: float
) -> None:
    assert measure(metric, holding(*values), 95) == pytest.approx(expected, rel=ACCURACY)


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_recorded_measures_nothing(metric: Metric) -> None:
    assert measure(metric, Histogram(), 95) is None
    assert digest(metric, Histogram())["count"] == 0


def test_the_metrics_are_those_of_the_configuration() -> None:
    for metric in METRICS:
        assert Alert(name="a", metric=metric, threshold=1).metric == metric


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("Score", 812_345.2, "812,345"),
        ("Score", 0, "0"),
        ("TPOT", 31.46, "31.5 ms"),
        ("TTFT", 500.0, "500 ms"),
        ("E2E", 12_345.6, "12,346 ms"),
        ("Attainment", 83.25, "83.2 %"),
        ("PredictionError", 85.0, "85 %"),
    ],
)
def test_values_are_shown_short_and_with_their_unit(
    metric: Metric, value: float, shown: str
) -> None:
    assert show(metric, value) == shown


def test_attainment_has_no_percentile() -> None:
    assert (label("TTFT", 95), label("Attainment", 95)) == ("p95 TTFT", "Attainment")


def test_a_digest_has_count_mean_and_quantiles_in_one_unit() -> None:
    assert digest("TTFT", holding(0.2, 0.2)) == {
        "count": 2,
        "mean": pytest.approx(200),
        "p50": pytest.approx(200, rel=ACCURACY),
        "p95": pytest.approx(200, rel=ACCURACY),
        "p99": pytest.approx(200, rel=ACCURACY),
    }
    assert digest("Attainment", holding(1, 0)) == {"count": 2, "percent": 50}
