"""Annealing: no worse than where it starts, near the best there is, never over its budget."""

from collections.abc import Sequence, Set
from itertools import cycle
from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import NOW_S, job, keys, lane, lanes, queues, worth

from steelyard_bench.ordering import case
from steelyard_bench.ordering.quality import nearness
from steelyard_router.scheduling.order import (
    FCFS,
    Annealing,
    Deadline,
    Job,
    Lane,
    LeastLaxity,
    Patience,
    Schedule,
    ShortestPredicted,
    UrgentFirst,
    arrange,
)
from steelyard_router.scheduling.order.batching import Batches
from steelyard_router.scheduling.order.objective import Score
from steelyard_router.scheduling.order.overdue import PATIENCE
from steelyard_router.scheduling.order.temperature import LOWEST, calibrate
from steelyard_router.scheduling.order.timeline import Timeline

SHORT = Schedule(evaluations=60)
STARTS = (UrgentFirst, ShortestPredicted, Deadline, LeastLaxity, FCFS)


class Counted(Timeline):
    """Counts what is evaluated, and how often a worse neighbour was taken."""

    evaluated = 0

    def __init__(
        self, order: Sequence[Job], lane: Lane, now_s: float, fixed: Set[str] = frozenset()
    ) -> None:
        type(self).evaluated += 1
        super().__init__(order, lane, now_s, fixed)

    def propose(self, random: Random) -> Score:
        type(self).evaluated += 1
        return super().propose(random)


@given(queues(), lanes(), st.integers(0, 99))
def test_no_start_is_better(jobs: list[Job], on: Lane, seed: int) -> None:
    found = worth(arrange(Annealing(Random(seed), SHORT), jobs, on, NOW_S), on)

    starts = [worth(arrange(kind(PATIENCE), jobs, on, NOW_S), on) for kind in STARTS]
    everyone = [start for start in starts if start.met == len(jobs)]
    if everyone:
        assert found.met == len(jobs)
    for start in everyone or starts:
        assert found.g >= start.g * (1 - 1e-9)


@given(queues(at_most=8), lanes())
def test_equal_random_numbers_give_equal_orders(jobs: list[Job], on: Lane) -> None:
    once, again = (arrange(Annealing(Random(7), SHORT), jobs, on, NOW_S) for _ in range(2))

    assert keys(once) == keys(again)


@given(queues(), lanes(), st.lists(st.integers(0, 9), max_size=30))
def test_a_slice_never_evaluates_more_than_its_budget(
    jobs: list[Job], on: Lane, budgets: list[int]
) -> None:
    search = Annealing(Random(1), SHORT, make_plan=Counted).begin(jobs, on, NOW_S)
    for budget in budgets:
        before = Counted.evaluated
        search.advance(budget)
        assert Counted.evaluated - before <= budget
        assert sorted(keys(search.best)) == sorted(keys(jobs))


@given(queues(), lanes(), st.lists(st.integers(1, 9), min_size=1))
def test_slices_come_to_what_one_go_comes_to(jobs: list[Job], on: Lane, budgets: list[int]) -> None:
    search = Annealing(Random(3), SHORT).begin(jobs, on, NOW_S)
    for budget in cycle(budgets):
        if search.advance(budget):
            break

    assert keys(search.best) == keys(arrange(Annealing(Random(3), SHORT), jobs, on, NOW_S))


def test_it_stops_at_once_where_a_start_meets_every_target() -> None:
    jobs = [job(f"r{number}", ttft_s=60) for number in range(6)]
    before = Counted.evaluated

    arrange(Annealing(Random(1), make_plan=Counted), jobs, lane(0.0), NOW_S)

    assert Counted.evaluated - before == len(STARTS)


def test_no_more_neighbours_than_there_is_time_for() -> None:
    jobs = [job(f"r{number}", ttft_s=0.1) for number in range(6)]
    search = Annealing(Random(1), make_plan=Counted).begin(jobs, lane(0.0), NOW_S)
    before = Counted.evaluated

    search.allow(25)
    while not search.advance(10):
        pass

    assert Counted.evaluated - before == len(STARTS) + 25


