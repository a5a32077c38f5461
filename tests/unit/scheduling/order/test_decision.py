"""Who waits for which instance, and that deciding holds nobody up."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.waiting import NOW_S, job, keys, lane, lanes, queues

from steelyard_bench.ordering import case
from steelyard_router.scheduling.order import (
    ORDERS,
    Annealing,
    Deadline,
    Decision,
    Job,
    Lane,
    Limits,
    Pace,
    UrgentFirst,
    arrange,
    build,
)
from steelyard_router.scheduling.order.assign import Assignment
from steelyard_router.scheduling.order.overdue import PATIENCE
from steelyard_router.scheduling.order.timeline import Timeline

LIMITS = Limits()


class Ticking:
    """A clock that goes on by so much with every look."""

    def __init__(self, step_s: float) -> None:
        self._ticks = count()
        self.step_s = step_s

    def __call__(self) -> float:
        return next(self._ticks) * self.step_s


def decide(decision: Decision) -> list[list[str]]:
    while not decision.advance():
        pass
    return [keys(order) for order in decision.orders]


def made(
    jobs: list[Job],
    on: list[Lane],
    name: str = "UrgentFirst",
    *,
    step_s: float = 1e-5,
    limits: Limits = LIMITS,
    prefills: dict[str, list[float]] | None = None,
) -> Decision:
    return Decision(
        jobs,
        on,
        build(name, Random(1)),
        now_s=NOW_S,
        clock=Ticking(step_s),
        pace=Pace(),
        limits=limits,
        prefills=prefills or {},
    )


def test_equal_lanes_get_equal_shares() -> None:
    jobs = [job(f"r{number}") for number in range(12)]

    found = decide(made(jobs, [lane(0.0, 0.0)] * 3))

    assert [len(order) for order in found] == [4, 4, 4]


def test_a_lane_of_half_the_speed_gets_half() -> None:
    jobs = [job(f"r{number}", prefill_s=0.0, output_tokens=101) for number in range(30)]

    fast, slow = decide(made(jobs, [lane(0.0, token_s=0.01), lane(0.0, token_s=0.02)]))

    assert (len(fast), len(slow)) == (20, 10)


def test_a_lane_that_is_busy_for_longer_gets_less() -> None:
    jobs = [job(f"r{number}") for number in range(10)]

    idle, busy = decide(made(jobs, [lane(0.0), lane(0.8)]))

    assert len(idle) > len(busy) > 0


def test_a_cached_prompt_draws_its_request_unless_the_wait_there_is_longer() -> None:
    jobs = [job("cached", prefill_s=1.0)]

    prefills = {"cached": [1.0, 0.1]}
    assert decide(made(jobs, [lane(0.0), lane(0.5)], prefills=prefills)) == [[], ["cached"]]
    assert decide(made(jobs, [lane(0.0), lane(2.0)], prefills=prefills)) == [["cached"], []]


def test_what_is_planned_for_a_lane_has_the_prompt_of_that_lane() -> None:
    assignment = Assignment([lane(9.0), lane(0.0)], waiting=1)

    assert assignment.place(job("a", prefill_s=1.0, ttft_s=3.0), [1.0, 0.25]) == 1

    (planned,) = assignment.jobs[1]
    assert planned.prefill_s == 0.25
    assert planned.begin_by_s == NOW_S + 2.75


def test_higher_classes_are_planned_first() -> None:
    low = [job(f"low{number}", waited_s=9, ttft_s=9.5) for number in range(4)]
    high = job("high", output_tokens=2, priority=1)

    found = decide(made([*low, high], [lane(0.0), lane(5.0)]))

    assert found[0][0] == "high"


def test_of_many_the_most_pressing_are_searched_and_the_rest_follow() -> None:
    jobs = [job(f"r{due}", ttft_s=due) for due in range(1, 31)]

    (found,) = decide(made(jobs, [lane(0.0)], "Deadline", limits=Limits(depth=5)))

    assert found == [f"r{due}" for due in range(1, 31)]


def test_an_overdue_one_is_among_the_first_however_many_wait() -> None:
    jobs = [
        job("late", waited_s=60, ttft_s=1),
        *(job(f"r{due}", ttft_s=due) for due in range(1, 400)),
    ]

    (found,) = decide(made(jobs, [lane(0.0)], "Deadline", step_s=1e-4))  # so time is over

    assert found.index("late") == pytest.approx(PATIENCE.every - 1, abs=1)


def test_the_orders_are_there_before_it_is_over_and_get_better() -> None:
    random = Random(1)
    jobs, on = case.jobs(60, random), case.lanes(2, random)
    order, limits = Annealing(Random(1)), Limits(timeout_s=1.0, slice_s=1e-4)
    decision = Decision(
        jobs, on, order, now_s=case.NOW_S, clock=Ticking(1e-5), pace=Pace(), limits=limits
    )
    assert not decision.ready
    found: list[list[float]] = []
    while not decision.advance():
        if decision.ready:
            everyone = [key for each in decision.orders for key in keys(each)]
            assert sorted(everyone) == sorted(keys(jobs))
            lanes_g = zip(decision.orders, on, strict=True)
            found.append([Timeline(each, lane, case.NOW_S).score.g for each, lane in lanes_g])

    assert len(found) > 10
    assert all(last > first for first, last in zip(found[0], found[-1], strict=True))


@pytest.mark.parametrize("name", ORDERS)
def test_a_slice_ends_when_its_time_is_over(name: str) -> None:
    """By a clock that only goes on when it is looked at, so that a slice is so many looks."""
    random = Random(2)
    clock = Ticking(2e-5)
    limits = Limits(timeout_s=0.02, slice_s=4e-4)
    decision = Decision(
        case.jobs(100, random), case.lanes(8, random), build(name, random),
        now_s=case.NOW_S, clock=clock, pace=Pace(), limits=limits,
    )  # fmt: skip
    slices, over = [], False
    while not over:
        begun = clock()
        over = decision.advance()
        slices.append(clock() - begun)

    looks = max(slices) / clock.step_s
    assert looks <= limits.slice_s / clock.step_s + 10
    assert sum(slices) <= 3 * limits.timeout_s


@pytest.mark.parametrize("name", ORDERS)
def test_without_any_time_a_first_order_is_the_answer(name: str) -> None:
    random = Random(4)
    jobs, on = case.jobs(20, random), case.lane("i0", random)

    (found,) = decide(made(jobs, [on], name, limits=Limits(timeout_s=0.0)))

    first = "UrgentFirst" if name == "SimulatedAnnealing" else name
    assert found == keys(arrange(build(first, random), jobs, on, NOW_S))


@settings(max_examples=50)
@given(
    queues(at_most=20),
    st.lists(lanes(), min_size=1, max_size=3),
    st.sampled_from(ORDERS),
    st.integers(1, 30),
)
def test_everyone_is_in_one_lane_once_and_classes_are_kept(
    jobs: list[Job], on: list[Lane], name: str, depth: int
) -> None:
    decision = made(jobs, on, name, limits=Limits(timeout_s=0.01, depth=depth))
    decide(decision)

    assert len(decision.orders) == len(on)
    assert sorted(key for order in decision.orders for key in keys(order)) == sorted(keys(jobs))
    for order in decision.orders:
        priorities = [each.priority for each in order]
        assert priorities == sorted(priorities, reverse=True)


def test_one_lane_is_ordered_as_the_order_says() -> None:
    random = Random(3)
    jobs, on = case.jobs(50, random), case.lane("i0", random)
    decision = Decision(
        jobs, [on], UrgentFirst(), now_s=case.NOW_S, clock=Ticking(1e-6), pace=Pace()
    )

    assert decide(decision) == [keys(arrange(UrgentFirst(), jobs, on, case.NOW_S))]


def test_nobody_waiting_and_one_waiting_need_no_search() -> None:
    assert decide(made([], [lane(0.0)] * 2)) == [[], []]
    assert decide(made([job("a")], [lane(0.0)] * 2)) == [["a"], []]


def test_without_lanes_there_is_nothing_to_decide() -> None:
    with pytest.raises(ValueError, match="lane"):
        decide(made([job("a")], []))


def test_pace_is_learned_and_a_stall_counts_little() -> None:
    pace = Pace(1e-6)
    for _ in range(50):
        pace.observe(40e-6, jobs=12)  # 2 us for each of 12 jobs and 8 more
    learned = pace.fits(0.004, jobs=12)
    pace.observe(1.0, jobs=12)

    assert learned == pytest.approx(100, rel=0.01)
    assert pace.fits(0.004, jobs=12) > 0.8 * learned
    assert pace.fits(-1.0, jobs=12) == 0


def test_a_job_that_is_placed_later_goes_where_it_ends_first_then() -> None:
    assignment = Assignment([lane(0.0), lane(0.0)], waiting=3)

    assert [assignment.place(job(key)) for key in "abc"] == [0, 1, 0]
    assert [keys(planned) for planned in assignment.jobs] == [["a", "c"], ["b"]]


def test_deadline_orders_assign_by_deadline() -> None:
    jobs = [job("later", ttft_s=9), job("sooner", ttft_s=2)]
    decision = Decision(
        jobs, [lane(0.0), lane(1.0)], Deadline(), now_s=NOW_S, clock=Ticking(1e-5), pace=Pace()
    )

    assert decide(decision)[0][0] == "sooner"
