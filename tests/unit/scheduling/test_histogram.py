import math
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.scheduling.histogram import ACCURACY, HUGE, TINY, Histogram, WindowedHistogram

VALUES = st.floats(min_value=TINY * 1.01, max_value=HUGE)
SAMPLES = st.lists(st.one_of(VALUES, st.integers(0, 10**12), st.just(0.0)), max_size=60)


def holding(values: list[float]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


def merged(*parts: Histogram) -> Histogram:
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole


@given(st.lists(VALUES, min_size=1, max_size=200), st.floats(0, 1))
def test_every_quantile_is_within_the_promised_relative_error(
    values: list[float], q: float
) -> None:
    exact = sorted(values)[max(1, math.ceil(q * len(values))) - 1]

    estimate = holding(values).quantile(q)

    assert estimate is not None
    assert abs(estimate - exact) <= ACCURACY * exact


@given(SAMPLES, SAMPLES, SAMPLES)
def test_merging_is_exact_commutative_and_associative(
    a: list[float], b: list[float], c: list[float]
) -> None:
    x, y, z = holding(a), holding(b), holding(c)

    assert merged(x, y) == merged(y, x)
    assert merged(merged(x, y), z) == merged(x, merged(y, z)) == holding(a + b + c)
    assert merged(x, y, z).sum == holding(c + a + b).sum


@given(SAMPLES)
def test_a_histogram_survives_json(values: list[float]) -> None:
    histogram = holding(values)

    read = Histogram.from_dict(orjson.loads(orjson.dumps(histogram.to_dict())))

    assert read == histogram
    assert (read.count, read.sum, read.mean) == (histogram.count, histogram.sum, histogram.mean)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {**Histogram().to_dict(), "accuracy": 0.01},
        {**Histogram().to_dict(), "zeros": "1"},
        {**Histogram().to_dict(), "units": 1},
        {**Histogram().to_dict(), "units": "many"},
        {**Histogram().to_dict(), "buckets": {"3": -1}},
        {**Histogram().to_dict(), "buckets": {"x": 1}},
        {**Histogram().to_dict(), "buckets": [1]},
    ],
)
def test_a_dict_that_is_no_histogram_of_this_accuracy_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"histogram|invalid literal"):
        Histogram.from_dict(data)


def test_an_empty_histogram_has_no_quantile_and_no_mean() -> None:
    empty = Histogram()

    assert (empty.quantile(0.5), empty.mean, empty.count, empty.sum) == (None, None, 0, 0)


def test_zero_tiny_and_negative_values_count_as_zero() -> None:
    histogram = holding([0.0, TINY / 2, -3.0, 10.0])

    assert histogram.quantile(0.75) == 0
    assert histogram.quantile(1) == pytest.approx(10, rel=ACCURACY)
    assert histogram.sum == 10
    assert histogram.count == 4


def test_counts_weigh_samples() -> None:
    histogram = Histogram()
    histogram.record(1, count=99)
    histogram.record(1000, count=1)

    assert histogram.quantile(0.99) == pytest.approx(1, rel=ACCURACY)
    assert histogram.mean == pytest.approx(10.99)


def test_nan_is_refused_and_changes_nothing() -> None:
    histogram = holding([1.0])

    with pytest.raises(ValueError, match="NaN"):
        histogram.record(math.nan)
    assert histogram == holding([1.0])


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan])
def test_a_quantile_outside_its_range_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="0, 1"):
        holding([1.0]).quantile(q)


def test_the_number_of_buckets_is_bounded_whatever_is_recorded() -> None:
    histogram = holding(
        [10.0**exponent * step for exponent in range(-40, 300) for step in range(1, 100)]
    )
    histogram.record(math.inf)

    buckets = histogram.to_dict()["buckets"]

    assert isinstance(buckets, dict)
    assert len(buckets) <= 1650


def test_a_window_forgets_what_is_older_than_it() -> None:
    window = WindowedHistogram(60, slices=6)
    for second in range(200):
        window.record(second + 1, now=second)

    held = window.snapshot(now=199)

    assert held.count == 60
    assert held.quantile(0) == pytest.approx(141, rel=ACCURACY)


def test_a_long_idle_time_empties_the_window() -> None:
    window = WindowedHistogram(60, slices=6)
    window.record(1, now=5)

    assert window.snapshot(now=10**9).count == 0
    assert window.snapshot(now=5 + 120).count == 0


def test_a_sample_older_than_the_window_does_not_disturb_newer_ones() -> None:
    window = WindowedHistogram(60, slices=6)
    window.record(1, now=1000)
    window.record(2, now=1000 - 60)

    assert window.snapshot(now=1000) == holding([1])


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.floats(0.001, 1e6)), max_size=80),
    st.integers(1, 20),
    st.floats(0, 200),
)
def test_a_sample_lives_for_a_window_less_at_most_one_slice(
    samples: list[tuple[float, float]], slices: int, later: float
) -> None:
    window_s = 100.0
    window = WindowedHistogram(window_s, slices)
    ordered = sorted(samples)
    for now, value in ordered:
        window.record(value, now)
    end = (ordered[-1][0] if ordered else 0) + later

    held = window.snapshot(end).count

    # Floor division of floats may place a sample at a slice's very edge on either side of it.
    slack = 1e-6
    slice_s = window_s / slices
    assert held >= sum(end - now <= window_s - slice_s - slack for now, _ in ordered)
    assert held <= sum(end - now <= window_s + slack for now, _ in ordered)


def test_snapshots_in_between_do_not_hide_late_or_new_samples() -> None:
    window = WindowedHistogram(60, slices=6)
    window.record(1, now=12)
    assert window.snapshot(now=25).count == 1

    window.record(2, now=15)
    window.record(3, now=25)

    assert window.snapshot(now=25) == holding([1, 2, 3])
    assert window.snapshot(now=75) == holding([3])


def test_a_snapshot_a_little_in_the_past_still_holds_what_is_newer() -> None:
    window = WindowedHistogram(60, slices=6)
    window.record(1, now=31)

    assert window.snapshot(now=29).count == 1


def test_a_snapshot_is_a_copy() -> None:
    window = WindowedHistogram(60)
    window.record(1, now=0)
    before = window.snapshot(now=0)
    window.record(1, now=0)

    assert before.count == 1


def test_quantiles_grow_with_q() -> None:
    histogram = holding([math.exp(step / 7) for step in range(100)])
    estimates = [histogram.quantile(q / 50) or 0.0 for q in range(51)]

    assert all(low <= high for low, high in pairwise(estimates))


@pytest.mark.parametrize(("window_s", "slices"), [(0, 12), (-1, 12), (60, 0)])
def test_a_window_without_length_or_slices_is_refused(window_s: float, slices: int) -> None:
    with pytest.raises(ValueError, match="positive length"):
        WindowedHistogram(window_s, slices)
