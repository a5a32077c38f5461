"""etcd, the API server and the controllers: level 1, and the base of level 2.

Keeps true: it listens where it was told and on ports that were free; a frozen API server ends no
controller (none of them elects a leader); the audit log is complete.
"""

import json
import subprocess
import time
from pathlib import Path

from onenode.address import Addresses, free_port
from onenode.audit import POLICY, AuditLog
from onenode.kubectl import Kubectl
from onenode.pki import ADMIN, Authority
from onenode.process import Daemons

READY_S = 90.0
POLL_S = 0.1

IDENTITIES = {
    "kcm": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
}


class ControlPlane:
    """One control plane, its state in `state`, its programs in `programs`."""

    def __init__(self, programs: Path, state: Path, daemons: Daemons) -> None:
        self._programs = programs
        self._daemons = daemons
        self.state = state
        self.authority = Authority(state / "pki")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.state / "admin.kubeconfig"

    @property
    def kubectl(self) -> Kubectl:
        # Its own cache: the next cluster on the same port has other kinds.
        cache = f"--cache-dir={self.state / 'kubectl'}"
        return Kubectl(self._programs / "kubectl", self.kubeconfig, options=(cache,))

    @property
    def audit(self) -> AuditLog:
        return AuditLog(self.state / "audit.log")

    @property
    def server(self) -> str:
        """Its URL, as the administrator's kubeconfig has it."""
        config = json.loads(self.kubeconfig.read_text(encoding="utf-8"))
        server: str = config["clusters"][0]["cluster"]["server"]
        return server

    def start(self, addresses: Addresses) -> None:
        server = f"https://{addresses.host}:{free_port(addresses.host)}"
        self._certify(addresses, server)
        store = self._start_store()
        self._start_server(addresses, server, store)
        self._await_ready()
        self._start_controllers(addresses)
        self._await_account()

    def _certify(self, addresses: Addresses, server: str) -> None:
        self.authority.create()
        known_as = (
            *(f"IP:{each}" for each in (addresses.host, addresses.kubernetes_service)),
            *(f"DNS:{each}" for each in ("kubernetes", "kubernetes.default.svc", "localhost")),
        )
        self.authority.issue("apiserver", "/CN=kube-apiserver", *known_as)
        for name, subject in {"admin": ADMIN, **IDENTITIES}.items():
            self.authority.issue(name, subject)
            self.authority.kubeconfig(name, server, self.state / f"{name}.kubeconfig")

    def _start_store(self) -> str:
        client, peer = (f"http://127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2))
        self._daemons.start(
            "etcd",
            [
                self._programs / "etcd",
                f"--data-dir={self.state / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )
        return client

    def _start_server(self, addresses: Addresses, server: str, store: str) -> None:
        pki = self.authority.folder
        policy = self.state / "audit-policy.json"
        policy.write_text(json.dumps(POLICY), encoding="utf-8")
        # On loopback nothing outside could use the address, and the server refuses to publish it.
        on_loopback = addresses.host.startswith("127.")
        place = (
            ["--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none"]
            if on_loopback
            else [f"--advertise-address={addresses.host}"]
        )
        self._daemons.start(
            "apiserver",
            [
                self._programs / "kube-apiserver",
                *place,
                f"--bind-address={addresses.host}",
                f"--secure-port={server.rpartition(':')[2]}",
                f"--etcd-servers={store}",
                f"--service-cluster-ip-range={addresses.services}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={pki / 'sa.pub'}",
                f"--service-account-signing-key-file={pki / 'sa.key'}",
                f"--client-ca-file={self.authority.certificate}",
                f"--tls-cert-file={pki / 'apiserver.crt'}",
                f"--tls-private-key-file={pki / 'apiserver.key'}",
                f"--cert-dir={pki}",
                f"--kubelet-client-certificate={pki / 'admin.crt'}",
                f"--kubelet-client-key={pki / 'admin.key'}",
                # By the node's name, exec, logs and port-forward would need a name server.
                "--kubelet-preferred-address-types=InternalIP",
                "--authorization-mode=Node,RBAC",
                "--allow-privileged=true",
                f"--audit-policy-file={policy}",
                f"--audit-log-path={self.audit.path}",
                "--audit-log-maxsize=2000",
                "--audit-log-mode=blocking",
            ],
        )

    def _start_controllers(self, addresses: Addresses) -> None:
        self._daemons.start(
            "kcm",
            [
                self._programs / "kube-controller-manager",
                f"--kubeconfig={self.state / 'kcm.kubeconfig'}",
                f"--service-account-private-key-file={self.authority.key_of('sa')}",
                f"--root-ca-file={self.authority.certificate}",
                "--use-service-account-credentials",
                "--leader-elect=false",
                # Its default of 20 requests a second would be what a test of scale measures.
                "--kube-api-qps=200",
                "--kube-api-burst=400",
                "--allocate-node-cidrs",
                f"--cluster-cidr={addresses.pods}",
                f"--service-cluster-ip-range={addresses.services}",
                "--secure-port=0",
            ],
        )

    def _await_ready(self) -> None:
        end_s = time.monotonic() + READY_S
        while self.kubectl("get", "--raw", "/readyz", check=False).strip() != "ok":
            self._daemons.check()
            if time.monotonic() > end_s:
                raise TimeoutError(f"no API server in time:\n{self._daemons.tail('apiserver')}")
            time.sleep(POLL_S)

    def _await_account(self) -> None:
        """No pod is accepted in a namespace before its service account is there."""
        command = self.kubectl.command("get", "serviceaccount", "default", "--output=name")
        end_s = time.monotonic() + READY_S
        while subprocess.run(command, capture_output=True, check=False).returncode:
            self._daemons.check()
            if time.monotonic() > end_s:
                raise TimeoutError(f"the controllers do nothing:\n{self._daemons.tail('kcm')}")
            time.sleep(POLL_S)
