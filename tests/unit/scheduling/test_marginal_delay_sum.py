"""What a placement costs everyone, against the same written out request by request."""

from dataclasses import dataclass
from math import exp, isfinite
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.known_predictor import Known, scheduler

from steelyard_router.scheduling.ledger import HARM_UNIT, PRIOR_TOKENS_PER_S
from steelyard_router.scheduling.objective import USUAL_TTFTS, slope, worth
from steelyard_router.scheduling.predictor import Coefficients, attended
from steelyard_router.scheduling.prefill_share import MEMORY_S, MOST
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.strategy import MarginalDelay
from steelyard_router.scheduling.strategy.marginal_delay import LATER, OTHERS, QUEUED
from steelyard_router.scheduling.usual import PRIOR

BLOCK_TOKENS = 64
TEXT = Random(1).randbytes(800 * 8)
"""Hashes of the blocks of the one prompt that is partly cached."""


@dataclass(frozen=True)
class Guest:
    """A request that is on an instance."""

    where: int
    tokens: int
    decodes: bool
    workload: int
    sequences: int


targets = st.one_of(st.none(), st.floats(0.001, 100))
shares = st.floats(0, 1)
slos = st.builds(SLO, targets, targets, targets)
weights = st.builds(Weights, shares, shares, shares)
classes = st.lists(st.tuples(slos, weights, st.floats(1, 5000)), min_size=3, max_size=3)
guests = st.lists(
    st.builds(
        Guest,
        where=st.integers(0, 2),
        tokens=st.integers(1, 50_000),
        decodes=st.booleans(),
        workload=st.integers(0, 2),
        sequences=st.integers(1, 3),
    ),
    max_size=12,
)
costs = st.floats(1e-12, 1e-2)
coefficients = st.builds(Coefficients, costs, costs, costs, costs, costs)


def spent(view: RequestView, first_s: float, token_s: float) -> float:
    """What it costs a request that it waits and decodes for so long."""
    out, slo, weights = view.expected_output_tokens or 0, view.slo, view.weights
    if slo == SLO():  # no reply teaches what is usual here
        usual = weights.ttft * first_s / (USUAL_TTFTS * PRIOR.ttft_s)
        return usual + weights.tpot * token_s / PRIOR.tpot_s
    times = ((first_s, slo.ttft_s), (token_s, slo.tpot_s), (first_s + out * token_s, slo.e2e_s))
    each = zip((weights.ttft, weights.tpot, weights.e2e), times, strict=True)
    return sum(weight * worth(time / target) for weight, (time, target) in each if target)


def second(view: RequestView, token_s: float) -> float:
    """What a delay of a second costs a request where a token takes so long."""
    out, slo, weights = view.expected_output_tokens or 0, view.slo, view.weights
    if slo == SLO():
        return weights.tpot / (PRIOR.tpot_s * out)
    cost = 0.0
    if slo.tpot_s:
        cost += weights.tpot * slope(token_s / slo.tpot_s) / (slo.tpot_s * out)
    if slo.e2e_s:
        cost += weights.e2e * slope(out * token_s / slo.e2e_s) / slo.e2e_s
    return cost


def computed_s(cost: Coefficients, uncached: int, tokens: int) -> float:
    return cost.prefill_s * uncached + cost.attention_s * attended(uncached, tokens)


