"""Which children a service has, and what all of them have in common."""

from typing import Any

import pytest
from support.children import HF, SETTINGS, UID, VLLM, children, stored
from support.manifests import policy, service

from steelyard_operator.api.llmservice import LLMService
from steelyard_operator.plan import child, plan
from steelyard_operator.plan.child.ownership import CHILDREN

URLS: dict[str, Any] = {"engine": {"type": "External", "urls": ["http://10.0.0.1:8000"]}}
CLAIM = {"type": "PersistentVolumeClaim", "template": {"size": "10Gi"}}

ROUTER_CHILDREN = [
    ("ServiceAccount", "chat-router"),
    ("RoleBinding", "chat-router"),
    ("ConfigMap", "chat-router"),
    ("Service", "chat-router"),
    ("PodDisruptionBudget", "chat-router"),
    ("Deployment", "chat-router"),
]
ENGINE_CHILDREN = [
    ("Service", "chat-engine"),
    ("PodDisruptionBudget", "chat-engine"),
    ("Deployment", "chat-engine"),
]

ALL = [
    stored(),
    stored(replicas=0),
    stored(**VLLM),
    stored(**VLLM, cache={**CLAIM, "retention": "Delete"}, networkPolicy="Enabled"),
    stored(model=HF, engine={"type": "SGLang"}, router={"replicas": 3}),
    stored(**URLS),
]


def test_a_simulated_service_has_engines_and_a_router() -> None:
    assert sorted(children(stored())) == sorted(ENGINE_CHILDREN + ROUTER_CHILDREN)


def test_engines_that_someone_else_runs_have_no_children() -> None:
    assert sorted(children(stored(**URLS))) == sorted(ROUTER_CHILDREN)


def test_network_policies_are_there_when_asked_for() -> None:
    with_them = set(children(stored(networkPolicy="Enabled")))
    external = set(children(stored(**URLS, networkPolicy="Enabled")))
    names = {("NetworkPolicy", "chat-engine"), ("NetworkPolicy", "chat-router")}

    assert with_them - set(children(stored())) == names
    assert {key for key in external if key[0] == "NetworkPolicy"} == {
        ("NetworkPolicy", "chat-router")
    }


@pytest.mark.parametrize("item", ALL)
def test_every_child_is_owned_and_labelled_and_in_the_services_namespace(item: LLMService) -> None:
    for (_, name), body in children(item).items():
        metadata = body["metadata"]
        component = "router" if name.endswith("-router") else "engine"
        assert metadata["namespace"] == "default"
        assert metadata["labels"] == {
            "app.kubernetes.io/name": "steelyard",
            "app.kubernetes.io/instance": "chat",
            "app.kubernetes.io/component": component,
            "app.kubernetes.io/managed-by": "steelyard-operator",
            "steelyard.io/service": "chat",
            "steelyard.io/component": component,
        }
        (owner,) = metadata["ownerReferences"]
        assert owner == {
            "apiVersion": "steelyard.io/v1alpha1",
            "kind": "LLMService",
            "name": "chat",
            "uid": UID,
            "controller": True,
            "blockOwnerDeletion": False,
        }


@pytest.mark.parametrize("item", ALL)
def test_what_pods_need_is_applied_before_the_pods(item: LLMService) -> None:
    kinds = [kind for kind, _ in children(item)]
    order = [resource.kind for resource in CHILDREN]

    assert kinds == sorted(kinds, key=order.index)
    assert kinds[-1] == "Deployment"


@pytest.mark.parametrize("item", ALL)
def test_selectors_hold_only_labels_that_never_change(item: LLMService) -> None:
    for (kind, name), body in children(item).items():
        component = name.rpartition("-")[2]
        wanted = {"steelyard.io/service": "chat", "steelyard.io/component": component}
        match kind:
            case "Deployment":
                assert body["spec"]["selector"] == {"matchLabels": wanted}
                labels = body["spec"]["template"]["metadata"]["labels"]
                assert wanted.items() <= labels.items()
            case "PodDisruptionBudget":
                assert body["spec"]["selector"] == {"matchLabels": wanted}
            case "Service":
                assert body["spec"]["selector"] == wanted
            case _:
                pass


def test_the_same_objects_give_the_same_children() -> None:
    assert children(stored(**VLLM), policy()) == children(stored(**VLLM), policy())


def test_labels_of_the_service_do_not_reach_its_pods() -> None:
    """Or a label on the service would restart every engine."""
    item = stored()
    metadata = item.metadata.model_copy(update={"labels": {"team": "a"}})

    assert children(item.model_copy(update={"metadata": metadata})) == children(item)


def test_an_object_that_no_server_has_stored_owns_nothing() -> None:
    made = children(service())

    assert not any("ownerReferences" in body["metadata"] for body in made.values())


def test_a_cache_outlives_its_service_unless_the_service_says_otherwise() -> None:
    kept = children(stored(**VLLM, cache=CLAIM))
    gone = children(stored(**VLLM, cache={**CLAIM, "retention": "Delete"}))
    key = ("PersistentVolumeClaim", "chat-cache")

    assert "ownerReferences" not in kept[key]["metadata"]
    assert gone[key]["metadata"]["ownerReferences"][0]["uid"] == UID
    assert kept[key]["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
    }


