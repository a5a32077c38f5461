"""What a test has of a real API server; tests/cluster/conftest.py starts it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onenode.audit import AuditLog
from onenode.kubectl import Kubectl, Object


@dataclass(frozen=True)
class ApiServer:
    """What a test has of the API server: `namespace` is its own, made for it and deleted after.

    `kubectl("get", "pods")` runs in that namespace, as the cluster's administrator, and returns
    what kubectl printed; it raises KubectlError with what kubectl complained of. It blocks: in a
    test that runs something on the event loop, call it by `asyncio.to_thread`. No pod ever runs,
    but the controllers do: ReplicaSets and pods are made, what has no owner left is collected.
    `audit` reads the API server's audit log, from `audit.mark()` on.
    """

    kubectl: Kubectl
    namespace: str
    audit: AuditLog

    @property
    def kubeconfig(self) -> Path:
        return self.kubectl.kubeconfig

    def apply(self, *manifests: Mapping[str, Any] | str | Path) -> None:
        self.kubectl.apply(*manifests)

    def get(self, kind: str, name: str) -> Object:
        return self.kubectl.get(kind, name)

    def write_status(self, kind: str, name: str, status: Mapping[str, Any]) -> None:
        """As if the controller or the kubelet that is not there had written it."""
        patch = json.dumps({"status": status})
        arguments = ("--subresource=status", "--type=merge", f"--patch={patch}")
        self.kubectl("patch", kind, name, *arguments)
