"""What those who have targets stand to lose, kept for each instance by workload and kind of target.

How much a delay costs them depends on how near to their targets they are (objective.slope), which
is known only when a decision looks at an instance. So a lease adds two numbers to its workload's:
what a second costs it, in targets, and the pace, how much of a target each second that a token
takes uses up. The mean pace times the time of a token is how near they are, taken together.

Whole numbers, so that what a lease has added is taken away exactly.
"""

from typing import Final, NamedTuple

from steelyard_router.scheduling.objective import SLACK, output_tokens, slope
from steelyard_router.scheduling.request import RequestView

UNIT: Final = 2.0**-30


class Stake(NamedTuple):
    """Of one lease, for one of its targets; sums over its sequences, in UNIT."""

    whose: tuple[str, int, bool]
    """The workload, the priority, and whether the target is one for the whole answer."""
    sequences: int
    harm: int
    pace: int


def stakes(request: RequestView) -> tuple[Stake, ...]:
    """Nothing is at stake without a target, or without a weight. A target for the first token is
    not either: who waits for it is ahead of whoever comes.
    """
    slo, weights, out = request.slo, request.weights, output_tokens(request)
    tpot = _stake(request, weights.tpot, slo.tpot_s, 1.0 / out, 1.0, whole=False)
    e2e = _stake(request, weights.e2e, slo.e2e_s, 1.0, out, whole=True)
    return tuple(each for each in (tpot, e2e) if each is not None)


def _stake(
    request: RequestView,
    weight: float,
    target_s: float | None,
    share: float,
    tokens: float,
    *,
    whole: bool,
) -> Stake | None:
    """`share` of a delay eats into the target, and `tokens` have to come within it."""
    if not target_s or not weight:
        return None
    many = request.sequences / (target_s * UNIT)
    return Stake(
        (request.workload, request.priority, whole),
        request.sequences,
        round(weight * share * many),
        round(tokens * many),
    )


class Stakes:
    """Of all leases of an instance."""

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int, bool], list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._sums)

    def add(self, stake: Stake) -> None:
        sums = self._sums.setdefault(stake.whose, [0, 0, 0])
        sums[0] += stake.sequences
        sums[1] += stake.harm
        sums[2] += stake.pace

    def remove(self, stake: Stake) -> None:
        """One that was added."""
        sums = self._sums[stake.whose]
        sums[0] -= stake.sequences
        sums[1] -= stake.harm
        sums[2] -= stake.pace
        if not sums[0]:
            del self._sums[stake.whose]

    def cost(self, token_s: float, before_s: float, priority: int) -> tuple[float, float]:
        """What a delay of a second costs all of them, where a token takes so long; and what it
        costs those of at least that priority for whom it decides whether they meet their targets.
        The latter at its worst on the way from `before_s`, so that a step over the target counts.
        """
        each_s, before, harms, risks = token_s * UNIT, before_s / token_s, 0.0, 0.0
        for (_, theirs, _), (sequences, harm, pace) in self._sums.items():
            share = each_s * pace / sequences
            steep = slope(share)
            harms += harm * steep
            if theirs >= priority:
                if share > 1.0:
                    steep = slope(max(1.0, share * before))
                risks += harm * steep if steep > SLACK else 0.0
        return UNIT * harms, UNIT * risks
