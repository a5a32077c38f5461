"""What a placement costs everyone, against the same written out request by request."""

from dataclasses import dataclass
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_router.scheduling.candidate import Neighbour, Outlook, Terms
from steelyard_router.scheduling.ledger import PRIOR_TOKENS_PER_S
from steelyard_router.scheduling.objective import DEFAULT, Rates
from steelyard_router.scheduling.population import KEPT, Population
from steelyard_router.scheduling.predictor import Coefficients, Observation, attended
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import Adaptive, MarginalDelay, Multiplicative, build
from steelyard_router.scheduling.strategy.marginal_delay import LATER
from steelyard_router.scheduling.trial import Trial

FAST = Coefficients(9e-3, 35e-6, 1.2e-9, 60e-6, 65e-9)
SLOW = Coefficients(*[each * 2.5 for each in FAST])
CHAT = SLO(ttft_s=0.5, tpot_s=0.03)
BATCH = SLO(e2e_s=600.0)


class Known:
    """A predictor that knows."""

    def __init__(self, fleet: dict[str, Coefficients] | None = None, *, trust: bool = True) -> None:
        self.fleet = fleet or {}
        self.trust = trust

    def join(self, instance: str) -> None:
        self.fleet.setdefault(instance, FAST)

    def leave(self, instance: str) -> None:
        del self.fleet[instance]

    def coefficients(self, instance: str) -> Coefficients:
        return self.fleet[instance]

    def trusted(self, instance: str) -> bool:
        return self.trust

    def observe(self, instance: str, seen: Observation) -> None:
        """It needs nobody to tell it."""


def scheduler(predictor: Known, count: int = 2) -> Scheduler:
    made = Scheduler(index_bytes=10**7, predictor=predictor)
    for number in range(count):
        made.join(f"i{number}", cache_tokens=10**7)
    return made


@dataclass(frozen=True)
class Guest:
    """A request that is on an instance."""

    where: int
    tokens: int
    decodes: bool
    workload: int
    age_s: float


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
        age_s=st.floats(0, 3),
    ),
    max_size=12,
)
costs = st.floats(1e-12, 1e-2)
coefficients = st.builds(Coefficients, costs, costs, costs, costs, costs)


def rate(weight: float, target: float | None) -> float:
    return weight / target if target else 0.0


def by_hand(
    mine: RequestView, here: list[tuple[Guest, RequestView]], cost: Coefficients, now: float
) -> float:
    """Every term of every request, summed one after the other."""
    out = mine.expected_output_tokens or 0
    slo = mine.slo if mine.slo != SLO() else DEFAULT
    own = cost.prefill_s * mine.prompt_tokens + cost.attention_s * attended(
        mine.prompt_tokens, mine.prompt_tokens
    )
    line = [guest for guest, _ in here if not guest.decodes]
    queue = 0.0
    for place, guest in enumerate(line):
        took = cost.prefill_s * guest.tokens + cost.attention_s * attended(
            guest.tokens, guest.tokens
        )
        queue += max(0.0, took - now) if place == 0 else took
    if line:
        done = min(line[0].tokens, PRIOR_TOKENS_PER_S * now)
        queue = max(queue, (sum(guest.tokens for guest in line) - done) / PRIOR_TOKENS_PER_S)
    context = sum(guest.tokens for guest, _ in here if guest.decodes)
    added = cost.sequence_s + cost.context_s * mine.prompt_tokens
    step = cost.base_s + cost.sequence_s * len(here) + cost.context_s * context + added
    total = rate(mine.weights.ttft, slo.ttft_s) * (queue + own)
    total += rate(mine.weights.tpot, slo.tpot_s) * step
    total += rate(mine.weights.e2e, slo.e2e_s) * (queue + own + out * step)
    for _, view in here:
        theirs, its_out = view.slo if view.slo != SLO() else DEFAULT, view.expected_output_tokens
        assert its_out
        delay = LATER * own / its_out + min(1.0, out / its_out) * added
        total += rate(view.weights.tpot, theirs.tpot_s) * delay
    return total


