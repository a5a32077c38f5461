"""The router's pods and what they are told."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest
from support.children import (
    HF,
    UID,
    VLLM,
    Children,
    Object,
    children,
    config,
    container,
    pod,
    stored,
    with_uid,
)
from support.manifests import policy

from steelyard_operator.plan import child, plan
from steelyard_router.config import EngineType, ObjectRef, RouterConfig
from steelyard_router.discovery.file import parse_configs

EXTERNAL = {"type": "External", "serviceRef": {"name": "vllm", "port": "web"}}


def texts(made: Mapping[tuple[str, str], Any]) -> dict[str, str]:
    data: dict[str, str] = made["ConfigMap", "chat-router"]["data"]
    return data


def test_a_policy_edit_changes_the_policy_text_and_nothing_else() -> None:
    before, after = (
        children(stored(), policy(workloads=[{"name": name, "default": True}]))
        for name in ("old", "new")
    )
    changed = {key for key in before if before[key] != after[key]}

    assert changed == {("ConfigMap", "chat-router")}
    assert texts(before)["service.yaml"] == texts(after)["service.yaml"]
    assert texts(before)["policy.yaml"] != texts(after)["policy.yaml"]


def test_an_edit_of_the_service_leaves_the_policy_text_alone() -> None:
    before = children(stored(), policy())
    after = children(stored(router={"clientHints": "Trusted"}), policy())

    assert texts(before)["policy.yaml"] == texts(after)["policy.yaml"]
    assert texts(before)["service.yaml"] != texts(after)["service.yaml"]


def test_routers_read_back_exactly_what_they_should_report() -> None:
    item = stored(**VLLM, router={"apiKeySecretRef": {"name": "s", "key": "k"}})
    policies = with_uid(policy(), "u1"), with_uid(policy("trial", mode="DryRun"), "u2")
    wanted = config(item, *policies)

    read = parse_configs(texts(children(item, *policies)), "/etc/steelyard")
    assert read == wanted
    assert read.revision == wanted.revision
    assert read.policy_ref == ObjectRef(name="fast", uid="u1")
    assert read.shadow_ref == ObjectRef(name="trial", uid="u2")


def test_an_invalid_policy_leaves_the_policy_text_as_it_was() -> None:
    good = with_uid(policy(), "u1")
    unnamed = good.spec.workloads[0].model_copy(update={"name": ""})
    spec = good.spec.model_copy(update={"workloads": (unnamed,)})
    bad = good.model_copy(update={"spec": spec})
    item = stored()
    before = children(item, good)
    running = parse_configs(texts(before), "live")

    planned = plan([item], [bad], {plan([item], []).services[0].key: running}).services[0]
    after = child.children(item, planned, before, child.Settings(image="steelyard:1"))

    (config_map,) = [body for body in after if body["kind"] == "ConfigMap"]
    assert config_map["data"] == texts(before)


def test_own_engines_are_found_through_their_service() -> None:
    kubernetes = config(stored(**VLLM)).kubernetes

    assert kubernetes is not None
    assert (kubernetes.engine_service, kubernetes.engine_port) == ("chat-engine", "http")
    assert kubernetes.engine is EngineType.VLLM
    assert kubernetes.service == ObjectRef(name="chat", uid=UID)
    assert {kubernetes.config_map, kubernetes.router_service, kubernetes.lease} == {"chat-router"}


@pytest.mark.parametrize("model", [{}, {"name": "m"}])
def test_engines_behind_somebodys_service_are_found_there(model: dict[str, Any]) -> None:
    kubernetes = config(stored(engine=EXTERNAL, model=model)).kubernetes

    assert kubernetes is not None
    assert (kubernetes.engine_service, kubernetes.engine_port) == ("vllm", "web")
    assert kubernetes.engine is EngineType.EXTERNAL
    assert kubernetes.models == (("m",) if model else None)


def test_engines_with_given_urls_are_not_looked_for() -> None:
    made = config(stored(engine={"type": "External", "urls": ["http://10.0.0.1:8000"]}))

    assert made.kubernetes is not None
    assert made.kubernetes.engine_service is None
    assert [endpoint.url for endpoint in made.service.endpoints] == ["http://10.0.0.1:8000"]


def test_routers_listen_where_their_pods_say() -> None:
    made = children(stored())
    listen = config(stored()).listen
    ports = {item["name"]: item["containerPort"] for item in container(made, "router")["ports"]}

    assert ports == {"http": listen.port, "admin": listen.admin_port}
    assert (listen.host, listen.admin_host) == ("0.0.0.0", "0.0.0.0")


@pytest.mark.parametrize(
    ("engine_s", "router_s", "drain_s"),
    [(None, None, 120), (300, None, 300), (10, None, 10), (10, 600, 600), (None, 5, 120)],
)
def test_a_router_drains_at_least_as_long_as_an_engine(
    engine_s: int | None, router_s: int | None, drain_s: int
) -> None:
    item = stored(
        engine={"type": "Simulator", "drain": {"gracePeriodSeconds": engine_s}},
        router={"drain": {"gracePeriodSeconds": router_s}},
    )
    made = children(item)
    sleep_s = container(made, "router")["lifecycle"]["preStop"]["sleep"]["seconds"]

    assert config(item).drain.grace_s == drain_s
    assert pod(made, "router")["terminationGracePeriodSeconds"] > sleep_s + drain_s


def test_a_router_in_front_of_others_engines_waits_for_nobodys_grace() -> None:
    item = stored(engine=EXTERNAL, router={"drain": {"gracePeriodSeconds": 5}})

    assert config(item).drain.grace_s == 5


def test_the_whole_config_map_is_mounted() -> None:
    """Of a subPath the kubelet would never refresh the file."""
    made = children(stored())
    mount = next(
        item for item in container(made, "router")["volumeMounts"] if item["name"] == "config"
    )

    assert mount == {"name": "config", "mountPath": "/etc/steelyard", "readOnly": True}
    assert container(made, "router")["args"][-2:] == ["--config", mount["mountPath"]]


def test_api_keys_are_mounted_where_the_configuration_says() -> None:
    item = stored(router={"apiKeySecretRef": {"name": "clients", "key": "list"}})
    made = children(item)
    (volume,) = [found for found in pod(made, "router")["volumes"] if found["name"] == "keys"]
    (mount,) = [
        found for found in container(made, "router")["volumeMounts"] if found["name"] == "keys"
    ]

    assert volume["secret"]["secretName"] == "clients"
    (key,) = volume["secret"]["items"]
    assert key["key"] == "list"
    assert config(item).service.api_keys_file == f"{mount['mountPath']}/{key['path']}"


def test_a_replica_knows_which_it_is() -> None:
    env = {
        item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"]
        for item in container(children(stored()), "router")["env"]
    }

    assert env == {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_IP": "status.podIP",
    }


def test_a_new_router_is_there_before_an_old_one_goes() -> None:
    spec = children(stored())["Deployment", "chat-router"]["spec"]

    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_routers_are_asked_for_their_state_at_the_admin_port() -> None:
    made = container(children(stored()), "router")

    assert made["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "admin"}
    assert made["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "admin"}


def test_what_is_asked_for_the_router_is_taken() -> None:
    router = {
        "replicas": 3,
        "image": "mine:1",
        "env": [{"name": "A", "value": "1"}],
        "resources": {"limits": {"memory": "1Gi"}},
        "podTemplate": {"spec": {"containers": [{"name": "router", "stdin": True}]}},
    }
    made = children(stored(router=router))
    its = container(made, "router")

    assert made["Deployment", "chat-router"]["spec"]["replicas"] == 3
    assert its["image"] == "mine:1"
    assert {"name": "A", "value": "1"} in its["env"]
    assert its["resources"] == {"limits": {"memory": "1Gi"}}
    assert its["stdin"] is True


def test_the_operators_pull_policy_is_for_its_own_image() -> None:
    settings = child.Settings(image="steelyard:1", image_pull_policy="Never")
    made = children(stored(**VLLM), settings=settings)
    mine = children(stored(router={"image": "mine:1"}), settings=settings)

    assert container(made, "router")["imagePullPolicy"] == "Never"
    assert "imagePullPolicy" not in container(made, "engine")
    assert "imagePullPolicy" not in container(mine, "router")
    assert container(mine, "engine")["imagePullPolicy"] == "Never"


def test_a_model_of_its_own_name_is_learned_from_the_engines() -> None:
    """They may serve adapters beside it."""
    kubernetes = config(stored(model={**HF, "name": "m"}, engine={"type": "VLLM"})).kubernetes

    assert kubernetes is not None
    assert kubernetes.models is None


def test_a_configuration_outside_a_cluster_knows_none() -> None:
    (planned,) = plan([stored()], []).services

    assert planned.router.kubernetes is None
    assert RouterConfig.model_validate(planned.router.model_dump()) == planned.router


URLS = {"type": "External", "urls": ["http://10.0.0.1:8000"]}
ENGINES: tuple[dict[str, Any], ...] = (
    {"type": "Simulator"},
    {"type": "External", "serviceRef": {"name": "blue", "port": "http"}},
    {"type": "External", "serviceRef": {"name": "green", "port": "http"}},
    URLS,
)


@pytest.mark.parametrize(("before", "after"), list(permutations(ENGINES, 2)))
def test_routers_are_replaced_where_they_cannot_follow(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """They would report the new configuration, and go on with the engines of before."""
    assert template(children(stored(engine=before))) != template(children(stored(engine=after)))


def test_the_engines_port_is_followed_without_a_restart() -> None:
    blue = {"type": "External", "serviceRef": {"name": "blue", "port": "http"}}
    other = {"type": "External", "serviceRef": {"name": "blue", "port": 8000}}

    assert template(children(stored(engine=blue))) == template(children(stored(engine=other)))


def template(made: Children) -> Object:
    found: Object = made["Deployment", "chat-router"]["spec"]["template"]
    return found
