"""The product until speeds are known, then the least delay; bursts and trials with either."""

import pytest
from support.known_predictor import FAST, SLOW, Known, scheduler

from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.strategy import (
    Adaptive,
    MarginalDelay,
    Multiplicative,
    Strategy,
    build,
)
from steelyard_router.scheduling.trial import Trial

CHAT = SLO(ttft_s=0.5, tpot_s=0.03)


@pytest.mark.parametrize("trust", [True, False])
def test_it_is_the_product_until_all_candidates_are_trusted(*, trust: bool) -> None:
    def costs(strategy: Strategy) -> list[float]:
        made = scheduler(Known({"i0": SLOW, "i1": FAST}, trust=trust))
        decision = made.choose(RequestView(prompt_tokens=4000), strategy, 0.0, explain=True)
        assert decision.terms
        return [row.cost for row in decision.terms]

    adaptive = build("Adaptive")

    assert isinstance(adaptive, Adaptive)
    assert costs(adaptive) == costs(MarginalDelay() if trust else Multiplicative())
    assert costs(MarginalDelay()) != costs(Multiplicative())


@pytest.mark.parametrize("name", ["Adaptive", "MarginalDelay"])
@pytest.mark.parametrize("slo", [SLO(), CHAT, SLO(e2e_s=60.0)], ids=["none", "chat", "e2e"])
@pytest.mark.parametrize(("tokens", "count"), [(1_000, 200), (32_768, 1000)])
def test_a_burst_of_equal_requests_spreads_evenly_once_speeds_are_known(
    name: str, slo: SLO, tokens: int, count: int
) -> None:
    made, strategy = scheduler(Known(), 8), build(name)
    request = RequestView(blocks=bytes(range(8)) * (tokens // 64), prompt_tokens=tokens, slo=slo)

    decisions = [made.choose(request, strategy, 0.0, explain=True) for _ in range(count)]

    assert decisions[0].terms
    assert decisions[0].terms[0].cost < 100  # the product would be tokens
    chosen = [decision.instance for decision in decisions]
    counts = [chosen.count(f"i{number}") for number in range(8)]
    assert max(counts) - min(counts) <= 1


def test_a_trial_of_delays_sees_the_same_seconds_beside_a_strategy_that_needs_none() -> None:
    made = scheduler(Known({"i0": SLOW, "i1": FAST}))
    request = RequestView(prompt_tokens=4000)
    trial = Trial(request, MarginalDelay())

    decision = made.choose(request, Multiplicative(), 0.0, trial=trial)

    assert (decision.instance, decision.trial) == ("i0", "i1")
    capped = Trial(request, MarginalDelay(), max_p_tokens=4000)
    assert made.choose(request, Multiplicative(), 0.0, trial=capped).trial == "i1"
    full = Trial(request, MarginalDelay(), max_p_tokens=3999)
    assert made.choose(request, Multiplicative(), 0.0, trial=full).trial is None
