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

from steelyard_router.scheduling.candidate import Outlook, Terms, Wish
from steelyard_router.scheduling.objective import Rates, has_targets, output_tokens, worth
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.strategy.protocol import Settings

OTHERS: Final = 0.7
LATER: Final = 4.0
QUEUED: Final = 0.5


class MarginalDelay:
    """cost = w_ttft first + w_tpot each + w_e2e whole
    + OTHERS harm (own (1 + LATER (P - least P) / P) + QUEUED Q_s + out added)

    with first = worth((Q_s + own) / SLO_ttft), each = worth(token / SLO_tpot),
    whole = worth((Q_s + own + out token) / SLO_e2e), and harm = the sum over the requests there of
    w_tpot slope(token / SLO_tpot) / (out SLO_tpot) + w_e2e slope(out token / SLO_e2e) / SLO_e2e.
    Against what is usual, where there is no target, worth(x) = x and slope(x) = 1.
    """

    name: ClassVar[str] = "MarginalDelay"
    wants_outlook: ClassVar[Wish] = Wish.ALWAYS

    @classmethod
    def build(cls, settings: Settings) -> Self:
        del settings
        return cls()

    def cost(self, terms: Terms) -> list[float]:
        outlook, request = terms.outlook, terms.request
        assert outlook is not None
        out, least = output_tokens(request), LATER * min(terms.p)
        own = _missing(outlook, request) if has_targets(request) else _waiting(outlook, request)
        columns = zip(
            own, terms.p, outlook.q_s, outlook.own_s, outlook.added_s, outlook.harm, strict=True
        )
        return [
            mine + OTHERS * harm * (own * (1 + LATER - least / p) + QUEUED * q + out * added)
            for mine, p, q, own, added, harm in columns
        ]


def _waiting(outlook: Outlook, request: RequestView) -> list[float]:
    """To a request without targets: its time, in what is usual."""
    rates = Rates.of(request, outlook.usual)
    first, each = rates.ttft, rates.tpot
    columns = zip(outlook.q_s, outlook.own_s, outlook.token_s, strict=True)
    return [first * (q + own) + each * token for q, own, token in columns]


def _missing(outlook: Outlook, request: RequestView) -> list[float]:
    """To one with targets: what missing them costs, as far as it is to be expected."""
    slo, weights, out = request.slo, request.weights, output_tokens(request)
    first_s = [q + own for q, own in zip(outlook.q_s, outlook.own_s, strict=True)]
    cost = [0.0] * len(first_s)
    if slo.ttft_s:
        cost = [weights.ttft * worth(first / slo.ttft_s) for first in first_s]
    if slo.tpot_s:
        each = [weights.tpot * worth(token / slo.tpot_s) for token in outlook.token_s]
        cost = [sum(pair) for pair in zip(cost, each, strict=True)]
    if slo.e2e_s:
        whole_s = [a + out * token for a, token in zip(first_s, outlook.token_s, strict=True)]
        whole = [weights.e2e * worth(whole / slo.e2e_s) for whole in whole_s]
        cost = [sum(pair) for pair in zip(cost, whole, strict=True)]
    return cost
