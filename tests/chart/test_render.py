"""The chart renders for every kind of installation, and nothing lands where it should not."""

from typing import Any

import pytest
from support.helm import CHART, Helm, Object, Refused

from steelyard.operator import command

CLUSTER_KINDS = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}

MATRIX: dict[str, Object] = {
    "defaults": {},
    "namespaces": {"watchNamespaces": ["team-a", "team-b"]},
    "no crds": {"crds": {"enabled": False}},
    "no rbac": {"rbac": {"create": False}, "serviceAccount": {"create": False}},
    "monitored": {
        "podMonitor": {"operator": True, "routers": True, "engines": True, "labels": {"p": "k8s"}},
        "prometheusRule": {"enabled": True, "labels": {"p": "k8s"}},
    },
    "placed": {
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "priorityClassName": "system-cluster-critical",
        "imagePullSecrets": [{"name": "registry"}],
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "platform"},
        "serviceAccount": {"annotations": {"a": "b"}},
        "extraArgs": ["--log-level=debug"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    },
}


def test_helm_lint_finds_nothing(helm: Helm) -> None:
    helm.run("lint", "--strict", "--kube-version", "1.35.0", str(CHART))


@pytest.mark.parametrize("name", sorted(MATRIX))
def test_every_object_is_whole_and_in_its_namespace(helm: Helm, name: str) -> None:
    values = MATRIX[name]
    allowed = {"steelyard-system", *values.get("watchNamespaces", ())}

    rendered = helm.template(values)

    keys = [
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        for item in rendered.objects
    ]
    assert len(set(keys)) == len(keys)
    for item in rendered.objects:
        metadata = item["metadata"]
        assert item["apiVersion"]
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        if item["kind"] in CLUSTER_KINDS:
            assert "namespace" not in metadata
        else:
            assert metadata["namespace"] in allowed


def test_every_namespace_is_watched_by_default(helm: Helm) -> None:
    rendered = helm.template()

    assert rendered.one("ClusterRoleBinding")["roleRef"]["kind"] == "ClusterRole"
    assert not {"Role", "RoleBinding"} & rendered.kinds()
    assert not [arg for arg in _args(rendered.one("Deployment")) if arg.startswith("--namespace")]


def test_named_namespaces_are_watched_and_no_other(helm: Helm) -> None:
    rendered = helm.template({"watchNamespaces": ["team-a", "team-b"]})

    assert "ClusterRoleBinding" not in rendered.kinds()
    for kind in ("Role", "RoleBinding"):
        assert [i["metadata"]["namespace"] for i in rendered.of(kind)] == ["team-a", "team-b"]
    (subject,) = rendered.of("RoleBinding")[0]["subjects"]
    assert subject["namespace"] == "steelyard-system"
    assert _args(rendered.one("Deployment"))[-2:] == ["--namespace=team-a", "--namespace=team-b"]
    names = {role["metadata"]["name"] for role in rendered.of("ClusterRole")}
    assert names == {"steelyard-router", "steelyard-view", "steelyard-edit"}


def test_what_is_switched_off_is_not_there(helm: Helm) -> None:
    assert not helm.template({"crds": {"enabled": False}}).of("CustomResourceDefinition")
    assert len(helm.template({"rbac": {"aggregate": False}}).of("ClusterRole")) == 2
    bare = helm.template({"rbac": {"create": False}, "serviceAccount": {"create": False}})

    assert bare.kinds() <= {"Deployment", "CustomResourceDefinition"}
    assert bare.one("Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == "default"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, "steelyard:0.1.0"),
        ({"repository": "r/steelyard", "tag": "1.2.3"}, "r/steelyard:1.2.3"),
        ({"digest": "sha256:" + "a" * 64}, "steelyard@sha256:" + "a" * 64),
    ],
)
def test_routers_run_the_image_of_the_operator(
    helm: Helm, image: dict[str, str], expected: str
) -> None:
    deployment = helm.template({"image": image}).one("Deployment")

    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == expected
    assert f"--image={expected}" in _args(deployment)


def test_engine_images_are_passed_on_when_given(helm: Helm) -> None:
    given = _args(helm.template({"engineImages": {"vllm": "r/vllm:1"}}).one("Deployment"))

    assert [arg for arg in given if "vllm" in arg or "sglang" in arg] == ["--vllm-image=r/vllm:1"]


def test_the_name_of_the_release_is_in_every_name_and_fits(helm: Helm) -> None:
    rendered = helm.template({"crds": {"enabled": False}}, release="x" * 53)

    names = [item["metadata"]["name"] for item in rendered.objects]
    assert all(name.startswith("x" * 40) and len(name) <= 63 for name in names)
    assert (
        f"--router-cluster-role={rendered.one('ClusterRole', '-router')['metadata']['name']}"
        in (_args(rendered.one("Deployment")))
    )


def test_the_selector_matches_the_pod_whatever_labels_are_given(helm: Helm) -> None:
    values = {"podLabels": {"app.kubernetes.io/name": "mine", "team": "platform"}}
    spec = helm.template(values).one("Deployment")["spec"]

    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert labels["team"] == "platform"


def test_the_operator_understands_its_arguments(helm: Helm) -> None:
    values = {"watchNamespaces": ["a"], "engineImages": {"vllm": "v:1", "sglang": "s:1"}}
    name, *args = _args(helm.template(values).one("Deployment"))

    assert name == "operator"
    given = command.make_context("operator", args).params
    assert given["namespaces"] == ("a",)
    assert given["image"] == "steelyard:0.1.0"
    assert given["image_pull_policy"] == "IfNotPresent"
    assert (given["vllm_image"], given["sglang_image"]) == ("v:1", "s:1")
    assert given["router_cluster_role"] == "steelyard-router"
    assert given["port"] == 9091


def test_only_one_operator_runs_at_a_time(helm: Helm) -> None:
    spec = helm.template().one("Deployment")["spec"]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}


def test_an_old_cluster_is_refused(helm: Helm) -> None:
    with pytest.raises(Refused, match="kubeVersion"):
        helm.template(kube_version="1.29.9")


def _args(deployment: Object) -> list[str]:
    args: Any = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return list(args)
