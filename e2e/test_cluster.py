"""The cluster is what the other tests take it for: pods run, names resolve, Services answer."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from harness.target import Target
from onenode.audit import AuditLog
from onenode.cluster import Cluster as OneNode
from onenode.place import Place

READY_S = 60.0
MODEL = "tiny"


def pod(target: Target) -> dict[str, object]:
    """A simulated engine, hardened as the chart hardens its pods."""
    container = {
        "name": "engine",
        "image": target.image,
        "imagePullPolicy": target.pull_policy,
        "args": ["engine", "--host", "0.0.0.0", "--port", "8000", "--model", MODEL],
        "ports": [{"name": "http", "containerPort": 8000}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 1},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    profile = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "engine", "labels": {"app": "engine"}},
        "spec": {"containers": [container], "securityContext": profile},
    }


def service() -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "engine"},
        "spec": {"selector": {"app": "engine"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }


def is_ready(found: dict[str, object]) -> bool:
    status = found.get("status")
    assert isinstance(status, dict)
    return any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions", ())
    )


def test_a_pod_of_the_image_serves_through_its_service(target: Target, namespace: str) -> None:
    kubectl = target.kubectl.within(namespace)
    kubectl.apply(pod(target), service())
    kubectl.until("pod", "engine", is_ready, within_s=READY_S, what="the engine is ready")
    kubectl.until(
        "endpoints",
        "engine",
        lambda found: bool(found.get("subsets")),
        within_s=READY_S,
        what="the Service has an endpoint",
    )
    url = target.service_url(namespace, "engine")
    with urllib.request.urlopen(f"{url}/v1/models", timeout=10) as answer:
        (model,) = json.load(answer)["data"]
    assert model["id"] == MODEL
    by_name = f"http://engine.{namespace}.svc/v1/models"
    ask = f"import urllib.request as ask; print(ask.urlopen('{by_name}').status)"
    assert kubectl("exec", "engine", "--", "python3", "-c", ask).strip() == "200"
    assert kubectl("exec", "engine", "--", "id", "-u").strip() == "65532"


def test_the_audit_log_tells_who_made_a_namespace(audit: AuditLog, namespace: str) -> None:
    (made,) = (each for each in audit.since() if each.verb == "create" and each.name == namespace)
    assert (made.resource, made.code) == ("namespaces", 201)


ANOTHER = """
import os, signal, sys
from onenode.cluster import Cluster
from onenode.place import Place
Cluster(Place(cluster=sys.argv[1]), tied=True).up()
os.kill(os.getpid(), signal.SIGKILL)
"""
"""Starts a cluster beside the one that the tests use, and dies as nothing can be done against."""


@pytest.mark.timeout(300)
def test_a_run_that_is_killed_leaves_nothing_behind(target: Target) -> None:
    if target.audit is None:
        pytest.skip(f"{target.name} is not ours to start and to kill")
    place = Place(cluster="killed")
    before = traces(place)
    program = Path(sys.modules[OneNode.__module__].__file__ or "").parents[1]
    died = subprocess.run(
        [sys.executable, "-c", ANOTHER, place.cluster],
        env={**os.environ, "PYTHONPATH": str(program)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    OneNode(place, tied=True).down()
    assert not place.state.exists()
    assert traces(place) == before
    assert target.kubectl("get", "--raw", "/readyz") == "ok"


def traces(place: Place) -> dict[str, list[str]]:
    """What a cluster could leave on this machine."""
    links = Path("/sys/class/net").iterdir()
    groups = Path("/sys/fs/cgroup").glob("**/steelyard-*")
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    commands = [
        path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists()
    ]
    return {
        "links": sorted(link.name for link in links if link.name.startswith("steelyard")),
        "groups": sorted(str(group) for group in groups if group.parent.parent.name == "cgroup"),
        "mounts": sorted(line for line in mounts if str(place.folder) in line),
        "processes": sorted(line for line in commands if str(place.state) in line),
    }
