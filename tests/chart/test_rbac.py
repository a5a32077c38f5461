"""What the operator and the routers may do: what they need, and nothing beside it."""

from collections.abc import Iterator

import pytest
from support.helm import Helm, Object

CHILDREN = {
    "apps": {"deployments"},
    "": {"configmaps", "persistentvolumeclaims", "serviceaccounts", "services"},
    "networking.k8s.io": {"networkpolicies"},
    "policy": {"poddisruptionbudgets"},
    "rbac.authorization.k8s.io": {"rolebindings"},
}
MODES: list[Object] = [{}, {"watchNamespaces": ["team-a"]}]


@pytest.mark.parametrize("values", MODES)
def test_no_role_has_a_wildcard_or_reads_secrets(helm: Helm, values: Object) -> None:
    rendered = helm.template(values)
    roles = [*rendered.of("ClusterRole"), *rendered.of("Role")]

    for role in roles:
        for group, resource, verb in _permissions(role):
            assert "*" not in (group, resource, verb)
            assert resource not in {"secrets", "pods/exec", "nodes", "impersonate"}
            assert verb not in {"escalate", "impersonate"}


KEPT = {"configmaps", "serviceaccounts"}
"""As long as there is a service there are these."""


def test_the_operator_can_do_the_same_in_a_namespace_as_in_the_cluster(helm: Helm) -> None:
    whole = helm.template().one("ClusterRole", "-operator")
    part = helm.template({"watchNamespaces": ["team-a"]}).one("Role")

    assert whole["rules"] == part["rules"]


def test_the_operator_owns_its_children_and_only_reports_on_its_own_kinds(helm: Helm) -> None:
    allowed = set(_permissions(helm.template().one("ClusterRole", "-operator")))

    for group, resources in CHILDREN.items():
        for resource in resources:
            verbs = {verb for g, r, verb in allowed if (g, r) == (group, resource)}
            wanted = {"get", "list", "watch", "create", "patch"}
            assert verbs == (wanted if resource in KEPT else wanted | {"delete"})
    ours = {(resource, verb) for group, resource, verb in allowed if group == "steelyard.io"}
    assert {verb for resource, verb in ours if "/" not in resource} == {"get", "list", "watch"}
    assert {verb for resource, verb in ours if "/" in resource} == {"patch"}


def test_the_operator_may_bind_the_routers_role_and_no_other(helm: Helm) -> None:
    rendered = helm.template(release="prod")
    (bind,) = [
        rule
        for rule in rendered.one("ClusterRole", "-operator")["rules"]
        if "clusterroles" in rule["resources"]
    ]

    assert bind["verbs"] == ["bind"]
    assert bind["resourceNames"] == [rendered.one("ClusterRole", "-router")["metadata"]["name"]]


def test_a_router_may_not_touch_workloads(helm: Helm) -> None:
    allowed = set(_permissions(helm.template().one("ClusterRole", "-router")))

    assert {(group, resource) for group, resource, _ in allowed} == {
        ("", "configmaps"),
        ("", "events"),
        ("coordination.k8s.io", "leases"),
        ("discovery.k8s.io", "endpointslices"),
    }
    writes = {(resource, verb) for _, resource, verb in allowed} - {
        (resource, verb) for _, resource, verb in allowed if verb in {"get", "list", "watch"}
    }
    assert {resource for resource, _ in writes} == {"events", "leases"}


def test_viewers_read_and_editors_write(helm: Helm) -> None:
    rendered = helm.template()
    view, edit = rendered.one("ClusterRole", "-view"), rendered.one("ClusterRole", "-edit")

    assert {verb for _, _, verb in _permissions(view)} == {"get", "list", "watch"}
    assert ("steelyard.io", "llmservices", "create") in set(_permissions(edit))
    assert ("steelyard.io", "llmservices/scale", "patch") in set(_permissions(edit))
    assert not [r for _, r, _ in _permissions(edit) if r.endswith("/status")]
    labels = {"aggregate-to-view", "aggregate-to-edit", "aggregate-to-admin"}
    assert _aggregated(view) == labels
    assert _aggregated(edit) == labels - {"aggregate-to-view"}


def _permissions(role: Object) -> Iterator[tuple[str, str, str]]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, resource, verb


def _aggregated(role: Object) -> set[str]:
    prefix = "rbac.authorization.k8s.io/"
    return {
        key.removeprefix(prefix)
        for key, value in role["metadata"]["labels"].items()
        if key.startswith(prefix) and value == "true"
    }