@settings(max_examples=150, deadline=None)
@given(
    classes=classes,
    present=guests,
    fleet=st.lists(coefficients, min_size=3, max_size=3),
    tokens=st.integers(1, 50_000),
    workload=st.integers(0, 2),
    now=st.floats(0, 3),
)
def test_the_cost_is_the_sum_over_all_who_are_delayed(
    *,
    classes: list[tuple[SLO, Weights, float]],
    present: list[Guest],
    fleet: list[Coefficients],
    tokens: int,
    workload: int,
    now: float,
) -> None:
    names = [f"i{number}" for number in range(3)]
    made = scheduler(Known(dict(zip(names, fleet, strict=True))), 3)

    def view(prompt_tokens: int, which: int) -> RequestView:
        slo, weight, out = classes[which]
        return RequestView(
            workload=str(which), prompt_tokens=prompt_tokens, slo=slo, weights=weight,
            expected_output_tokens=out,
        )  # fmt: skip

    there: dict[str, list[tuple[Guest, RequestView]]] = {name: [] for name in names}
    for guest in sorted(present, key=lambda guest: not guest.decodes):
        request, name = view(guest.tokens, guest.workload), names[guest.where]
        decision = made.choose(request, MarginalDelay(), 0.0, among=frozenset({name}))
        if guest.decodes:
            decision.lease.streams = False  # its answer must not teach a rate
            decision.lease.first_byte(0.0)
        there[name].append((guest, request))

    mine = view(tokens, workload)
    decision = made.choose(mine, MarginalDelay(), now, explain=True)

    assert decision.terms
    for name, cost, row in zip(names, fleet, decision.terms, strict=True):
        expected = by_hand(mine, there[name], cost, now)
        assert row.cost == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_slower_instance_gets_a_request_only_when_that_costs_less() -> None:
    made, strategy = scheduler(Known({"i0": SLOW, "i1": FAST})), MarginalDelay()
    request = RequestView(prompt_tokens=4000)

    chosen = [made.choose(request, strategy, 0.0).instance for _ in range(14)]

    assert chosen[:2] == ["i1", "i1"]
    assert 2 <= chosen.count("i0") <= 6


def test_a_batch_job_goes_to_batch_jobs_and_not_to_chats() -> None:
    made, strategy = scheduler(Known()), MarginalDelay()
    chat = RequestView(workload="chat", prompt_tokens=500, slo=CHAT)
    batch = RequestView(workload="batch", prompt_tokens=20_000, slo=BATCH)
    for _ in range(6):
        made.choose(chat, strategy, 0.0, among=frozenset({"i0"})).lease.first_byte(0.0)
        made.choose(batch, strategy, 0.0, among=frozenset({"i1"})).lease.first_byte(0.0)

    assert made.choose(batch, strategy, 0.0).instance == "i1"
    assert made.choose(chat, strategy, 0.0).instance == "i0"


def test_targets_that_are_absent_cost_nothing_but_a_request_without_any_gets_the_defaults() -> None:
    weight = Weights(0.5, 0.25, 0.25)

    assert Rates.of(RequestView(slo=SLO(tpot_s=0.05), weights=weight)) == (0, 5, 0)
    assert Rates.of(RequestView(slo=SLO(1.0, 0.05, 10.0), weights=weight)) == (0.5, 5, 0.025)
    assert DEFAULT.ttft_s
    assert DEFAULT.tpot_s
    assert Rates.of(RequestView(weights=weight)) == (
        0.5 / DEFAULT.ttft_s,
        0.25 / DEFAULT.tpot_s,
        0,
    )


