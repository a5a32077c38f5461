"""What runs on the node: containerd, the kubelet, kube-proxy; and CoreDNS as its first pod.

Keeps true: no image is ever pulled; pods get addresses of the cluster's own block, each with a
route and no bridge, so that every packet passes the rules of kube-proxy.
"""

import json
import string
import subprocess
import time
from pathlib import Path
from typing import Any

from onenode import cgroup
from onenode.address import Addresses
from onenode.control_plane import ControlPlane
from onenode.namespace import Namespace
from onenode.process import Daemons
from onenode.scratch import pack

NAME = "node1"
PAUSE = "localhost/pause:e2e"
DNS = "localhost/coredns:e2e"
SOCKET = "/run/containerd/containerd.sock"
READY_S = 120.0
POLL_S = 0.1
HERE = Path(__file__).resolve().parent


class Node:
    """One node; `group` is the name of its control group."""

    def __init__(
        self, programs: Path, plane: ControlPlane, space: Namespace, daemons: Daemons, group: str
    ) -> None:
        self._programs = programs
        self._plane = plane
        self._space = space
        self._daemons = daemons
        self._group = group
        self._state = plane.state

    def start_runtime(self, addresses: Addresses) -> None:
        """containerd, and the images that the node itself needs."""
        network = self._state / "cni"
        network.mkdir()
        self._write("cni/10-pods.conflist", _pod_network(addresses))
        config = self._state / "containerd.toml"
        config.write_text(_runtime_config(self._state / "containerd", network), encoding="utf-8")
        self._start("containerd", "containerd", f"--config={config}")
        self._await_runtime()
        for program, image in (("pause", PAUSE), ("coredns", DNS)):
            archive = self._state / f"{program}.tar"
            pack(self._programs / program, image, archive, entry=[f"/{program}"])
            self.load(archive)
            archive.unlink()

    def start(self, addresses: Addresses) -> None:
        """Once the API server answers and the runtime is there."""
        cgroup.create(self._group)
        pki = self._plane.authority
        pki.issue("kubelet", f"/O=system:nodes/CN=system:node:{NAME}", f"IP:{addresses.node}")
        server = self._plane.server
        identity = pki.kubeconfig("kubelet", server, self._state / "kubelet.kubeconfig")
        config = self._write("kubelet.json", self._kubelet_config(addresses))
        self._start(
            "kubelet",
            self._programs / "kubelet",
            f"--config={config}",
            f"--kubeconfig={identity}",
            f"--hostname-override={NAME}",
            f"--node-ip={addresses.node}",
        )
        self._start_proxy(addresses)
        self._daemons.start(
            "scheduler",
            [
                self._programs / "kube-scheduler",
                f"--kubeconfig={self._state / 'scheduler.kubeconfig'}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        )
        self._start_names(addresses)

    def load(self, archive: Path) -> None:
        """An image into the store that pods run from."""
        ctr = ("ctr", f"--address={SOCKET}", "--namespace=k8s.io")
        self._space.run(*ctr, "images", "import", archive, timeout_s=300.0)

    def await_ready(self) -> None:
        end_s = time.monotonic() + READY_S
        kubectl = self._plane.kubectl.within("kube-system")
        for wanted in (("wait", "--for=condition=Ready", f"node/{NAME}"),
                       ("rollout", "status", "deployment/coredns")):  # fmt: skip
            while subprocess.run(
                kubectl.command(*wanted, "--timeout=1s"), capture_output=True, check=False
            ).returncode:
                self._daemons.check()
                if time.monotonic() > end_s:
                    raise TimeoutError(f"{' '.join(wanted)}:\n{self._daemons.tail('kubelet')}")
                time.sleep(POLL_S)

    def _start_proxy(self, addresses: Addresses) -> None:
        config = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "nftables": {"minSyncPeriod": "100ms", "syncPeriod": "30s"},
            "clusterCIDR": str(addresses.pods),
            "clientConnection": {"kubeconfig": str(self._state / "proxy.kubeconfig")},
            # Limits of the whole machine, which are not ours to set.
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }
        path = self._write("proxy.json", config)
        kubectl = self._plane.kubectl
        role = ("--clusterrole=system:node-proxier", "--user=system:kube-proxy")
        kubectl("create", "clusterrolebinding", "kube-proxy", *role)
        proxy = self._programs / "kube-proxy"
        self._start("kube-proxy", proxy, f"--config={path}", f"--hostname-override={NAME}")

    def _start_names(self, addresses: Addresses) -> None:
        text = (HERE / "coredns.yaml").read_text(encoding="utf-8")
        self._plane.kubectl.apply(string.Template(text).substitute(DNS=addresses.dns))

    def _kubelet_config(self, addresses: Addresses) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self._plane.authority.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._group}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "clusterDNS": [addresses.dns],
            "clusterDomain": "cluster.local",
            "resolvConf": "",
            # A test machine's disk may be nearly full; that is no reason to evict a test.
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            "imageGCHighThresholdPercent": 100,
            "localStorageCapacityIsolation": False,
            "syncFrequency": "10s",
        }

    def _await_runtime(self) -> None:
        end_s = time.monotonic() + READY_S
        version = self._space.inside("ctr", f"--address={SOCKET}", "version")
        while subprocess.run(version, capture_output=True, check=False).returncode:
            self._daemons.check()
            if time.monotonic() > end_s:
                raise TimeoutError(f"no containerd:\n{self._daemons.tail('containerd')}")
            time.sleep(POLL_S)

    def _start(self, name: str, *command: str | Path) -> None:
        self._daemons.start(name, self._space.inside(*command))

    def _write(self, name: str, content: dict[str, Any]) -> Path:
        path = self._state / name
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")
        return path


def _pod_network(addresses: Addresses) -> dict[str, Any]:
    pool = {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": str(addresses.node_pods)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugin = {"type": "ptp", "ipMasq": False, "ipam": pool}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [plugin]}


def _runtime_config(root: Path, network: Path) -> str:
    # Without CAP_SYS_RESOURCE runc cannot lower what the kernel kills first, and dies of trying.
    return f"""\
version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network}"
"""
