"""What first tokens take beside the engines' steps is learned, and moved little by any one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_predictor import FAST, Known, scheduler

from steelyard_router.scheduling.overhead import Overhead
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.strategy import LeastRequest


def learned(left: list[float]) -> float:
    overhead = Overhead()
    for seconds in left:
        overhead.learn(seconds)
    return overhead.seconds


@pytest.mark.parametrize("true_s", [0.0, 0.012, 0.2])
def test_it_comes_near_what_is_left_over_in_the_middle(true_s: float) -> None:
    rng = random.Random(1)
    left = [true_s + rng.gauss(0, 0.005) for _ in range(400)]

    assert learned(left) == pytest.approx(true_s, rel=0.1, abs=0.002)


def test_a_queue_that_nobody_saw_does_not_count_for_long() -> None:
    calm = [0.01] * 200

    assert learned([*calm, 30.0]) < 0.011
    assert learned([*calm, *[30.0] * 3, *calm]) == pytest.approx(0.01, rel=0.01)


@given(st.lists(st.floats(-100, 100)))
def test_it_is_never_below_nothing(left: list[float]) -> None:
    assert learned(left) >= 0


def test_predictions_take_in_what_answers_showed() -> None:
    made, request = scheduler(Known(), 2), RequestView(prompt_tokens=2000)
    expected_s = FAST.base_s + FAST.prefill(2000, 2000 * 2001 / 2)
    for number in range(100):
        decision = made.choose(request, LeastRequest(), float(number))
        decision.lease.first_byte(number + expected_s + 0.04)
        decision.lease.release(number + 0.9)

    told = made.choose(request, LeastRequest(), 100.0).ttft_s

    assert told == pytest.approx(expected_s + 0.04, rel=0.03)