@dataclass
class Place:
    """An instance, who is there, and how much of the request's prompt it has cached."""

    cost: Coefficients
    cached: int
    here: list[tuple[Guest, RequestView]]

    def uncached(self, mine: RequestView) -> int:
        blocks = min(self.cached, len(mine.blocks) // 8)
        return mine.prompt_tokens - min(blocks * BLOCK_TOKENS, mine.prompt_tokens - 1)

    def queue_s(self, now: float) -> float:
        line = [guest for guest, _ in self.here if not guest.decodes]
        if not line:
            return 0.0
        took = [computed_s(self.cost, guest.tokens, guest.tokens) for guest in line]
        done = min(line[0].tokens, PRIOR_TOKENS_PER_S * now)
        left = sum(guest.tokens for guest in line) - done
        return max(sum(took) - min(took[0], now), left / PRIOR_TOKENS_PER_S)

    def prefill_share(self, now: float) -> float:
        placed = sum(computed_s(self.cost, guest.tokens, guest.tokens) for guest, _ in self.here)
        if self.cached:
            placed += computed_s(self.cost, *[self.cached * BLOCK_TOKENS] * 2)
        return min(MOST, placed * exp(-now / MEMORY_S) / MEMORY_S)

    def price(self, mine: RequestView, least: int, now: float) -> tuple[float, float]:
        """Every term of every request, summed one after the other; and how far it may be off,
        since what a second costs is a whole number of units in the ledger."""
        out = mine.expected_output_tokens or 0
        uncached, queue = self.uncached(mine), self.queue_s(now)
        own = computed_s(self.cost, uncached, mine.prompt_tokens)
        context = sum(guest.tokens for guest, _ in self.here if guest.decodes)
        added = self.cost.sequence_s + self.cost.context_s * mine.prompt_tokens
        step = self.cost.base_s + self.cost.context_s * context + added
        step += self.cost.sequence_s * sum(guest.sequences for guest, _ in self.here)
        token = step / (1 - self.prefill_share(now))
        total = spent(mine, queue + own, token)
        avoidable = own * (uncached - least) / uncached
        delay = OTHERS * (own + LATER * avoidable + QUEUED * queue + out * added)
        for guest, view in self.here:
            total += guest.sequences * second(view, token) * delay
        return total, 4 * len(self.here) * HARM_UNIT * delay


@settings(max_examples=150, deadline=None)
@given(
    classes=classes,
    present=guests,
    fleet=st.lists(coefficients, min_size=3, max_size=3),
    cached=st.lists(st.integers(0, 800), min_size=3, max_size=3),
    tokens=st.integers(1, 50_000),
    workload=st.integers(0, 2),
    now=st.floats(0, 3),
)
def test_the_cost_is_the_sum_over_all_who_are_delayed(
    *,
    classes: list[tuple[SLO, Weights, float]],
    present: list[Guest],
    fleet: list[Coefficients],
    cached: list[int],
    tokens: int,
    workload: int,
    now: float,
) -> None:
    places = [Place(*each, []) for each in zip(fleet, cached, strict=True)]
    made = scheduler(Known({f"i{number}": place.cost for number, place in enumerate(places)}), 3)

    def only(request: RequestView, where: int, *, decodes: bool) -> None:
        among = frozenset({f"i{where}"})
        lease = made.choose(request, MarginalDelay(), 0.0, among=among).lease
        if decodes:
            lease.streams = False  # its answer must not teach a rate, nor what is usual
            lease.first_byte(0.0)
        if request.blocks:
            lease.release(0.0)

    for number, place in enumerate(places):
        if place.cached:
            blocks = TEXT[: place.cached * 8]
            warm = RequestView(blocks=blocks, prompt_tokens=place.cached * BLOCK_TOKENS)
            only(warm, number, decodes=True)
    for guest in sorted(present, key=lambda guest: not guest.decodes):
        slo, weight, out = classes[guest.workload]
        view = RequestView(
            workload=str(guest.workload), prompt_tokens=guest.tokens, slo=slo, weights=weight,
            expected_output_tokens=out, sequences=guest.sequences,
        )  # fmt: skip
        only(view, guest.where, decodes=guest.decodes)
        places[guest.where].here.append((guest, view))

    slo, weight, out = classes[workload]
    mine = RequestView(
        workload=str(workload), prompt_tokens=tokens, slo=slo, weights=weight,
        expected_output_tokens=out, blocks=TEXT[: tokens // BLOCK_TOKENS * 8],
    )  # fmt: skip
    decision = made.choose(mine, MarginalDelay(), now, explain=True)

    assert decision.terms
    least = min(place.uncached(mine) for place in places)
    for place, row in zip(places, decision.terms, strict=True):
        assert row.p == place.uncached(mine)
        expected, slack = place.price(mine, least, now)
        assert row.cost == pytest.approx(expected, rel=1e-6, abs=1e-12 + slack)


@settings(max_examples=60, deadline=None)
@given(
    fleet=st.lists(st.builds(Coefficients, *[st.floats(0, 1e6)] * 5), min_size=2, max_size=2),
    prompts=st.lists(st.integers(0, 10**9), min_size=1, max_size=6),
    out=st.one_of(st.none(), st.floats(0, 1e9)),
)
def test_a_cost_is_never_nan(
    fleet: list[Coefficients], prompts: list[int], out: float | None
) -> None:
    made = scheduler(Known({"i0": fleet[0], "i1": fleet[1]}))
    for tokens in prompts:
        request = RequestView(prompt_tokens=tokens, expected_output_tokens=out)
        decision = made.choose(request, MarginalDelay(), 0.0, explain=True)
        assert decision.terms
        assert all(isfinite(row.cost) for row in decision.terms)
