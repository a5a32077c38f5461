import pytest
from support.fidelity_case import measurement

from steelyard_bench.fidelity.figure import deviation, mean, of_measurements, of_outcomes
from steelyard_simulator.replay.outcome import Outcome


def outcome(at_s: float, e2e_s: float | None, instance: str = "i00") -> Outcome:
    return Outcome(
        number=0,
        workload="default",
        instance=instance,
        at_s=at_s,
        ttft_s=0.1,
        e2e_s=e2e_s,
        prompt_tokens=100,
        output_tokens=11,
        cached_tokens=25,
    )


def test_a_faster_replay_is_told_in_model_time() -> None:
    found = [measurement(0.0, 0.1, cached=50), measurement(1.0, 0.3, instance="engine-1")]

    figures = of_measurements(found, time_scale=3.0)

    assert figures.ttft_ms == pytest.approx(600)
    assert figures.tpot_ms == pytest.approx(30)
    assert figures.hit_ratio == 0.25
    assert figures.busiest == 0.5


def test_what_failed_is_counted_and_else_left_out() -> None:
    figures = of_measurements([measurement(0.0, 0.1), measurement(1.0, 9.0, error="broken")])

    assert (figures.requests, figures.errors) == (1, 1)
    assert figures.ttft_ms == pytest.approx(100)


def test_the_time_outside_of_the_engine_counts_for_first_tokens_and_ends() -> None:
    figures = of_outcomes([outcome(0.0, 0.6)], overhead_s=0.01)

    assert figures.ttft_ms == pytest.approx(110)
    assert figures.e2e_ms == pytest.approx(610)
    assert figures.tpot_ms == pytest.approx(50)
    assert figures.hit_ratio == 0.25


def test_runs_have_a_mean_and_what_they_differ_by() -> None:
    runs = [of_outcomes([outcome(0.0, 0.6)], overhead_s=each) for each in (0.0, 0.02)]

    assert mean(runs)["ttft_ms"] == pytest.approx(110)
    assert deviation(runs)["ttft_ms"] == pytest.approx(14.1421)
    assert deviation(runs[:1])["ttft_ms"] == 0.0