def test_with_all_weights_zero_the_less_loaded_gets_it() -> None:
    made, strategy = scheduler(Known()), MarginalDelay()
    request = RequestView(prompt_tokens=4000, weights=Weights(0, 0, 0))

    chosen = [made.choose(request, strategy, 0.0).instance for _ in range(4)]

    assert sorted(chosen) == ["i0", "i0", "i1", "i1"]


@pytest.mark.parametrize("term", range(5))
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_term_that_is_wrong_by_two_still_places_sensibly(term: int, factor: float) -> None:
    wrong = list(FAST)
    wrong[term] *= factor
    known = Coefficients(*wrong)
    made, strategy = scheduler(Known({"i0": known, "i1": known, "i2": known}), 3), MarginalDelay()
    warm = RequestView(blocks=bytes(range(8)) * 100, prompt_tokens=6400, expected_output_tokens=300)
    first = made.choose(warm, strategy, 0.0)
    first.lease.first_byte(0.3)
    first.lease.release(1.0)

    assert made.choose(warm, strategy, 2.0).instance == first.instance
    cold = RequestView(prompt_tokens=6400, expected_output_tokens=300)
    others = {made.choose(cold, strategy, 2.0).instance for _ in range(2)}
    assert others == {"i0", "i1", "i2"} - {first.instance}


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


def test_adaptive_is_the_product_until_all_candidates_are_trusted() -> None:
    predictor = Known(trust=False)
    made = scheduler(predictor)
    request = RequestView(prompt_tokens=4000)
    adaptive = build("Adaptive")
    assert isinstance(adaptive, Adaptive)

    def price(strategy: object) -> list[float]:
        decision = made.choose(request, strategy, 0.0, explain=True)  # type: ignore[arg-type]
        decision.lease.release(0.0)
        assert decision.terms
        return [row.cost for row in decision.terms]

    assert price(adaptive) == price(Multiplicative())
    predictor.trust = True
    assert price(adaptive) == price(MarginalDelay()) != price(Multiplicative())


def test_a_trial_of_it_sees_the_same_seconds_beside_a_strategy_that_needs_none() -> None:
    made = scheduler(Known({"i0": SLOW, "i1": FAST}))
    request = RequestView(prompt_tokens=4000)
    trial = Trial(request, MarginalDelay())

    decision = made.choose(request, Multiplicative(), 0.0, trial=trial)

    assert (decision.instance, decision.trial) == ("i0", "i1")
    capped = Trial(request, MarginalDelay(), max_p_tokens=4000)
    assert made.choose(request, Multiplicative(), 0.0, trial=capped).trial == "i1"
    full = Trial(request, MarginalDelay(), max_p_tokens=3999)
    assert made.choose(request, Multiplicative(), 0.0, trial=full).trial is None


def test_a_workload_is_known_by_its_recent_requests_and_names_long_gone_are_dropped() -> None:
    population = Population()
    for _ in range(300):
        population.learn(RequestView(workload="chat", slo=CHAT, expected_output_tokens=100))
    for _ in range(300):
        population.learn(RequestView(workload="chat", slo=CHAT, expected_output_tokens=400))
    chat = dict(population)["chat"]
    assert chat.output_tokens == pytest.approx(400, rel=0.01)
    assert chat.tpot_rate == pytest.approx(0.3 / 0.03)

    for number in range(KEPT):
        population.learn(RequestView(workload=str(number)))
    assert "chat" not in dict(population)
    assert len(dict(population)) == KEPT


def test_columns_follow_the_rows_that_are_kept() -> None:
    outlook = Outlook(
        [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12], [Neighbour(1.0, 2.0, [3, 4, 5])],
    )  # fmt: skip
    terms = Terms([0, 1, 2], [0] * 3, [0] * 3, [0] * 3, [0] * 3, RequestView(), 0.0, outlook)

    kept = terms.rows([0, 2]).outlook

    assert kept == Outlook([1, 3], [4, 6], [7, 9], [10, 12], [Neighbour(1.0, 2.0, [3, 5])])
