"""What a delay would cost those on an instance: exactly the sum of its leases', to the last bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.known_predictor import Known, scheduler

from steelyard_router.scheduling.lease import Lease, Phase
from steelyard_router.scheduling.ledger import HARM_UNIT
from steelyard_router.scheduling.objective import Rates, harm, has_targets
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.stake import Stakes, stakes
from steelyard_router.scheduling.strategy import LeastRequest, MarginalDelay
from steelyard_router.scheduling.usual import PRIOR

NAMES = ("i0", "i1")
TARGETS = st.one_of(st.none(), st.floats(1e-9, 1e6))
SHARES = st.floats(0, 1)
VIEWS = st.builds(
    RequestView,
    workload=st.sampled_from(["chat", "batch"]),
    prompt_tokens=st.integers(1, 10**6),
    sequences=st.integers(1, 5),
    streams=st.booleans(),
    expected_output_tokens=st.one_of(st.none(), st.floats(0.1, 1e6)),
    slo=st.builds(SLO, TARGETS, TARGETS, TARGETS),
    weights=st.builds(Weights, SHARES, SHARES, SHARES),
)
STEPS = st.lists(
    st.one_of(
        VIEWS,
        st.tuples(st.sampled_from(["first_byte", "progress", "release"]), st.integers(0, 99)),
        st.sampled_from(NAMES),
    ),
    max_size=40,
)


def summed(made: Scheduler, instance: str) -> int:
    member = made._fleet.find(instance)
    assert member is not None
    return member.account.harm


def at_stake(made: Scheduler, instance: str) -> Stakes:
    member = made._fleet.find(instance)
    assert member is not None
    return member.account.stakes


def all_of(leases: list[Lease]) -> Stakes:
    stakes = Stakes()
    for lease in leases:
        for each in lease.stakes:
            stakes.add(each)
    return stakes


def tell(lease: Lease, event: str, now: float) -> None:
    if event == "first_byte":
        lease.first_byte(now)
    elif event == "progress":
        lease.progress(lease.output_tokens + 20, now)
    else:
        lease.release(now)


def here(made: Scheduler, leases: list[Lease], instance: str) -> list[Lease]:
    """Not those of an earlier instance of that name."""
    member = made._fleet.find(instance)
    assert member is not None
    return [
        each
        for each in leases
        if each.account is member.account and each.phase is not Phase.RELEASED
    ]


@settings(max_examples=100, deadline=None)
@given(steps=STEPS)
def test_the_sum_is_that_of_the_leases_after_whatever_happened(
    steps: list[RequestView | tuple[str, int] | str],
) -> None:
    """Though what is usual, and with it what the next one costs, changes in the meantime."""
    made, leases, now = scheduler(Known()), [], 0.0
    for step in steps:
        now += 0.25
        if isinstance(step, RequestView):
            leases.append(made.choose(step, LeastRequest(), now).lease)
        elif isinstance(step, str):
            made.leave(step)
            made.join(step)
        elif leases:
            tell(leases[step[1] % len(leases)], step[0], now)
        for name in NAMES:
            mine = here(made, leases, name)
            assert summed(made, name) == sum(each.harm for each in mine)
            assert at_stake(made, name)._sums == all_of(mine)._sums

    for lease in leases:
        lease.release(now)
    assert [summed(made, name) for name in NAMES] == [0, 0]
    assert not any(at_stake(made, name) for name in NAMES)


@given(view=VIEWS)
def test_a_lease_costs_what_its_request_does_or_has_it_at_stake(view: RequestView) -> None:
    made = scheduler(Known(), 1)

    lease = made.choose(view, LeastRequest(), 0.0).lease

    assert lease.stakes == stakes(view)
    expected = 0.0 if has_targets(view) else harm(view, Rates.of(view, PRIOR))
    assert lease.harm * HARM_UNIT == pytest.approx(expected, rel=1e-12, abs=HARM_UNIT)
    assert lease.harm >= 0


def test_a_workload_that_is_used_to_waiting_is_hurt_less_and_minds_less() -> None:
    made = scheduler(Known(), 1)
    for turn in range(200):
        for workload, token_s in (("chat", 0.01), ("batch", 0.2)):
            lease = made.choose(RequestView(workload=workload), LeastRequest(), 60.0 * turn).lease
            lease.first_byte(60.0 * turn + 1.0)
            lease.progress(101, 60.0 * turn + 1.0 + 100 * token_s)
            lease.release(60.0 * turn + 1.0 + 100 * token_s)

    costs, harms = {}, {}
    for name in ("chat", "batch"):
        request = RequestView(workload=name)
        decision = made.choose(request, MarginalDelay(), 12_000.0, explain=True)
        decision.lease.release(12_000.0)
        assert decision.terms
        costs[name], harms[name] = decision.terms[0].cost, decision.lease.harm

    assert costs["chat"] > 5 * costs["batch"] > 0
    assert harms["chat"] > 5 * harms["batch"] > 0
