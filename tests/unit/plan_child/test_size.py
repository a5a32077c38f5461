"""What is as large as the API lets it be still fits into a ConfigMap, or is refused with words."""

from typing import Any

import pytest
from support.children import children as made
from support.children import stored, with_uid
from support.manifests import policy

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import plan

MEBIBYTE = 1024 * 1024
UIDS = ("1" * 36, "2" * 36)


def large(name: str, *, headers: int, letter: str = "x", **more: Any) -> SLOPolicy:
    """Every workload with that many of the longest headers, models and paths."""
    match = {
        "headers": [{"name": f"x-{n}", "value": letter * 4096} for n in range(headers)],
        "models": [f"{n:03d}" + letter * 250 for n in range(headers)],
        "paths": [f"/{n:03d}" + letter * 1020 for n in range(headers)],
    }
    alerts = [{"name": f"a{n}", "metric": "Score", "threshold": 2**53} for n in range(16)]
    workloads = [{"name": f"w{n}", "default": n == 0, "match": match} for n in range(16)]
    return policy(name, workloads=workloads, alerts=alerts, **more)


@pytest.mark.parametrize("letter", ["x", "\u4e2d", "\U0001f600", '"'])
@pytest.mark.parametrize("headers", [1, 4, 16])
def test_a_policy_and_another_on_trial_fit_into_the_config_map(letter: str, headers: int) -> None:
    service = stored(
        "a" * 40,
        engine={
            "type": "External",
            "urls": [f"http://{'h' * 270}{n}:8000" for n in range(64)],
        },
    )
    policies = [
        with_uid(large(name, headers=headers, letter=letter, targets=("a" * 40,), mode=mode), uid)
        for (name, mode), uid in zip([("fast", "Enforce"), ("try", "DryRun")], UIDS, strict=True)
    ]

    data = made(service, *policies)["ConfigMap", f"{'a' * 40}-router"]["data"]

    assert sum(len(key) + len(text.encode()) for key, text in data.items()) < MEBIBYTE


def test_a_policy_that_is_too_large_is_refused_and_says_why() -> None:
    (result,) = plan([stored("chat")], [large("fast", headers=16)]).policies

    (ancestor,) = result.ancestors
    assert ancestor.condition.reason == "Invalid"
    assert "fewer or shorter headers" in ancestor.condition.message


def test_a_policy_of_a_usual_size_is_not() -> None:
    (result,) = plan([stored("chat")], [large("fast", headers=3)]).policies

    assert result.ancestors[0].condition.status == "True"