def test_the_engines_service_lists_only_ready_pods_without_an_address_of_its_own() -> None:
    spec = children(stored(engine={"type": "Simulator", "port": 9000}))["Service", "chat-engine"][
        "spec"
    ]

    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is False
    assert spec["ports"] == [
        {"name": "http", "port": 9000, "targetPort": "http", "protocol": "TCP"}
    ]


def test_a_drain_of_a_node_can_always_take_the_only_replica() -> None:
    """A floor of one would block it for ever."""
    made = children(stored(replicas=1))

    for component in ("engine", "router"):
        spec = made["PodDisruptionBudget", f"chat-{component}"]["spec"]
        assert spec["maxUnavailable"] == 1
        assert "minAvailable" not in spec
        assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_a_disruption_bound_is_taken_as_it_is_given() -> None:
    floor = children(stored(disruption={"minAvailable": 2}))
    none = children(stored(disruption={"maxUnavailable": 0}))
    key = ("PodDisruptionBudget", "chat-engine")

    assert floor[key]["spec"]["minAvailable"] == 2
    assert "maxUnavailable" not in floor[key]["spec"]
    assert none[key]["spec"]["maxUnavailable"] == 0


def test_engines_are_replaced_without_a_spare_one() -> None:
    made = children(stored())["Deployment", "chat-engine"]["spec"]["strategy"]
    asked = children(stored(rollout={"maxSurge": 2, "maxUnavailable": 0}))

    assert made["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert asked["Deployment", "chat-engine"]["spec"]["strategy"]["rollingUpdate"] == {
        "maxSurge": 2,
        "maxUnavailable": 0,
    }


@pytest.mark.parametrize("spec", [{}, VLLM, {"engine": {"type": "Simulator", "drain": {}}}])
def test_a_rollout_is_not_called_failed_while_a_start_may_still_succeed(
    spec: dict[str, Any],
) -> None:
    made = children(stored(**spec))["Deployment", "chat-engine"]["spec"]
    pod = made["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]
    startup_s = probe["periodSeconds"] * probe["failureThreshold"]

    assert made["progressDeadlineSeconds"] >= startup_s + pod["terminationGracePeriodSeconds"]


def test_a_router_may_wait_for_the_first_engine_as_long_as_that_may_take() -> None:
    """It is not ready before: half an hour of loading is no failure of the router."""
    made = children(stored(**VLLM))
    engine, router = (made["Deployment", f"chat-{name}"]["spec"] for name in ("engine", "router"))

    assert router["progressDeadlineSeconds"] > engine["progressDeadlineSeconds"]


def test_a_deadline_that_is_too_short_for_a_start_is_made_longer() -> None:
    made = children(stored(**VLLM, rollout={"progressDeadlineSeconds": 60}))

    assert made["Deployment", "chat-engine"]["spec"]["progressDeadlineSeconds"] == 1800


def test_absent_replicas_mean_one_and_zero_means_none() -> None:
    def replicas(**spec: Any) -> int:
        count: int = children(stored(**spec))["Deployment", "chat-engine"]["spec"]["replicas"]
        return count

    assert (replicas(), replicas(replicas=0), replicas(replicas=5)) == (1, 0, 5)


def test_routers_get_a_shipped_role_in_their_own_namespace() -> None:
    item = stored(namespace="team")
    (planned,) = plan([item], []).services
    settings = child.Settings(image="i", router_cluster_role="release-router")
    made = {
        body["kind"]: body
        for body in child.children(item, planned, {}, settings)
        if body["metadata"]["name"] == "chat-router"
    }

    assert made["RoleBinding"]["roleRef"]["name"] == "release-router"
    assert made["RoleBinding"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "chat-router", "namespace": "team"}
    ]
    pod = made["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "chat-router"


def test_only_this_services_router_reaches_its_engines() -> None:
    made = children(stored(networkPolicy="Enabled"), settings=SETTINGS)
    (rule,) = made["NetworkPolicy", "chat-engine"]["spec"]["ingress"]
    router = made["NetworkPolicy", "chat-router"]["spec"]["ingress"]

    assert rule == {
        "from": [
            {
                "podSelector": {
                    "matchLabels": {
                        "steelyard.io/service": "chat",
                        "steelyard.io/component": "router",
                    }
                }
            }
        ],
        "ports": [{"port": "http", "protocol": "TCP"}],
    }
    assert router == [
        {"ports": [{"port": "http", "protocol": "TCP"}]},
        {"from": [{"namespaceSelector": {}}], "ports": [{"port": "admin", "protocol": "TCP"}]},
    ]


def test_clients_find_the_router_at_port_80_unless_told_otherwise() -> None:
    plain = children(stored())["Service", "chat-router"]
    asked = {"type": "LoadBalancer", "port": 8000, "annotations": {"lb/scheme": "internal"}}
    other = children(stored(router={"service": asked}))["Service", "chat-router"]

    assert (plain["spec"]["type"], plain["spec"]["ports"][0]["port"]) == ("ClusterIP", 80)
    assert (other["spec"]["type"], other["spec"]["ports"][0]["port"]) == ("LoadBalancer", 8000)
    assert other["metadata"]["annotations"] == {"lb/scheme": "internal"}
    assert [port["name"] for port in plain["spec"]["ports"]] == ["http"]
