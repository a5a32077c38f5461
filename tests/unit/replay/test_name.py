"""Names that a command line gives: policies with their constants, and changes of a fleet."""

import pytest
from support.fleet_case import policy

from steelyard_router.scheduling.strategy import STRATEGIES
from steelyard_simulator.replay.change import Change, ChangeKind
from steelyard_simulator.replay.policy import Options
from steelyard_simulator.replay.registry import PolicyNameError, build_policy, names, parse
from steelyard_simulator.replay.scheduled import STRATEGY_NAMES


def test_every_strategy_of_the_router_has_a_name() -> None:
    assert {*STRATEGY_NAMES.values()} >= {kind.name for kind in STRATEGIES}
    assert {"default", "multiplicative", "least-request", "round-robin"} <= {*names()}


@pytest.mark.parametrize("name", names())
def test_every_policy_can_be_built(name: str) -> None:
    assert policy(name) is not policy(name)


def test_a_name_carries_constants() -> None:
    assert parse("multiplicative:p=1:b=0.5") == ("multiplicative", {"p": 1.0, "b": 0.5})


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PolicyNameError, match="unknown policy 'best'; known are default, "):
        build_policy("best", seed=1, options=Options())


@pytest.mark.parametrize("name", ["multiplicative:p", "multiplicative:p=much"])
def test_a_constant_must_be_a_number(name: str) -> None:
    with pytest.raises(PolicyNameError, match="is not NAME=NUMBER"):
        parse(name)


def test_a_change_is_read() -> None:
    assert Change.parse("fail@120.5:3") == Change(120.5, ChangeKind.FAIL, 3)


@pytest.mark.parametrize("text", ["fail", "burn@1:0", "fail@x:0", "fail@1", "fail@-1:0"])
def test_a_bad_change_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="is not KIND@SECONDS:INSTANCE, as in fail@120:3"):
        Change.parse(text)
