"""What a placement costs everyone: each delay in units of the target that it eats into.

The request itself waits for the prompts before it and for its own, and then for its tokens, which
take longer where more prompts come. Every request beside it waits once for its prompt, a delay that
spreads over that one's output tokens, and has longer steps while both decode. Weights and targets
are the policy's, times are the predictor's. The coupling (requests beside it * own prompt) is what
the product of Multiplicative stands for, without knowing how much a prompt delays whom.

Four things are not in the sums of one placement, and were found by trying (docs/placement.md has
what they are worth, and what was tried and did not help):

- A prompt delays not only those who are there: work that is done now is in the way of everyone who
  comes before the instance is idle again. Of that only what can be avoided matters (LATER), the
  tokens that another instance has cached; the others have to be computed somewhere. Were they
  counted too, long prompts would gather where the fewest requests are, to their own harm.
- Of the requests that are there, some will have ended before the delay comes (OTHERS).
- Where much is queued, many requests will soon decode, and prompts be computed among them (QUEUED).
- A token takes longer where prompts take a share of the time (prefill_share.py).
"""

from typing import ClassVar, Final, Self

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.objective import Rates, output_tokens
from steelyard_router.scheduling.strategy.protocol import Settings

OTHERS: Final = 0.7
LATER: Final = 4.0
QUEUED: Final = 0.5


class MarginalDelay:
    """cost = w_ttft (Q_s + own) / SLO_ttft + w_tpot token / SLO_tpot
    + w_e2e (Q_s + own + out token) / SLO_e2e
    + OTHERS harm (own (1 + LATER (P - least P) / P) + QUEUED Q_s + out added)

    with harm = sum over the requests there of w_tpot / (out SLO_tpot) + w_e2e / SLO_e2e.
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
        rates, out = Rates.of(terms.request, outlook.usual), output_tokens(terms.request)
        first, each = rates.ttft + rates.e2e, rates.tpot + rates.e2e * out
        least = LATER * min(terms.p)
        columns = zip(
            terms.p, outlook.q_s, outlook.own_s, outlook.token_s, outlook.added_s, outlook.harm,
            strict=True,
        )  # fmt: skip
        return [
            first * (q + own)
            + each * token
            + OTHERS * harm * (own * (1 + LATER - least / p) + QUEUED * q + out * added)
            for p, q, own, token, added, harm in columns
        ]
