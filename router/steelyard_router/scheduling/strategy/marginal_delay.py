"""What a placement costs everyone: each delay in units of the target that it eats into.

The request itself waits for the prompts before it and for its own, and then for its tokens; every
request beside it waits once for its prompt, a delay that spreads over that one's output tokens, and
has longer steps while both decode. Weights and targets are the policy's, times are the predictor's.
The coupling (requests beside it * own prompt) is what the product of Multiplicative stands for,
without knowing how much a prompt delays whom.

A prompt delays not only those who are there: work that is done now is in the way of everyone who
comes before the instance is idle again, 1 / (1 - utilisation) times as many. LATER is that factor
at a utilisation of two thirds, for all instances: measured per instance it made placement worse,
since what it says of one is mostly noise. Without it, cached prompts are given up too easily.
"""

from typing import ClassVar, Final, Self

from steelyard_router.scheduling.candidate import Neighbour, Terms, Wish
from steelyard_router.scheduling.objective import Rates, output_tokens
from steelyard_router.scheduling.strategy.protocol import Settings

LATER: Final = 3.0


class MarginalDelay:
    """cost = w_ttft (Q_s + own) / SLO_ttft + w_tpot token / SLO_tpot
    + w_e2e (Q_s + own + out token) / SLO_e2e + sum over workloads k there of
    n_k w_tpot,k (LATER own / out_k + min(1, out / out_k) added) / SLO_tpot,k
    """

    name: ClassVar[str] = "MarginalDelay"
    wants_outlook: ClassVar[Wish] = Wish.ALWAYS

    @classmethod
    def build(cls, settings: Settings) -> Self:
        del settings
        return cls()

    def cost(self, terms: Terms) -> list[float]:
        outlook = terms.outlook
        assert outlook is not None
        rates, out = Rates.of(terms.request), output_tokens(terms.request)
        first, each = rates.ttft + rates.e2e, rates.tpot + rates.e2e * out
        delayed, slowed = _others(outlook.neighbours, out, len(terms.slots))
        columns = zip(
            outlook.q_s, outlook.own_s, outlook.token_s, outlook.added_s, delayed, slowed,
            strict=True,
        )  # fmt: skip
        return [
            first * (q + own) + each * token + own * delay + added * slow
            for q, own, token, added, delay, slow in columns
        ]


def _others(neighbours: list[Neighbour], out: float, rows: int) -> tuple[list[float], list[float]]:
    """By row, what a second of the prompt costs those who are there, and one of every step."""
    delayed, slowed = [0.0] * rows, [0.0] * rows
    for kind in neighbours:
        by_prompt = LATER * kind.tpot_rate / kind.output_tokens
        by_step = kind.tpot_rate * min(1.0, out / kind.output_tokens)
        delayed = [cost + n * by_prompt for cost, n in zip(delayed, kind.counts, strict=True)]
        slowed = [cost + n * by_step for cost, n in zip(slowed, kind.counts, strict=True)]
    return delayed, slowed
