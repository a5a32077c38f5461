"""Whether a placement would cost others more than the request has to gain by it.

While it runs, a request delays those beside it: once by its prompt, and a little at each of its
tokens. Where they are near enough to their targets for that to decide whether they meet them
(Outlook.risk), the delay has a price, in the same weights as what the request has to gain itself.
One that is too dear everywhere waits, as one for which there is no room does, until some of those
that it would have harmed are done. So how many requests with long answers run beside those that
want each token soon follows from the targets and from what is learned of the engines, and no bound
has to be set.

It costs nobody anything where nothing is at stake: with targets that are met with ease, or that are
missed anyway, or of a lower class, nobody waits. A request without targets is never too dear, since
there is nothing that it could gain by having waited; nor does anyone wait for it.
"""

from math import inf
from typing import Final

from steelyard_router.scheduling.candidate import Terms
from steelyard_router.scheduling.objective import has_targets, output_tokens
from steelyard_router.scheduling.request import RequestView

DEAR: Final = 0.5
"""Of what a request has to gain, what others may lose by it at most. From 0.3 to 0.7 it makes
little difference; with less, those that wait come too late (docs/placement.md).
"""


def too_dear(terms: Terms, dear: float) -> bool:
    """Whether others lose more than that share of what the request has to gain in every row."""
    request, outlook = terms.request, terms.outlook
    if dear == inf or outlook is None or not has_targets(request):
        return False
    most, out = dear * _gain(request), output_tokens(request)
    columns = zip(outlook.risk, outlook.own_s, outlook.added_s, strict=True)
    return all(risk * (own + out * added) > most for risk, own, added in columns)


def _gain(request: RequestView) -> float:
    """The weights of the targets that it has."""
    slo, weights = request.slo, request.weights
    each = (
        weights.ttft if slo.ttft_s else 0.0,
        weights.tpot if slo.tpot_s else 0.0,
        weights.e2e if slo.e2e_s else 0.0,
    )
    return request.sequences * sum(each)


Likeness = tuple[frozenset[str] | None, int, int, float]


class TooLong:
    """Requests that were too dear just now: others like them that are no shorter are so as well.

    That leaves out that part of a prompt may be cached. Without it, each of many that wait would
    cost a decision whenever something ends.
    """

    def __init__(self) -> None:
        self._lengths: dict[Likeness, list[tuple[int, float]]] = {}

    def add(self, request: RequestView, among: frozenset[str] | None) -> None:
        lengths = self._lengths.setdefault(_likeness(request, among), [])
        lengths.append((request.prompt_tokens, output_tokens(request)))

    def __contains__(self, asked: tuple[RequestView, frozenset[str] | None]) -> bool:
        request, among = asked
        if not self._lengths:
            return False
        prompt, out = request.prompt_tokens, output_tokens(request)
        lengths = self._lengths.get(_likeness(request, among), ())
        return any(prompt >= p and out >= o for p, o in lengths)


def _likeness(request: RequestView, among: frozenset[str] | None) -> Likeness:
    return among, request.priority, request.sequences, _gain(request)
