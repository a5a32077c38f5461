"""Whether a placement would cost others more than the request has to gain by it.

While it runs, a request delays those beside it: once by its prompt, and a little at each of its
tokens. Where they are near enough to their targets for that to decide whether they meet them
(Outlook.risk), the delay has a price, in the same weights as what the request has to gain itself.
One that is too dear everywhere waits, as one for which there is no room does, until some of those
that it would have harmed are done. So how many requests with long answers run beside those that
want each token soon follows from the targets and from what is learned of the engines, and no bound
has to be set.

It costs nobody anything where nothing is at stake: with targets that are met with ease, or that are
missed anyway, or of a lower class, nobody waits. A request without targets, or without weight on
them, is never too dear, since there is nothing that it could gain by having waited; nor does anyone
wait for it. And nobody waits before it is known what steps cost.
"""

from math import inf
from typing import Final

from steelyard_router.scheduling.candidate import Terms
from steelyard_router.scheduling.objective import output_tokens
from steelyard_router.scheduling.request import RequestView

DEAR: Final = 0.5
"""Of what a request has to gain, what others may lose by it at most. From 0.3 to 0.7 it makes
little difference; with less, those that wait come too late (docs/placement.md).
"""


def too_dear(terms: Terms, dear: float) -> bool:
    """Whether others lose more than that share of what the request has to gain in every row."""
    request, outlook = terms.request, terms.outlook
    if dear == inf or outlook is None or not outlook.known or not (gains := gain(request)):
        return False
    most, out = dear * gains, output_tokens(request)
    columns = zip(outlook.risk, outlook.own_s, outlook.added_s, strict=True)
    return all(risk * (own + out * added) > most for risk, own, added in columns)


def gain(request: RequestView) -> float:
    """What a request has to gain: the weights of its targets, once for each of its sequences."""
    slo, weights = request.slo, request.weights
    each = (
        weights.ttft if slo.ttft_s else 0.0,
        weights.tpot if slo.tpot_s else 0.0,
        weights.e2e if slo.e2e_s else 0.0,
    )
    return request.sequences * sum(each)
