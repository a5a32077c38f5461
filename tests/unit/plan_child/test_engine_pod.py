"""What runs in an engine's pod."""

from typing import Any

import pytest
from support.children import HF, VLLM, children, container, pod, stored

SGLANG: dict[str, Any] = {"model": HF, "engine": {"type": "SGLang"}}


def engine(**spec: Any) -> dict[str, Any]:
    return container(children(stored(**spec)), "engine")


def engine_pod(**spec: Any) -> dict[str, Any]:
    return pod(children(stored(**spec)), "engine")


def env(**spec: Any) -> dict[str, Any]:
    return {item["name"]: item for item in engine(**spec).get("env", ())}


def mounts(**spec: Any) -> dict[str, str]:
    return {item["mountPath"]: item["name"] for item in engine(**spec).get("volumeMounts", ())}


def volumes(**spec: Any) -> dict[str, Any]:
    return {item["name"]: item for item in engine_pod(**spec).get("volumes", ())}


def started(container: dict[str, Any]) -> list[str]:
    """The whole command line. Both parts are there: what is not set, anybody may add."""
    assert container["command"]
    assert container["args"]
    return [*container["command"], *container["args"]]


def test_vllm_serves_the_model_under_the_services_name() -> None:
    made = engine(
        model={**HF, "revision": "abc"}, engine={"type": "VLLM", "port": 9000, "args": ["--x"]}
    )

    assert started(made) == [
        *("vllm", "serve", "org/model", "--served-model-name", "chat"),
        *("--host", "0.0.0.0", "--port", "9000", "--revision", "abc", "--x"),
    ]
    assert made["image"] == "vllm:1"
    assert made["ports"] == [{"name": "http", "containerPort": 9000, "protocol": "TCP"}]


def test_sglang_is_started_with_the_metrics_that_the_router_reads() -> None:
    made = engine(**SGLANG)

    assert started(made) == [
        *("python3", "-m", "sglang.launch_server", "--model-path", "org/model"),
        *("--served-model-name", "chat", "--host", "0.0.0.0", "--port", "8000"),
        "--enable-metrics",
    ]
    assert made["image"] == "sglang:1"


def test_a_simulated_engine_runs_in_the_operators_own_image() -> None:
    made = engine(model={"name": "m"})

    assert started(made) == [
        *("steelyard", "engine", "--host", "0.0.0.0", "--port", "8000", "--model", "m")
    ]
    assert made["image"] == "steelyard:1"


def test_an_image_that_is_asked_for_is_used() -> None:
    made = engine(model=HF, engine={"type": "VLLM", "image": "mine:1", "imagePullPolicy": "Always"})

    assert (made["image"], made["imagePullPolicy"]) == ("mine:1", "Always")


def test_weights_on_a_claim_are_mounted_read_only() -> None:
    spec: dict[str, Any] = {"model": {"uri": "pvc://weights/llama/8b"}, "engine": {"type": "VLLM"}}

    assert started(engine(**spec))[2] == "/models/llama/8b"
    assert {"name": "model", "mountPath": "/models", "readOnly": True} in engine(**spec)[
        "volumeMounts"
    ]
    assert volumes(**spec)["model"] == {
        "name": "model",
        "persistentVolumeClaim": {"claimName": "weights", "readOnly": True},
    }


@pytest.mark.parametrize(
    ("uri", "path"),
    [("pvc://weights", "/models"), ("pvc://weights/", "/models"), ("file:///opt/m", "/opt/m")],
)
def test_a_folder_of_weights_is_given_as_a_path(uri: str, path: str) -> None:
    assert started(engine(model={"uri": uri}, engine={"type": "VLLM"}))[2] == path


def test_a_hub_token_comes_from_its_secret() -> None:
    model = {**HF, "tokenSecretRef": {"name": "hub", "key": "token"}}

    assert env(model=model, engine={"type": "VLLM"})["HF_TOKEN"] == {
        "name": "HF_TOKEN",
        "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}},
    }


def test_the_users_variables_replace_ours_and_keep_their_shape() -> None:
    source = {"configMapKeyRef": {"name": "c", "key": "k"}}
    variables = [
        {"name": "HF_HOME", "value": "/mine"},
        {"name": "A", "valueFrom": source},
        {"name": "EMPTY"},
    ]

    assert env(model=HF, engine={"type": "VLLM", "env": variables}) == {
        "HF_HOME": {"name": "HF_HOME", "value": "/mine"},
        "A": {"name": "A", "valueFrom": source},
        "EMPTY": {"name": "EMPTY"},
    }


def test_downloads_survive_a_crash_of_the_engine_without_being_asked() -> None:
    assert mounts(**VLLM)["/cache"] == "cache"
    assert volumes(**VLLM)["cache"] == {"name": "cache", "emptyDir": {}}
    assert env(**VLLM)["HF_HOME"]["value"] == "/cache/huggingface"


def test_there_is_no_cache_where_nothing_is_downloaded_or_wanted() -> None:
    local: dict[str, Any] = {"model": {"uri": "file:///m"}, "engine": {"type": "VLLM"}}

    assert "cache" not in volumes(**local)
    assert "cache" not in volumes(**VLLM, cache={"type": "None"})
    assert "cache" not in volumes()


@pytest.mark.parametrize(
    ("cache", "claim"), [({"claimName": "mine"}, "mine"), ({"template": {"size": "1Gi"}}, None)]
)
def test_a_claim_for_the_cache_is_mounted(cache: dict[str, Any], claim: str | None) -> None:
    found = volumes(**VLLM, cache={"type": "PersistentVolumeClaim", **cache})["cache"]

    assert found["persistentVolumeClaim"] == {"claimName": claim or "chat-cache"}


