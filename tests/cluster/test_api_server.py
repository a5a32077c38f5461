"""The tests' API server is a real one: it refuses, it collects, it tells who asked what."""

import json
import time
from typing import Any

import pytest
from onenode.kubectl import KubectlError
from support.api_server import ApiServer

WITHIN_S = 30.0


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_each_test_has_a_namespace_of_its_own(api_server: ApiServer) -> None:
    api_server.apply(config_map("mine"))
    assert api_server.get("configmap", "mine")["metadata"]["namespace"] == api_server.namespace
    assert api_server.kubectl.find("configmap", "other") is None


def test_a_bad_object_is_refused_with_the_servers_words(api_server: ApiServer) -> None:
    with pytest.raises(KubectlError, match="Invalid value"):
        api_server.apply(config_map("Not_A_Name"))


def test_what_has_no_owner_left_is_collected(api_server: ApiServer) -> None:
    api_server.apply(config_map("owner"))
    uid = api_server.get("configmap", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    api_server.apply(config_map("child", ownerReferences=[owner]))
    api_server.kubectl("delete", "configmap", "owner")
    end_s = time.monotonic() + WITHIN_S
    while api_server.kubectl.find("configmap", "child") is not None:
        assert time.monotonic() < end_s, "the child is still there"
        time.sleep(0.1)


def test_the_audit_log_says_who_wrote_what(api_server: ApiServer) -> None:
    mark = api_server.audit.mark()
    api_server.apply({**config_map("seen"), "data": {"a": "1"}})
    api_server.get("configmap", "seen")
    with pytest.raises(KubectlError, match="forbidden"):
        api_server.kubectl("--as=nobody", "delete", "configmap", "seen")
    of_test = [
        entry for entry in api_server.audit.since(mark) if entry.namespace == api_server.namespace
    ]
    (write,) = (entry for entry in of_test if entry.verb == "patch")
    assert (write.user, write.resource, write.name, write.code) == (
        "admin", "configmaps", "seen", 201,
    )  # fmt: skip
    assert write.body["data"] == {"a": "1"}
    (refused,) = (entry for entry in of_test if entry.code == 403)
    assert (refused.user, refused.verb) == ("nobody", "delete")
    assert any(entry.verb == "get" and entry.name == "seen" for entry in of_test)


def test_a_deployment_gets_pods_that_wait_for_a_node(api_server: ApiServer) -> None:
    labels = {"app": "a"}
    container = {"name": "c", "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    api_server.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    )
    api_server.kubectl.until(
        "deployment",
        "d",
        lambda found: found.get("status", {}).get("unavailableReplicas") == 1,
        within_s=WITHIN_S,
        what="the controllers have made a pod",
    )
    (pod,) = api_server.kubectl.list("pods", labels="app=a")
    assert pod["status"]["phase"] == "Pending"
    api_server.write_status("pod", pod["metadata"]["name"], {"phase": "Running"})
    assert api_server.kubectl.list("pods")[0]["status"]["phase"] == "Running"


def test_the_products_kinds_are_in_force(api_server: ApiServer, crds: list[str]) -> None:
    assert crds == ["llmservices.steelyard.io", "slopolicies.steelyard.io"]
    listed = json.loads(api_server.kubectl("get", "llmservices", "-o", "json"))
    assert listed["items"] == []
