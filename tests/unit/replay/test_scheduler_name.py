"""Schedulers by name: what they are made from, and what cannot go together."""

from collections.abc import Sequence
from types import MappingProxyType

import pytest
from support.fleet_case import Keeper

from steelyard_simulator.load.mix import Mix
from steelyard_simulator.replay import scheduler
from steelyard_simulator.replay.policy import Options, Policy
from steelyard_simulator.replay.registry import PolicyNameError
from steelyard_simulator.replay.scenario import Hardware, Scenario, run
from steelyard_simulator.replay.scheduled import SchedulerPolicy
from steelyard_simulator.replay.scheduler import NONE, SchedulerNameError, build, names, parse

Made = tuple[str, Options]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Made]:
    """A scheduler `waiting` that writes down what it is made from."""
    calls: list[Made] = []

    def make(strategy: str, options: Options) -> Policy:
        calls.append((strategy, options))
        return Keeper(room=options.parameter("room", 4))

    known = {**scheduler.SCHEDULERS, "waiting": make}
    monkeypatch.setattr(scheduler, "SCHEDULERS", MappingProxyType(known))
    return calls


def test_without_a_scheduler_a_policy_is_what_its_name_says() -> None:
    policy = build(NONE, "least-request", seed=1, options=Options())

    assert isinstance(policy, SchedulerPolicy)
    assert not policy.holds


def test_a_scheduler_is_made_from_a_strategy_a_seed_and_the_constants_of_both(
    made: Sequence[Made],
) -> None:
    build("waiting:room=3", "multiplicative:p=2", seed=7, options=Options(routers=2))

    ((strategy, options),) = made
    assert strategy == "multiplicative"
    assert options.parameters == {"p": 2.0, "room": 3.0}
    assert (options.seed, options.routers) == (7, 2)


@pytest.mark.parametrize(
    ("scheduler_name", "policy", "message"),
    [
        ("best", "default", "unknown scheduler 'best'; known are none, .*waiting"),
        ("waiting", "vllm", "'waiting' works with the router's own policies, not with 'vllm'"),
        ("waiting:room=much", "default", "'room=much' is not NAME=NUMBER"),
    ],
)
def test_what_cannot_be_is_said(
    made: Sequence[Made], scheduler_name: str, policy: str, message: str
) -> None:
    with pytest.raises(SchedulerNameError, match=message):
        build(scheduler_name, policy, seed=1, options=Options())


def test_an_unknown_policy_is_said_too(made: Sequence[Made]) -> None:
    with pytest.raises(PolicyNameError, match="unknown policy 'best'"):
        build("waiting", "best", seed=1, options=Options())


@pytest.mark.parametrize("name", names())
def test_every_scheduler_has_a_name_that_is_known(name: str) -> None:
    assert parse(name) == (name, {})


def test_a_run_says_what_waited(made: Sequence[Made]) -> None:
    scenario = Scenario(hardware=Hardware(instances=1))

    report = run(Mix("slo", 8.0, 20.0), scenario, "default", 1, scheduler="waiting")

    assert report.setup.scheduler == "waiting"
    assert report.wait.max >= report.wait.p99 > report.wait.mean > 0
    assert report.ttft.mean is not None
    assert report.ttft.mean > report.wait.mean
