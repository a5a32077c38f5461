"""The scale subresource, as an autoscaler and a GitOps tool meet on it."""

import json

import pytest
from onenode.kubectl import KubectlError
from support.api_server import ApiServer
from support.helm import Object

pytestmark = pytest.mark.usefixtures("crds")


def service(**spec: int) -> Object:
    return {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "LLMService",
        "metadata": {"name": "demo"},
        "spec": {"engine": {"type": "Simulator"}, **spec},
    }


def scale(server: ApiServer) -> Object:
    path = f"/apis/steelyard.io/v1alpha1/namespaces/{server.namespace}/llmservices/demo/scale"
    found: Object = json.loads(server.kubectl("get", "--raw", path))
    return found


def test_an_autoscaler_reads_what_the_operator_reports(api_server: ApiServer) -> None:
    api_server.apply(service(replicas=2))
    selector = "steelyard.io/service=demo"
    api_server.write_status("llmservice", "demo", {"replicas": 2, "selector": selector})

    assert scale(api_server)["spec"]["replicas"] == 2
    assert scale(api_server)["status"] == {"replicas": 2, "selector": selector}


def test_replicas_that_git_leaves_out_are_set_once_and_survive_every_sync(
    api_server: ApiServer,
) -> None:
    api_server.apply(service())
    with pytest.raises(KubectlError, match="does not exist"):
        scale(api_server)

    api_server.kubectl("scale", "llmservice/demo", "--replicas=3")
    api_server.apply(service())

    assert scale(api_server)["spec"]["replicas"] == 3
