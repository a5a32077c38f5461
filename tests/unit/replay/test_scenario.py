"""Whole runs as values: what they measure, and that processes change nothing."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from support.fleet_case import request

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.trace import Trace, TraceRequest
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.parallel import Cell, run_all
from steelyard_simulator.replay.report import Report, Setup, report
from steelyard_simulator.replay.scenario import Hardware, Load, Scenario, Sight, prepare, run

SMALL = Scenario(hardware=Hardware(instances=3))


def trace(count: int = 120) -> Trace:
    """A dozen families of prompts, each with six blocks in common."""
    rng = Random(7)
    requests = []
    for n in range(count):
        family = 100 * rng.randrange(12)
        blocks = [*range(family, family + 6), 10_000 + n]
        requests.append(request(n / 4, rng.randint(3600, 6000), rng.randint(1, 60), blocks))
    return Trace(Path("made.jsonl"), "Mooncake", tuple(requests))


def without_time(one: Report) -> Report:
    return replace(one, wall_s=0.0, cpu_s=0.0)


def test_a_seed_gives_the_same_report_again_and_another_seed_another_one() -> None:
    first, again, other = (run(trace(), SMALL, "default", seed) for seed in (1, 1, 2))

    assert without_time(first) == without_time(again)
    assert first.ttft != other.ttft


def test_processes_give_what_one_process_gives() -> None:
    cells = [Cell(policy, seed, "none") for policy in ("default", "round-robin") for seed in (1, 2)]

    alone = run_all(trace(), SMALL, cells, jobs=1)
    together = run_all(trace(), SMALL, cells, jobs=2)

    assert [without_time(one) for one in together] == [without_time(one) for one in alone]
    assert [(one.setup.policy, one.setup.seed, one.setup.scheduler) for one in alone] == cells


def test_a_report_has_the_shape_that_is_documented() -> None:
    made = run(trace(), SMALL, "multiplicative", 1).to_dict()

    assert {"trace", "policy", "scheduler", "instances", "rate_scale", "seed"} < made.keys()
    assert (made["scheduler"], made["max_sequences"], made["rate_per_s"]) == ("none", 256, None)
    assert (made["requests"], made["rejected"]) == (120, 0.0)
    assert made["attainment"] == {"default": 1.0}
    assert made["attainment_overall"] == 1.0
    assert made["wait_ms"] == {"mean": 0.0, "p99": 0.0, "max": 0.0}
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        spread = made[name]
        assert isinstance(spread, dict)
        assert {"mean", "p50", "p99"} < spread.keys()


def test_prefix_aware_placement_hits_more_than_taking_turns() -> None:
    aware, blind = (run(trace(), SMALL, name, 1) for name in ("multiplicative", "round-robin"))

    assert aware.hit_ratio > blind.hit_ratio > 0


def test_slow_instances_are_the_last_ones_and_get_less() -> None:
    scenario = Scenario(hardware=Hardware(instances=3, slow=((1, 5.0),)), load=Load(rate_scale=4))

    made = run(trace(), scenario, "multiplicative", 1)

    assert scenario.hardware.slowness() == [1.0, 1.0, 5.0]
    assert min(made.by_instance, key=lambda name: made.by_instance[name]) == "i02"


def test_more_slow_instances_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="4 slow instances are more than 3"):
        Hardware(instances=3, slow=((4, 2.0),)).slowness()


def test_a_rate_scale_shortens_the_run() -> None:
    fast = replace(SMALL, load=Load(rate_scale=2.0))

    assert max(r.at_s for r in prepare(trace(), fast)) == pytest.approx(119 / 4 / 2)


def test_what_no_engine_can_hold_is_left_out_or_cut() -> None:
    long = trace(2)
    requests = (
        replace(long.requests[0], input_tokens=2_000_000),
        replace(long.requests[1], input_tokens=1_048_000, output_tokens=5000),
    )

    (kept,) = prepare(replace(long, requests=requests), SMALL)

    assert kept.input_tokens + kept.output_tokens == 1_048_576


def test_several_routers_see_less_than_one() -> None:
    one, four = (
        run(trace(), replace(SMALL, sight=Sight(routers=routers)), "multiplicative", 1)
        for routers in (1, 4)
    )

    assert four.hit_ratio < one.hit_ratio


SETUP = Setup("t", "p", "none", 1, 256, 10_000, 1.0, None, 1)


def outcome(workload: str, ttft_s: float, tpot_s: float, *, whole: bool = True) -> Outcome:
    e2e_s = ttft_s + 10 * tpot_s if whole else None
    return Outcome(0, workload, "i00", 0.0, ttft_s, e2e_s, 100, 11, 40, open_s=e2e_s or 2.0)


def refused(workload: str, wait_s: float) -> Outcome:
    return Outcome(
        0, workload, None, 0.0, None, None, 100, 11, 0, open_s=wait_s, wait_s=wait_s, rejected=True
    )


def reported(outcomes: list[Outcome], **slos: SLO) -> Report:
    return report(outcomes, SETUP, slos=slos, retries=0, preemptions=0, wall_s=1.0, cpu_s=1.0)


def test_attainment_counts_every_target_by_workload_and_failures_as_misses() -> None:
    outcomes = [
        outcome("chat", 0.4, 0.02),
        outcome("chat", 0.6, 0.02),
        outcome("chat", 0.4, 0.04),
        outcome("chat", 0.1, 0.01, whole=False),
        outcome("batch", 9.0, 0.9),
    ]

    made = reported(outcomes, chat=SLO(ttft_s=0.5, tpot_s=0.03), batch=SLO())

    assert made.attainment == {"batch": 1.0, "chat": 0.25}
    assert made.attained == pytest.approx(2 / 5)
    assert (made.requests, made.failed, made.rejected) == (5, 1, 0)
    assert made.hit_ratio == pytest.approx(0.4)
    assert made.ttft.mean == pytest.approx(1000 * (0.4 + 0.6 + 0.4 + 9.0) / 4)


def test_a_refused_request_is_missed_and_its_wait_counts() -> None:
    waited = outcome("chat", 0.4, 0.0)._replace(wait_s=0.3)

    made = reported([waited, refused("chat", 2.0), refused("batch", 30.0)], chat=SLO(), batch=SLO())

    assert made.attainment == {"batch": 0.0, "chat": 0.5}
    assert (made.rejected, made.failed) == (2, 2)
    assert made.to_dict()["rejected"] == pytest.approx(2 / 3, abs=1e-5)
    assert made.wait.max == pytest.approx(30_000.0)
    assert made.wait.mean == pytest.approx(1000 * (0.3 + 2.0 + 30.0) / 3)
    assert made.e2e.mean == pytest.approx(400.0)


def test_g_is_what_met_its_targets_over_all_latencies_until_refusal_or_failure_too() -> None:
    outcomes = [
        outcome("chat", 0.5, 0.0),
        outcome("chat", 3.0, 0.1),
        outcome("chat", 0.1, 0.0, whole=False),
        refused("chat", 2.0),
    ]

    made = reported(outcomes, chat=SLO(ttft_s=1.0))

    assert made.g == pytest.approx(1 / (0.5 + 4.0 + 2.0 + 2.0))


def test_nothing_to_report_gives_zeros() -> None:
    made = reported([])

    assert (made.attained, made.g, made.wait.max, made.to_dict()["rejected"]) == (0, 0, 0, 0)


def test_an_engine_runs_no_more_sequences_than_the_scenario_says() -> None:
    crowd = Trace(Path("made"), "mix", tuple(request(0.0, 10, 100) for _ in range(40)))

    few, many = (
        run(crowd, Scenario(hardware=Hardware(1, max_sequences=most)), "default", 1)
        for most in (2, None)
    )

    assert (few.setup.max_sequences, many.setup.max_sequences) == (2, 256)
    assert few.span_s > 10 * many.span_s


def test_workloads_of_a_trace_have_their_own_attainment() -> None:
    mixed = trace()
    requests: tuple[TraceRequest, ...] = tuple(
        replace(one, workload="batch" if n % 2 else "chat") for n, one in enumerate(mixed.requests)
    )
    scenario = replace(SMALL, slos={"chat": SLO(ttft_s=1e-6)})

    made = run(replace(mixed, requests=requests), scenario, "default", 1)

    assert made.attainment == {"batch": 1.0, "chat": 0.0}
