"""What is built: the name of each program, the Go module that pins it, and the package in it.

The folders under `tools/` are Go modules: their go.mod and go.sum pin every dependency.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1] / "tools"

KUBERNETES = "1.35.4"
"""The last line that accepts containerd 1.x, which is what Debian 12 has."""

_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES.split(".")
_KUBERNETES_FLAGS = (
    f"-X {_VERSION}.gitVersion=v{KUBERNETES}"
    f" -X {_VERSION}.gitMajor={_MAJOR} -X {_VERSION}.gitMinor={_MINOR}"
)
HELM = "3.22.0"

# Without these it takes itself for a helm of Kubernetes 1.20, where it asks no server.
_HELM_FLAGS = " ".join(
    [f"-X helm.sh/helm/v3/internal/version.version=v{HELM}"]
    + [
        f"-X helm.sh/helm/v3/pkg/{place}.k8sVersion{part}={number}"
        for place in ("lint/rules", "chartutil")
        for part, number in (("Major", _MAJOR), ("Minor", _MINOR))
    ]
)


@dataclass(frozen=True)
class Binary:
    """One program: `tool` is a folder of `tools/`, `package` what `go build` gets there."""

    name: str
    tool: str
    package: str = "."
    link_flags: str = ""

    @property
    def source(self) -> Path:
        return TOOLS / self.tool

    def digest(self, go_version: str) -> str:
        """Changes with whatever the result depends on."""
        sha = hashlib.sha256(f"{go_version} {self.package} {self.link_flags}".encode())
        for path in sorted(self.source.iterdir()):
            sha.update(path.name.encode() + path.read_bytes())
        return sha.hexdigest()


def _kubernetes(name: str) -> Binary:
    return Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_FLAGS)


LEVEL_1 = (
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kubectl"),
    Binary("etcd", "etcd"),
    Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm", _HELM_FLAGS),
)
LEVEL_2 = (
    *LEVEL_1,
    _kubernetes("kube-scheduler"),
    _kubernetes("kubelet"),
    _kubernetes("kube-proxy"),
    Binary("coredns", "coredns"),
    Binary("pause", "pause"),
)
