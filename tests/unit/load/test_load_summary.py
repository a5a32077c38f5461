"""The figures of a replay."""

import pytest

from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.summary import Objective, summarise


def measured(
    at_s: float = 0.0,
    *,
    ttft_s: float = 0.1,
    tpot_s: float | None = 0.01,
    e2e_s: float = 1.0,
    cached: int | None = 0,
    instance: str = "a",
) -> Measurement:
    return Measurement(
        at_s=at_s,
        lag_s=0.002,
        input_tokens=100,
        output_tokens=10,
        status=200,
        instance=instance,
        prompt_tokens=100,
        completion_tokens=10,
        cached_tokens=cached,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        e2e_s=e2e_s,
    )


def failed(error: str) -> Measurement:
    return Measurement(at_s=0.5, lag_s=0.0, input_tokens=100, output_tokens=10, error=error)


def test_latencies_are_means_and_percentiles_of_the_successful_requests() -> None:
    summary = summarise([measured(ttft_s=t) for t in (0.1, 0.2, 0.3)] + [failed("x")])

    assert summary.ttft.mean == pytest.approx(200)
    assert summary.ttft.p50 == pytest.approx(200)
    assert summary.ttft.p99 == pytest.approx(298)
    assert (summary.requests, summary.error_count) == (4, 1)


def test_errors_are_counted_by_kind_most_frequent_first() -> None:
    summary = summarise([failed("rare"), failed("often"), failed("often")])

    assert list(summary.errors.items()) == [("often", 2), ("rare", 1)]
    assert summary.ttft.mean is None
    assert summary.hit_ratio is None


def test_the_hit_ratio_weighs_requests_by_their_tokens_and_skips_unknown_ones() -> None:
    summary = summarise([measured(cached=50), measured(cached=0), measured(cached=None)])

    assert summary.hit_ratio == pytest.approx(0.25)


def test_model_time_is_wall_time_times_the_scale_everywhere_but_in_the_lag() -> None:
    summary = summarise([measured(0.0), measured(3.0)], time_scale=10)

    assert summary.ttft.mean == pytest.approx(1000)
    assert summary.tpot.mean == pytest.approx(100)
    assert summary.duration_s == pytest.approx(40)
    assert summary.lag.mean == pytest.approx(2)
    assert summary.to_dict()["time"] == "model"
    assert summary.to_dict()["wall_s"] == pytest.approx(4)


def test_goodput_counts_requests_that_met_every_target_in_the_reported_time() -> None:
    requests = [
        measured(ttft_s=0.1, tpot_s=0.01),
        measured(ttft_s=0.3, tpot_s=0.01),
        measured(ttft_s=0.1, tpot_s=0.05),
        measured(ttft_s=0.1, tpot_s=None),
        failed("x"),
    ]

    summary = summarise(requests, time_scale=2, objective=Objective(ttft_ms=400, tpot_ms=40))

    assert summary.slo_met == 2
    assert summary.goodput_per_s == pytest.approx(1.0)


def test_without_targets_there_is_no_goodput() -> None:
    assert summarise([measured()]).goodput_per_s is None
    assert summarise([measured()]).to_dict()["slo_met"] is None


def test_the_json_has_the_agreed_keys() -> None:
    shape = summarise([measured()]).to_dict()

    assert {"requests", "errors", "duration_s", "hit_ratio"} <= shape.keys()
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        latency = shape[name]
        assert isinstance(latency, dict)
        assert {"mean", "p50", "p99"} <= latency.keys()


def test_nothing_measured_is_a_summary_too() -> None:
    assert summarise([]).to_dict()["requests"] == 0


def test_a_line_of_the_request_file_gives_latencies_in_the_reported_time() -> None:
    line = measured().to_dict(time_scale=10)

    assert (line["ttft_ms"], line["e2e_ms"], line["lag_ms"]) == (1000.0, 10_000.0, 2.0)
    assert failed("x").to_dict()["ttft_ms"] is None
