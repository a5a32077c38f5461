"""A request under a policy on trial: another class, the same prompt."""

import random

import pytest

from steelyard_router.analysis.analyzer import Analyzer
from steelyard_router.analysis.history import OutputHistory
from steelyard_router.analysis.ratio import TokenRatio
from steelyard_router.analysis.shadow import Shadow
from steelyard_router.config import ClientHints, Policy, RouterConfig
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy.least_request import LeastRequest
from steelyard_router.scheduling.strategy.round_robin import RoundRobin
from steelyard_router.scheduling.trial import Trial
from steelyard_router.strategies import strategies_for

CHAT = "/v1/chat/completions"
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hello there"}]}'

TRIAL = Policy.model_validate(
    {
        "workloads": [
            {"name": "vip", "match": {"headers": {"x-team": "a"}}, "priority": 5,
             "slo": {"ttft_ms": 100}, "routing": {"strategy": "RoundRobin", "max_p_tokens": 9}},
            {"name": "rest", "default": True},
        ]
    }
)  # fmt: skip


def trial(**headers: str) -> Trial:
    analyzer = Analyzer(RouterConfig(), TokenRatio(), OutputHistory())
    shadow = Shadow(TRIAL, strategies_for(TRIAL), ClientHints.LOWER_ONLY)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return shadow.trial(CHAT, named, analyzer.analyze(CHAT, named, BODY))


def test_the_workload_its_targets_and_its_strategy_are_those_of_the_trial() -> None:
    found = trial(x_team="a")

    assert found.request.workload == "vip"
    assert found.request.slo.ttft_s == 0.1
    assert found.request.priority == 5
    assert found.strategy.name == "RoundRobin"
    assert found.max_p_tokens == 9
    assert trial().request.workload == "rest"


def test_a_client_may_name_a_workload_of_the_trial_and_loosen_its_targets() -> None:
    assert trial(x_steelyard_workload="vip").request.workload == "vip"
    assert trial(x_team="a", x_slo_ttft_ms="700").request.slo.ttft_s == 0.7


def test_the_prompt_is_the_same() -> None:
    analyzer = Analyzer(RouterConfig(), TokenRatio(), OutputHistory())
    view = analyzer.analyze(CHAT, {}, BODY).view

    found = trial().request

    assert (found.blocks, found.prompt_tokens) == (view.blocks, view.prompt_tokens)


# -- the second opinion in a decision -------------------------------------------------------------


def fleet(count: int) -> Scheduler:
    scheduler = Scheduler(index_bytes=1 << 20)
    for number in range(count):
        scheduler.join(f"e{number}")
    return scheduler


def test_a_second_opinion_changes_no_decision_and_takes_nothing() -> None:
    rng = random.Random(3)
    plain, watched = fleet(5), fleet(5)
    strategy = LeastRequest()
    request = trial().request
    opinion = Trial(request, RoundRobin())
    held = []
    for number in range(200):
        one = plain.choose(request, strategy, number)
        other = watched.choose(request, strategy, number, trial=opinion)
        assert one.instance == other.instance
        assert one.trial is None
        held.append((one, other))
        if rng.random() < 0.6:
            for decision in held.pop(rng.randrange(len(held))):
                decision.lease.release(number)
    assert watched.leases_held == plain.leases_held == len(held)


def test_the_same_policy_on_trial_agrees_always() -> None:
    scheduler = fleet(4)
    request = trial().request
    for number in range(50):
        opinion = Trial(request, LeastRequest())
        decision = scheduler.choose(request, LeastRequest(), number, trial=opinion)
        assert decision.trial == decision.instance


def test_a_trial_whose_cap_nobody_meets_would_have_waited() -> None:
    request = trial().request
    assert request.prompt_tokens > 1

    decision = fleet(2).choose(
        request, LeastRequest(), 0, trial=Trial(request, LeastRequest(), max_p_tokens=1)
    )

    assert decision.trial is None


@pytest.mark.parametrize("cap", [None, 1_000_000])
def test_the_cap_in_force_does_not_bind_the_trial(cap: int | None) -> None:
    scheduler = fleet(2)
    request = trial().request
    busy = scheduler.choose(request, LeastRequest(), 0)

    decision = scheduler.choose(
        request,
        RoundRobin(),
        0,
        exclude=(),
        max_p_tokens=request.prompt_tokens,
        trial=Trial(request, LeastRequest(), cap),
    )

    assert decision.instance != busy.instance
    assert decision.trial == decision.instance
