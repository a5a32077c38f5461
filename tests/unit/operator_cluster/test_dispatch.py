"""Whose turn it is after an event."""

from typing import Any

from steelyard_operator.cluster.dispatch import (
    CHILD_DELAY_S,
    FOLLOWER_DELAY_S,
    LISTED_EACH_S,
    STATUS_DELAY_S,
    Dispatcher,
)
from steelyard_operator.cluster.heard import heard
from steelyard_operator.cluster.key import ObjectKey, policy_key, service_key

Object = dict[str, Any]


class Added:
    """Takes what a dispatcher adds, the earliest time of each key."""

    def __init__(self) -> None:
        self.keys: dict[ObjectKey, float] = {}
        self.dispatcher = Dispatcher(self.add)

    def add(self, key: ObjectKey, after_s: float) -> None:
        self.keys[key] = min(after_s, self.keys.get(key, after_s))

    def hear(self, body: Object, change: str | None = "MODIFIED") -> dict[ObjectKey, float]:
        self.keys = {}
        self.dispatcher.hear(heard(change, body))
        return self.keys

    def listed(self, *bodies: Object) -> dict[ObjectKey, float]:
        self.keys = {}
        self.dispatcher.listed([heard(None, body) for body in bodies])
        return self.keys


def service(name: str, generation: int = 1) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", "generation": generation}
    return {"kind": "LLMService", "metadata": metadata}


def policy(name: str, *targets: str, generation: int = 1) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", "generation": generation}
    refs = [{"name": target} for target in targets]
    return {"kind": "SLOPolicy", "metadata": metadata, "spec": {"targetRefs": refs}}


def child(kind: str, service_name: str | None, component: str = "engine") -> Object:
    labels = {"steelyard.io/component": component}
    if service_name is not None:
        labels["steelyard.io/service"] = service_name
    return {"kind": kind, "metadata": {"name": "x", "namespace": "ns", "labels": labels}}


A, B, C = (service_key("ns", name) for name in "abc")
P, Q = policy_key("ns", "p"), policy_key("ns", "q")


def test_an_edited_policy_is_for_the_services_it_names_at_once() -> None:
    added = Added()

    assert added.hear(policy("p", "a", "b")) == {A: 0.0, B: 0.0, P: FOLLOWER_DELAY_S}


def test_a_policy_that_names_others_is_for_those_it_named_too() -> None:
    added = Added()
    added.hear(policy("p", "a", "b"))

    keys = added.hear(policy("p", "b", "c", generation=2))

    assert keys == {A: 0.0, B: 0.0, C: 0.0, P: FOLLOWER_DELAY_S}


def test_a_new_policy_gives_its_rivals_their_turn() -> None:
    added = Added()
    added.hear(policy("p", "a"))

    assert added.hear(policy("q", "a"))[P] == FOLLOWER_DELAY_S


def test_a_deleted_policy_is_for_its_services_and_its_rivals() -> None:
    added = Added()
    added.hear(policy("p", "a"))
    added.hear(policy("q", "a"))

    keys = added.hear(policy("p", "a"), "DELETED")

    assert keys == {A: 0.0, Q: FOLLOWER_DELAY_S, P: FOLLOWER_DELAY_S}
    assert Q in added.hear(service("a"))
    assert P not in added.hear(service("a", generation=2))


def test_a_service_is_for_itself_and_then_for_the_policies_that_name_it() -> None:
    added = Added()
    added.hear(policy("p", "a"))
    added.hear(policy("q", "b"))

    assert added.hear(service("a")) == {A: 0.0, P: FOLLOWER_DELAY_S}


def test_a_change_of_status_alone_spreads_no_further_and_has_time() -> None:
    """Were the status another one each time, its own writing would keep a worker busy."""
    added = Added()
    added.hear(policy("p", "a"))
    added.hear(service("a"))

    assert added.hear(service("a")) == {A: STATUS_DELAY_S}
    assert added.hear(policy("p", "a")) == {P: STATUS_DELAY_S}


def test_a_child_is_for_its_service_and_a_routers_pod_for_its_policies() -> None:
    added = Added()
    added.hear(policy("p", "a"))

    assert added.hear(child("Deployment", "a")) == {A: CHILD_DELAY_S}
    assert added.hear(child("Pod", "a", "router")) == {A: CHILD_DELAY_S, P: FOLLOWER_DELAY_S}
    assert added.hear(child("Pod", "a", "engine")) == {A: CHILD_DELAY_S}
    assert added.hear(child("Service", None)) == {}


def test_namespaces_do_not_mix() -> None:
    added = Added()
    added.hear(policy("p", "a"))
    elsewhere = service("a")
    elsewhere["metadata"]["namespace"] = "other"

    assert added.hear(elsewhere) == {service_key("other", "a"): 0.0}


def test_a_listing_gives_all_their_turn_and_those_that_vanished_unheard() -> None:
    added = Added()
    added.hear(policy("p", "a"))
    added.hear(service("b"))

    assert added.listed(service("a"), policy("q", "c")).keys() == {A, B, C, P, Q}


def test_of_many_that_are_listed_those_with_news_come_first() -> None:
    """Else an edit would wait behind a resync of hundreds."""
    added = Added()
    known = [service(f"s{number}") for number in range(500)]
    added.listed(*known)

    found = added.listed(*known, service("new"))

    assert found.pop(service_key("ns", "new")) == 0.0
    assert sorted(found.values()) == [number * LISTED_EACH_S for number in range(500)]


def test_a_policy_that_is_found_to_be_gone_leaves_its_services_to_others() -> None:
    added = Added()
    added.hear(policy("p", "a"))
    added.hear(policy("q", "a"))
    added.keys = {}

    added.dispatcher.gone(P)

    assert added.keys == {A: 0.0, Q: FOLLOWER_DELAY_S}
    added.keys = {}
    added.dispatcher.gone(P)
    assert added.keys == {}
