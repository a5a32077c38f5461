"""Which policies have to be read to know how things stand with a few services."""

import random
from typing import Any

import pytest
from support.manifests import service

from steelyard_operator.cluster.heard import targets
from steelyard_operator.cluster.parse import concerning, policies
from steelyard_operator.plan import plan

Object = dict[str, Any]
NAMES = ("a", "b", "c", "d")


def policy(number: int, rng: random.Random) -> Object:
    spec: Object = {
        "targetRefs": [{"name": name} for name in rng.sample(NAMES, rng.randint(1, 3))],
        "mode": rng.choice(["Enforce", "Enforce", "DryRun"]),
        "workloads": [{"name": "all", "default": True}],
    }
    if rng.random() < 0.2:
        spec["workloads"] = "of a newer version"
    created = f"2026-01-01T00:00:0{rng.randint(0, 9)}Z"
    metadata = {"name": f"p{number}", "namespace": "default", "uid": f"u{number}"}
    return {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "SLOPolicy",
        "metadata": metadata | {"creationTimestamp": created},
        "spec": spec,
    }


@pytest.mark.parametrize("seed", range(50))
def test_policies_that_name_none_of_the_services_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    every = [policy(number, rng) for number in range(rng.randint(1, 9))]
    subject = every[0]
    there = [service(name) for name in NAMES]

    def of_policy(bodies: list[Object]) -> object:
        readable, unreadable = policies(bodies)
        made = plan(
            [s for s in there if s.metadata.name in targets(subject)], readable, {}, unreadable
        )
        return next(item for item in made.policies if item.name == "p0")

    def of_service(bodies: list[Object]) -> object:
        readable, unreadable = policies(bodies)
        return plan([there[0]], readable, {}, unreadable).services

    few = list(concerning(every, targets(subject)))
    fewer = list(concerning(every, [there[0].metadata.name]))
    assert repr(of_policy(few)) == repr(of_policy(every))  # errors are equal to themselves alone
    assert repr(of_service(fewer)) == repr(of_service(every))


def test_policies_of_others_are_not_read() -> None:
    """Hundreds in one namespace would cost each reconcile a tenth of a second."""
    rng = random.Random(1)
    others = [policy(number, rng) for number in range(9)]
    for body in others:
        body["spec"]["targetRefs"] = [{"name": "other"}]

    assert list(concerning(others, ["a"])) == []
