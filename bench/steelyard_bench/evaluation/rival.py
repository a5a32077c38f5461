"""One of ours against all others: who is better in everything, and who in something."""

from collections.abc import Iterator
from typing import NamedTuple

from steelyard_bench.evaluation.grid import OURS
from steelyard_bench.evaluation.result import Comparison, Evaluation

MARGIN = 0.02
"""A mean is better if it is by more than this;"""
TAIL_MARGIN = 0.10
"""a 99th percentile, which chance moves further, if it is by more than that."""
MEASURES = {"ttft": MARGIN, "tpot": MARGIN, "ttft_p99": TAIL_MARGIN, "tpot_p99": TAIL_MARGIN}


class Dominated(NamedTuple):
    """A baseline whose means are both better."""

    cell: str
    policy: str
    ttft: Comparison
    tpot: Comparison


class Loss(NamedTuple):
    """The best of the others in one figure, where it is better than the subject."""

    cell: str
    metric: str
    policy: str
    comparison: Comparison
    """The subject's figure over the other's."""


def baselines(evaluation: Evaluation, cell: str) -> list[str]:
    return [name for name in evaluation.policies(cell) if name.split(":")[0] not in OURS]


def dominating(evaluation: Evaluation, subject: str, cells: list[str]) -> Iterator[Dominated]:
    """Both means better by more than the margin, over the seeds that both have."""
    for cell in cells:
        for policy in baselines(evaluation, cell):
            ttft = evaluation.compare(cell, policy, subject, "ttft")
            tpot = evaluation.compare(cell, policy, subject, "tpot")
            if ttft and tpot and max(ttft.change, tpot.change) < -MARGIN:
                yield Dominated(cell, policy, ttft, tpot)


def losses(evaluation: Evaluation, subject: str, cells: list[str]) -> Iterator[Loss]:
    """One at most for each cell and figure: against the one that is best there."""
    for cell in cells:
        others = [name for name in evaluation.policies(cell) if name != subject]
        for metric, margin in MEASURES.items():
            compared = [
                (found.ratio, name, found)
                for name in others
                if (found := evaluation.compare(cell, subject, name, metric)) is not None
            ]
            if compared:
                _, policy, found = max(compared, key=lambda each: each[0])
                if found.change > margin:
                    yield Loss(cell, metric, policy, found)
