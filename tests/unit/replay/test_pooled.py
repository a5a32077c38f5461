"""The router's pool in front of simulated engines."""

from collections.abc import Sequence

import pytest
from support.fleet_case import QUICK, fleet, request
from support.waiting import NOW_S, job, keys, lane

from steelyard_router.scheduling.order import Deadline, arrange
from steelyard_simulator.load.mix import Mix
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.change import Change
from steelyard_simulator.replay.earliest_deadline import EarliestDeadline
from steelyard_simulator.replay.fleet import Settings
from steelyard_simulator.replay.outcome import Outcome
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.report import Report
from steelyard_simulator.replay.scenario import Hardware, Scenario, run
from steelyard_simulator.replay.scheduler import SCHEDULERS, build

POOLED = sorted(SCHEDULERS)


def mix(scheduler: str, rate_per_s: float, seconds: float, instances: int, seed: int = 1) -> Report:
    scenario = Scenario(hardware=Hardware(instances=instances, max_sequences=16))
    return run(Mix("slo", rate_per_s, seconds), scenario, "default", seed, scheduler=scheduler)


@pytest.mark.parametrize("scheduler", POOLED)
def test_under_little_load_nobody_waits(scheduler: str) -> None:
    report = mix(scheduler, 2.0, 30.0, instances=2)

    assert report.wait.max == 0
    assert report.failed == report.rejected == 0


def test_under_more_load_than_it_can_take_the_order_decides_who_is_on_time() -> None:
    fcfs, ours = mix("fcfs", 5.0, 60.0, 1), mix("default", 5.0, 60.0, 1)

    assert fcfs.wait.mean > 1000
    assert ours.failed == fcfs.failed == 0
    assert ours.attained > 1.5 * fcfs.attained


def test_plain_edf_lets_those_who_are_too_late_go_first_and_the_routers_own_does_not() -> None:
    jobs = [job("late", waited_s=9, ttft_s=1), job("can", ttft_s=2), job("whenever")]
    plain, ours = EarliestDeadline(), Deadline()

    assert keys(arrange(plain, jobs, lane(0.0), NOW_S)) == ["late", "can", "whenever"]
    assert keys(arrange(ours, jobs, lane(0.0), NOW_S)) == ["can", "whenever", "late"]


def test_the_order_of_arrival_costs_no_more_in_front_than_inside() -> None:
    inside, front = mix("none", 5.0, 60.0, 1), mix("fcfs", 5.0, 60.0, 1)

    assert front.attained == pytest.approx(inside.attained, abs=0.02)
    assert front.span_s == pytest.approx(inside.span_s, rel=0.02)


def test_nobody_is_overtaken_for_longer_than_is_allowed() -> None:
    """Twice the load, so there is no end to those that would go before; all end within reach."""
    waited_s = [mix(f"sjf:wait={wait_s}", 5.0, 60.0, 1).wait.max / 1000 for wait_s in (5, 1e9)]

    assert waited_s[0] < 20 < waited_s[1]


def test_equal_seeds_give_equal_runs() -> None:
    one, two = (mix("annealing", 5.0, 20.0, 1, seed=3) for _ in range(2))

    assert (one.ttft, one.wait, one.attained) == (two.ttft, two.wait, two.attained)


def play(requests: Sequence[TraceRequest], *changes: str, instances: int = 2) -> list[Outcome]:
    world = Settings(changes=tuple(Change.parse(text) for text in changes), poll_interval_s=0.5)
    policy = build("default", "default", seed=1, options=Options())
    return fleet(requests, [policy], instances=instances, profile=QUICK, settings=world).run()


@pytest.mark.parametrize(
    "changes",
    [("fail@3:0", "join@6:0"), ("leave@3:0",), ("restart@3:1", "restart@4:0"), ("join@3:2",)],
    ids=" ".join,
)
def test_every_request_ends_once_while_instances_come_and_go(changes: Sequence[str]) -> None:
    """More than the memory of both holds, so some wait all the time."""
    requests = [request(0.1 * number, tokens=9000, output=300) for number in range(60)]

    outcomes = play(requests, *changes)

    assert sorted(one.number for one in outcomes) == list(range(60))
    assert any(one.wait_s > 0 for one in outcomes)
    served = [one for one in outcomes if one.e2e_s is not None]
    assert len(served) >= 60 - 2 * 8


def test_a_prompt_larger_than_the_share_of_the_memory_is_served() -> None:
    requests = [request(0.0), request(0.01, tokens=90 * 512), request(0.02)]

    outcomes = {one.number: one for one in play(requests, instances=1)}

    assert all(one.e2e_s is not None for one in outcomes.values())
    assert outcomes[1].wait_s > 0
