import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.analysis.quantile import ENOUGH, Upper


def told(answers: list[float]) -> float:
    upper = Upper()
    for tokens in answers:
        upper.learn(tokens)
    assert upper.tokens is not None
    return upper.tokens


def test_nothing_is_told_from_a_few_answers() -> None:
    upper = Upper()
    for _ in range(ENOUGH - 1):
        upper.learn(100)

    assert upper.tokens is None


@pytest.mark.parametrize("spread", [0.3, 1.0, 1.8])
def test_nineteen_of_twenty_answers_are_no_longer(spread: float) -> None:
    rng = random.Random(7)
    answers = [rng.lognormvariate(5, spread) for _ in range(4000)]

    longest = float(np.percentile(answers[-1000:], 95))
    assert told(answers) == pytest.approx(longest, rel=0.25)


def test_it_follows_a_change_and_forgets_what_was_before() -> None:
    assert told([2000.0] * 500 + [20.0] * 1500) < 30
    assert told([20.0] * 500 + [2000.0] * 60) > 1500


@given(st.lists(st.floats(0, 1e9), min_size=ENOUGH, max_size=200))
def test_it_lies_among_the_answers_whatever_they_are(answers: list[float]) -> None:
    found = told(answers)

    assert 1 <= found <= max(1.0, min(max(answers), 2.0**20)) * 2**0.25 * (1 + 1e-9)
    assert found >= max(1.0, min(answers)) / 2**0.25 or min(answers) > 2**19


def test_weights_that_have_grown_large_are_scaled_down_without_a_trace() -> None:
    rng = random.Random(3)
    answers = [rng.lognormvariate(5, 1) for _ in range(30_000)]

    assert math.isclose(told(answers), told(answers[-8000:]), rel_tol=1e-3)