@pytest.mark.parametrize("size", ["0", "0Gi", "0.0"])
def test_shared_memory_is_there_for_real_engines_until_switched_off(size: str) -> None:
    shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}

    assert volumes(**VLLM)["shm"] == shm
    assert mounts(**SGLANG)["/dev/shm"] == "shm"
    assert "shm" not in volumes()
    assert "shm" not in volumes(model=HF, engine={"type": "VLLM", "sharedMemorySize": size})


def test_a_size_of_shared_memory_is_passed_on() -> None:
    found = volumes(engine={"type": "Simulator", "sharedMemorySize": "64Mi"})["shm"]

    assert found["emptyDir"]["sizeLimit"] == "64Mi"


@pytest.mark.parametrize(
    ("spec", "least_s"),
    [
        (VLLM, 1800),
        (SGLANG, 1800),
        ({}, 60),
        ({"model": HF, "engine": {"type": "VLLM", "startupTimeoutSeconds": 61}}, 61),
        ({"engine": {"type": "Simulator", "startupTimeoutSeconds": 7}}, 7),
    ],
)
def test_an_engine_has_its_whole_startup_time_and_no_liveness_before(
    spec: dict[str, Any], least_s: int
) -> None:
    made = engine(**spec)
    probe = made["startupProbe"]

    whole_s = probe["periodSeconds"] * probe["failureThreshold"]
    assert least_s <= whole_s < least_s + probe["periodSeconds"]
    assert "initialDelaySeconds" not in made["livenessProbe"]
    assert {made[name]["httpGet"]["path"] for name in made if name.endswith("Probe")} == {"/health"}


def test_a_kill_takes_minutes_of_silence() -> None:
    probe = engine(**VLLM)["livenessProbe"]

    assert probe["periodSeconds"] * probe["failureThreshold"] >= 180


@pytest.mark.parametrize("grace_s", [1, 3, 30, 120, 3600])
def test_the_drain_ends_before_the_grace_does(grace_s: int) -> None:
    drain = {"gracePeriodSeconds": grace_s}
    made = engine_pod(engine={"type": "Simulator", "drain": drain})
    *_, port, _, limit_s = made["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]

    assert made["terminationGracePeriodSeconds"] == grace_s
    assert 0 < float(limit_s) <= grace_s
    assert float(limit_s) < grace_s or grace_s < 4
    assert port == "8000"


@pytest.mark.parametrize("component", ["engine", "router"])
def test_our_own_image_may_do_nothing_but_write_to_tmp(component: str) -> None:
    made = children(stored())
    its = container(made, component)

    assert pod(made, component)["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert its["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert {"name": "tmp", "mountPath": "/tmp"} in its["volumeMounts"]


@pytest.mark.parametrize("spec", [VLLM, SGLANG])
def test_a_real_engine_may_write_to_its_root_and_no_more(spec: dict[str, Any]) -> None:
    made = engine_pod(**spec)

    assert made["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert made["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_engines_know_nothing_of_the_cluster() -> None:
    """No token; and no VLLM_PORT from a Service that happens to be called vllm."""
    made = engine_pod(**VLLM)

    assert made["automountServiceAccountToken"] is False
    assert made["enableServiceLinks"] is False


def test_resources_are_what_is_asked_for() -> None:
    asked = {"limits": {"nvidia.com/gpu": "1"}}

    assert engine(model=HF, engine={"type": "VLLM", "resources": asked})["resources"] == asked
    assert "resources" not in engine(**VLLM)


def test_a_pod_template_is_laid_over_ours() -> None:
    template = {
        "metadata": {"labels": {"team": "a"}, "annotations": {"a": "b"}},
        "spec": {
            "nodeSelector": {"gpu": "h100"},
            "containers": [
                {"name": "engine", "livenessProbe": {"periodSeconds": 60}},
                {"name": "sidecar", "image": "s"},
            ],
        },
    }
    made = children(stored(model=HF, engine={"type": "VLLM", "podTemplate": template}))

    names = [item["name"] for item in pod(made, "engine")["containers"]]
    assert names == ["engine", "sidecar"]
    assert container(made, "engine")["livenessProbe"]["periodSeconds"] == 60
    assert container(made, "engine")["livenessProbe"]["failureThreshold"] == 9
    assert pod(made, "engine")["nodeSelector"] == {"gpu": "h100"}
    metadata = made["Deployment", "chat-engine"]["spec"]["template"]["metadata"]
    assert metadata["labels"]["team"] == "a"
    assert metadata["annotations"] == {"a": "b"}


def test_a_pod_template_cannot_take_a_pod_away_from_its_selector() -> None:
    template = {"metadata": {"labels": {"steelyard.io/service": "other"}}}
    made = children(stored(engine={"type": "Simulator", "podTemplate": template}))

    metadata = made["Deployment", "chat-engine"]["spec"]["template"]["metadata"]
    assert metadata["labels"]["steelyard.io/service"] == "chat"


@pytest.mark.parametrize("template", [{"spec": 3}, {"metadata": None}, {"spec": {"containers": 1}}])
def test_a_pod_template_of_the_wrong_shape_is_left_to_the_api_server(
    template: dict[str, Any],
) -> None:
    made = children(stored(engine={"type": "Simulator", "podTemplate": template}))

    assert made["Deployment", "chat-engine"]["spec"]["template"]
