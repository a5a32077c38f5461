"""The chart on a real API server: installed, changed, removed, and what its roles allow."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from onenode.kubectl import KubectlError
from support.api_server import ApiServer
from support.helm import CHART, ROOT, find

EXAMPLES = sorted(
    [*(ROOT / "examples").glob("*.yaml"), *(ROOT / "examples/gitops/models").glob("[ls]*.yaml")]
)


@dataclass(frozen=True)
class Release:
    """A release of the chart in a test's namespace, called like that; `server` is where."""

    program: Path
    server: ApiServer

    @property
    def name(self) -> str:
        return self.server.namespace

    @property
    def operator(self) -> str:
        return f"system:serviceaccount:{self.name}:{self.name}-operator"

    def helm(self, *args: str, stdin: str = "") -> str:
        place = [f"--kubeconfig={self.server.kubeconfig}", f"--namespace={self.name}"]
        done = subprocess.run(
            [str(self.program), *args, *place],
            input=stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *flags: str, **values: Any) -> None:
        given = json.dumps({"fullnameOverride": self.name, **values})
        self.helm("upgrade", "--install", self.name, str(CHART), "-f", "-", *flags, stdin=given)

    def may(self, verb: str, resource: str, namespace: str = "", user: str = "") -> bool:
        """Whether somebody may do this; the operator, if nobody is named, and here, if no place."""
        kind, _, part = resource.partition("/")
        kubectl = self.server.kubectl.within(namespace or self.name)
        subresource = [f"--subresource={part}"] if part else []
        who = f"--as={user or self.operator}"
        said = kubectl("auth", "can-i", verb, kind, *subresource, who, check=False)
        return said.splitlines()[-1] == "yes"

    def binds(self, role: str, namespace: str) -> bool:
        """Whether the operator may give a ClusterRole to somebody."""
        said = self.server.kubectl.within(namespace)(
            "create", "rolebinding", "try", f"--clusterrole={role}", f"--as={self.operator}",
            "--serviceaccount=default:default", "--dry-run=server", check=False,
        )  # fmt: skip
        granted = "created (server dry run)" in said
        assert granted or "is forbidden" in said, said
        return granted


@pytest.fixture
def release(api_server: ApiServer) -> Iterator[Release]:
    program = find()
    if program is None:
        pytest.skip("needs helm: none on PATH, none in build/cluster/bin")
    found = Release(program, api_server)
    yield found
    found.helm("uninstall", found.name, "--ignore-not-found")


def test_a_release_comes_changes_and_goes_and_the_kinds_stay(release: Release) -> None:
    kubectl, operator = release.server.kubectl, f"{release.name}-operator"
    release.install("--take-ownership")
    assert kubectl.get("deployment", operator)["spec"]["strategy"]["type"] == "Recreate"
    assert kubectl.get("crd", "slopolicies.steelyard.io")

    release.install(podLabels={"team": "platform"})
    template = kubectl.get("deployment", operator)["spec"]["template"]
    assert template["metadata"]["labels"]["team"] == "platform"

    release.helm("uninstall", release.name)
    assert kubectl.find("deployment", operator) is None
    assert kubectl.get("crd", "llmservices.steelyard.io")
    assert kubectl.get("crd", "slopolicies.steelyard.io")


@pytest.mark.usefixtures("crds")
def test_what_the_notes_tell_to_paste_works(release: Release) -> None:
    release.install(crds={"enabled": False}, watchNamespaces=[release.name])
    notes = release.helm("get", "notes", release.name)
    pasted = re.search(r"^kubectl -n (\S+) apply .*?^YAML$", notes, re.MULTILINE | re.DOTALL)
    assert pasted is not None

    assert pasted[1] == release.name
    subprocess.run(
        ["bash", "-c", pasted[0]],
        env={**os.environ, "KUBECONFIG": str(release.server.kubeconfig)},
        timeout=60, check=True,
    )  # fmt: skip
    assert release.server.get("llmservice", "demo")["spec"]["replicas"] == 3


def test_the_operators_pod_is_let_into_a_restricted_namespace(release: Release) -> None:
    kubectl, name = release.server.kubectl, release.name
    kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    release.install(crds={"enabled": False})
    template = kubectl.get("deployment", f"{name}-operator")["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "try"},
        "spec": template["spec"],
    }

    kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    pod["spec"].pop("securityContext")
    with pytest.raises(KubectlError, match="violates PodSecurity"):
        kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))


@pytest.mark.usefixtures("crds")
def test_in_one_namespace_the_operator_does_its_work_and_in_others_nothing(
    release: Release,
) -> None:
    release.install(crds={"enabled": False}, watchNamespaces=[release.name])

    assert release.may("watch", "llmservices")
    assert release.may("patch", "slopolicies/status")
    assert release.may("create", "deployments")
    assert release.binds(f"{release.name}-router", release.name)
    assert not release.may("watch", "llmservices", "default")
    assert not release.may("create", "deployments", "default")
    assert not release.binds(f"{release.name}-router", "default")


@pytest.mark.usefixtures("crds")
def test_in_the_cluster_the_operator_works_everywhere_and_reads_no_secret(
    release: Release,
) -> None:
    release.install(crds={"enabled": False})

    assert release.may("watch", "llmservices", "default")
    assert release.binds(f"{release.name}-router", "default")
    for verb, resource in (
        ("get", "secrets"),
        ("list", "secrets"),
        ("create", "pods"),
        ("create", "pods/exec"),
        ("update", "llmservices"),
        ("create", "clusterrolebindings"),
        ("list", "nodes"),
    ):
        assert not release.may(verb, resource, "default"), (verb, resource)
    for role in ("cluster-admin", "admin", "edit"):
        assert not release.binds(role, "default"), role


@pytest.mark.usefixtures("crds")
def test_whoever_may_edit_a_namespace_may_edit_both_kinds_there(release: Release) -> None:
    kubectl = release.server.kubectl
    release.install(crds={"enabled": False})
    for role, user in (("edit", "writer"), ("view", "reader")):
        kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={user}")
    # The controller manager adds the chart's roles to the built-in ones a moment later.
    kubectl.until(
        "clusterrole", "view", lambda role: "slopolicies" in json.dumps(role["rules"]),
        within_s=20, what="view has the two kinds",
    )  # fmt: skip
    kubectl.until(
        "clusterrole", "edit", lambda role: "llmservices/scale" in json.dumps(role["rules"]),
        within_s=20, what="edit has the two kinds",
    )  # fmt: skip

    for resource in ("llmservices", "slopolicies"):
        assert release.may("create", resource, user="writer")
        assert release.may("list", resource, user="reader")
        assert not release.may("create", resource, user="reader")
        assert not release.may("patch", f"{resource}/status", user="writer")
    assert release.may("patch", "llmservices/scale", user="writer")


def test_the_plain_manifests_are_taken(api_server: ApiServer) -> None:
    text = (ROOT / "examples" / "install" / "steelyard.yaml").read_text(encoding="utf-8")
    here = text.replace("steelyard-system", api_server.namespace)

    said = api_server.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=here)

    assert "deployment.apps/steelyard-operator serverside-applied (server dry run)" in said


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_taken(api_server: ApiServer, path: Path) -> None:
    said = api_server.kubectl("apply", "--dry-run=server", "-f", str(path))

    assert said.count("created (server dry run)") == said.count("\n") > 0
