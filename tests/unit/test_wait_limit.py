"""How long a request may wait: a workload's own queue, else the policy's, else the process's."""

from typing import Any

import pytest
from support.manifests import policy

from steelyard_operator.plan.policy import compile_policy
from steelyard_router.config import Limits, OnTimeout, Policy
from steelyard_router.ordering import wait_limits_of
from steelyard_router.scheduling.waiting import WaitLimit

LIMITS = Limits(queue_wait_s=45.0)
Tree = dict[str, Any]

INHERITED: list[tuple[Tree | None, Tree | None, WaitLimit]] = [
    (None, None, WaitLimit(45.0, OnTimeout.PROMOTE)),
    (None, {"wait": 60}, WaitLimit(60.0, OnTimeout.PROMOTE)),
    (None, {"then": "Reject"}, WaitLimit(45.0, OnTimeout.REJECT)),
    (None, {"wait": 60, "then": "Reject"}, WaitLimit(60.0, OnTimeout.REJECT)),
    ({}, {"wait": 60, "then": "Reject"}, WaitLimit(60.0, OnTimeout.REJECT)),
    ({"wait": 5}, None, WaitLimit(5.0, OnTimeout.PROMOTE)),
    ({"wait": 5}, {"wait": 60}, WaitLimit(5.0, OnTimeout.PROMOTE)),
    ({"wait": 5}, {"then": "Reject"}, WaitLimit(5.0, OnTimeout.REJECT)),
    ({"wait": 5}, {"wait": 60, "then": "Reject"}, WaitLimit(5.0, OnTimeout.REJECT)),
    ({"then": "Degrade"}, None, WaitLimit(45.0, OnTimeout.DEGRADE)),
    ({"then": "Degrade"}, {"wait": 60}, WaitLimit(60.0, OnTimeout.DEGRADE)),
    ({"then": "Degrade"}, {"then": "Reject"}, WaitLimit(45.0, OnTimeout.DEGRADE)),
    ({"then": "Promote"}, {"then": "Reject"}, WaitLimit(45.0, OnTimeout.PROMOTE)),
    (
        {"wait": 5, "then": "Degrade"},
        {"wait": 60, "then": "Reject"},
        WaitLimit(5.0, OnTimeout.DEGRADE),
    ),
]
"""A workload's queue, the policy's, and what holds."""


def _spelled(own: Tree | None, shared: Tree | None, names: dict[str, str]) -> Tree:
    def queue(given: Tree | None) -> Tree:
        spelled = {names[key]: value for key, value in (given or {}).items()}
        return {} if given is None else {"queue": spelled}

    return {"workloads": [{"name": "w", "default": True} | queue(own)]} | queue(shared)


@pytest.mark.parametrize(("own", "shared", "holds"), INHERITED)
def test_each_field_of_a_workloads_queue_is_the_policys_unless_it_is_given(
    own: Tree | None, shared: Tree | None, holds: WaitLimit
) -> None:
    hand_written = Policy.model_validate(
        _spelled(own, shared, {"wait": "max_wait_s", "then": "on_timeout"})
    )
    compiled = compile_policy(
        policy(**_spelled(own, shared, {"wait": "maxWaitSeconds", "then": "onTimeout"}))
    )

    assert wait_limits_of(hand_written, LIMITS) == {"w": holds}
    assert wait_limits_of(compiled, LIMITS) == {"w": holds}
