import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard_bench.fidelity.fit import Floats, errors, fit, not_negative, to_profile
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.probe import CROWDS, LONE, REUSED
from steelyard_bench.fidelity.work import Costs, Observation, decoding, first_token

TRUE = Costs(0.005, 0.007, 2e-4, 6e-8, 3e-4, 2e-7)


def probed(costs: Costs) -> list[Observation]:
    """All that a calibration asks for, as an engine of these costs would answer."""
    works = [first_token(tokens, 0, step_tokens=512) for tokens in LONE]
    works += [first_token(old + new, old, step_tokens=512) for old, new in REUSED]
    works += [decoding(32, [tokens] * size) for size, tokens in CROWDS]
    works += [decoding(32, [tokens]) for tokens in LONE]
    return [Observation("it", work, costs.of(work)) for work in works]


def test_what_a_calibration_asks_for_tells_every_cost() -> None:
    assert fit(probed(TRUE)) == pytest.approx(TRUE, rel=1e-6)


def test_a_few_disturbed_observations_do_not_move_the_costs() -> None:
    found = probed(TRUE)
    for place in (1, 9, 17, 30):
        one = found[place]
        found[place] = Observation(one.kind, one.work, 3 * one.seconds)

    assert fit(found) == pytest.approx(TRUE, rel=0.15)
    assert max(errors(fit(found), found)["it"], key=abs) == pytest.approx(-2 / 3, abs=0.05)


def test_a_cost_that_would_be_negative_is_nothing() -> None:
    found = [
        Observation("it", first_token(tokens, 0, step_tokens=4096), 0.01 + 1e-4 * tokens**0.9)
        for tokens in LONE
    ]

    assert min(fit(found)) >= 0.0


@given(
    arrays(np.float64, (8, 3), elements=st.floats(-10, 10, width=16)),
    arrays(np.float64, 8, elements=st.floats(-10, 10, width=16)),
)
def test_nothing_that_is_allowed_is_closer(matrix: Floats, target: Floats) -> None:
    found = not_negative(matrix, target)

    gain = matrix.T @ (target - matrix @ found)
    # the conditions of the least: nothing to gain upwards, and downwards only where it ends at 0
    assert (found >= 0).all()
    assert (gain <= 1e-5).all()
    assert np.abs(gain[found > 0]).max(initial=0.0) <= 1e-5


def test_the_profile_has_the_costs_and_the_limits() -> None:
    profile = to_profile("it", TRUE, Limits(blocks=100, block_tokens=64, step_tokens=512))

    assert profile.step_s(
        prefill_tokens=100, pairs=5050, sequences=0, context_tokens=0
    ) == pytest.approx(TRUE.of(first_token(100, 0, step_tokens=512)) - TRUE.overhead_s)
    assert profile.blocks == 99
    assert profile.max_num_batched_tokens == 512
