"""Costs from observations: least squares of relative errors, none of them negative. Pure.

Errors of more than a few per cent weigh as if they were no larger (Huber), since what disturbs a
measurement on a machine that others use too is rare and long. Relative, because a prompt of 30
tokens says as much of the base as one of 4,000 says of attention. Not negative, because a cost is
not, and because what the data cannot tell apart would otherwise end in pairs of large costs of
opposite sign.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.work import Costs, Observation
from steelyard_simulator.engine.profile import Profile

Floats = NDArray[np.float64]
ROUNDS: Final = 100
TOLERANCE: Final = 1e-10
REWEIGHTS: Final = 20
USUAL: Final = 0.05
"""A relative error up to which an observation has its full weight."""
LEAST_S: Final = 1e-6
"""Of a step: one that takes no time never ends."""


def fit(observations: Sequence[Observation]) -> Costs:
    """At least one observation of each kind of work is needed to tell its cost."""
    rows = np.array([one.work for one in observations], dtype=np.float64)
    seconds = np.array([one.seconds for one in observations])
    relative = rows / seconds[:, None]
    # Columns of one size: tokens squared beside steps would spoil the precision.
    size = np.linalg.norm(relative, axis=0)
    size[size == 0] = 1.0
    matrix, weight = relative / size, np.ones(len(observations))
    found = np.zeros(matrix.shape[1])
    for _ in range(REWEIGHTS):
        root = np.sqrt(weight)
        found = not_negative(matrix * root[:, None], root)
        weight = USUAL / np.maximum(USUAL, np.abs(matrix @ found - 1))
    return Costs(*(float(cost) for cost in found / size))


def not_negative(matrix: Floats, target: Floats) -> Floats:
    """x >= 0 with the least |matrix x - target|, by Lawson and Hanson's active sets."""
    free = np.zeros(matrix.shape[1], dtype=bool)
    found = np.zeros(matrix.shape[1])
    for _ in range(ROUNDS):
        gain = matrix.T @ (target - matrix @ found)
        gain[free] = -np.inf
        best = int(np.argmax(gain))
        if free.all() or gain[best] <= TOLERANCE:
            break
        free[best] = True
        found = _settled(matrix, target, found, free)
    return found


def _settled(matrix: Floats, target: Floats, found: Floats, free: NDArray[Any]) -> Floats:
    """The least squares over the free ones, after those that it would make negative are bound."""
    while free.any():
        wanted = np.zeros_like(found)
        wanted[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        below = free & (wanted <= 0)
        if not below.any():
            return wanted
        step = np.min(found[below] / (found[below] - wanted[below]))
        found = found + step * (wanted - found)
        free[free & (found <= TOLERANCE)] = False
        found[~free] = 0.0
    return np.zeros_like(found)


def errors(costs: Costs, observations: Sequence[Observation]) -> dict[str, list[float]]:
    """What the costs say over what was measured, less 1, by kind."""
    found: dict[str, list[float]] = {}
    for one in observations:
        found.setdefault(one.kind, []).append(costs.of(one.work) / one.seconds - 1)
    return found


def to_profile(name: str, costs: Costs, limits: Limits) -> Profile:
    return Profile(
        name=name,
        base_s=max(costs.base_s, LEAST_S),
        per_prefill_token_s=costs.per_prefill_token_s,
        per_sequence_s=costs.per_sequence_s,
        per_context_token_s=costs.per_context_token_s,
        attention_s=costs.attention_s,
        kv_tokens=limits.usable_tokens,
        block_tokens=limits.block_tokens,
        max_num_batched_tokens=limits.step_tokens,
        max_num_seqs=limits.sequences,
        max_model_len=limits.model_tokens,
    )