def test_it_finds_what_no_sorting_order_does() -> None:
    """One slot. Whoever is first makes it only if the two short ones go right after the urgent one
    and before the long one that is due sooner than they are."""
    jobs = [
        job("urgent", ttft_s=0.15, output_tokens=1),
        job("long", ttft_s=0.6, output_tokens=101),
        job("a", ttft_s=1.0, output_tokens=1),
        job("b", ttft_s=1.0, output_tokens=1),
        job("c", ttft_s=0.45, output_tokens=1),
    ]
    on = lane(0.0)

    found = worth(arrange(Annealing(Random(1)), jobs, on, NOW_S), on)

    assert found.met == 5
    assert max(worth(arrange(kind(), jobs, on, NOW_S), on).met for kind in (Deadline, FCFS)) < 5


def test_overdue_ones_stay_at_their_places() -> None:
    late = job("late", waited_s=60, ttft_s=1)
    jobs = [late, *(job(f"r{number}", ttft_s=0.2 * number) for number in range(1, 20))]
    patience = Patience(every=8)

    found = arrange(Annealing(Random(1), patience=patience), jobs, lane(0.0, 0.0), NOW_S)

    assert keys(found).index("late") == pytest.approx(7, abs=1)


def test_it_is_within_two_percent_of_the_best_there_is() -> None:
    """`steelyard bench ordering` does so for 500 cases."""
    for near in nearness(60, lambda _: None):
        assert near.within >= 0.95, near


def test_the_longer_it_looks_the_better_it_gets() -> None:
    found = []
    for evaluations in (0, 50, 1000):
        total = 0.0
        for number in range(10):
            random = Random(number)
            jobs, on = case.jobs(30, random), case.lane("i0", random)
            how = Annealing(Random(number), Schedule(evaluations=evaluations))
            order = arrange(how, jobs, on, case.NOW_S)
            total += Timeline(order, on, case.NOW_S).score.g
        found.append(total)

    assert found == sorted(found)
    assert found[2] > 1.05 * found[0]


@given(st.lists(st.floats(-1, 1), max_size=20), st.sampled_from((0.2, 0.5, 0.8)))
def test_the_first_temperature_takes_that_share_of_what_is_worse(
    losses: list[float], acceptance: float
) -> None:
    found = calibrate(losses, acceptance)

    worse = [loss for loss in losses if loss > LOWEST]
    if worse:
        taken = sum(exp(-loss / found) for loss in worse) / len(worse)
        assert taken == pytest.approx(acceptance, abs=0.01) or found == LOWEST
    else:
        assert found == LOWEST


def test_a_walk_with_little_time_begins_colder_and_ends_as_cold() -> None:
    schedule = Schedule(cooling=0.9, iterations=50)

    warm, fast = schedule.range(1.0, evaluations=4000, jobs=10)
    cold, slow = schedule.range(1.0, evaluations=40, jobs=10)

    assert warm == 1.0
    assert cold < 0.02
    assert warm * fast**4000 == pytest.approx(0.9**50)
    assert cold * slow**40 == pytest.approx(0.9**50)


def test_a_schedule_that_cannot_cool_is_refused() -> None:
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="shares"):
            Schedule(acceptance=share)
        with pytest.raises(ValueError, match="shares"):
            Schedule(cooling=share)
    with pytest.raises(ValueError, match="iterations"):
        Schedule(iterations=0)
    with pytest.raises(ValueError, match="evaluations"):
        Schedule(evaluations=-1)


@given(queues(classes=3), st.randoms(use_true_random=False))
def test_batches_keep_to_the_classes(jobs: list[Job], random: Random) -> None:
    ordered = sorted(jobs, key=lambda each: -each.priority)
    plan = Batches(ordered, lane(0.0, 0.0, 0.0), NOW_S)
    for _ in range(20 if not plan.settled else 0):
        plan.propose(random)
        plan.accept()
        priorities = [each.priority for each in plan.order]
        assert priorities == sorted(priorities, reverse=True)
