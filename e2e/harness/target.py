"""The cluster that the tests run against, whichever it is."""

import re
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onenode.audit import AuditLog
from onenode.kubectl import Kubectl

FORWARD_S = 20.0
OPEN_S = 15.0
POLL_S = 0.1


@dataclass
class Target:
    """A cluster and the image under test, which its nodes have or can pull.

    `audit` is there on our own cluster only: nobody else's API server shows its log.
    """

    name: str
    kubectl: Kubectl
    helm: Path
    image: str
    pull_policy: str
    audit: AuditLog | None = None
    reaches_services: bool = False
    """Whether this machine has a route to the addresses of pods and Services."""
    close: Callable[[], None] = lambda: None
    _forwards: dict[tuple[str, str, int], "_Forward"] = field(default_factory=dict)

    def service_url(self, namespace: str, name: str, port: int = 80) -> str:
        """Where a Service with an address of its own is reached from this machine.

        It has ready endpoints, and the node learns of them within a second: that is waited for.
        Where there is no route it is a forwarded port, which kubectl leads to one pod only.
        """
        if self.reaches_services:
            found = self.kubectl.within(namespace).get("service", name)
            _await_open(found["spec"]["clusterIP"], port)
            return f"http://{found['spec']['clusterIP']}:{port}"
        return self._forwarded(namespace, f"service/{name}", port)

    def run_helm(self, *arguments: str | Path, timeout_s: float = 300.0) -> str:
        done = subprocess.run(
            [self.helm, f"--kubeconfig={self.kubectl.kubeconfig}", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"helm {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def shut(self) -> None:
        """Ends the forwarded ports, and the cluster if it was started for this run."""
        for forward in self._forwards.values():
            forward.stop()
        self.close()

    def _forwarded(self, namespace: str, what: str, port: int) -> str:
        key = (namespace, what, port)
        known = self._forwards.get(key)
        if known is None or not known.is_alive:
            self._forwards[key] = known = _Forward(self.kubectl.within(namespace), what, port)
        return known.url


def _await_open(host: str, port: int) -> None:
    end_s = time.monotonic() + OPEN_S
    while True:
        try:
            socket.create_connection((host, port), timeout=OPEN_S).close()
        except OSError as error:
            if time.monotonic() > end_s:
                raise TimeoutError(f"{host}:{port} does not accept connections: {error}") from error
            time.sleep(POLL_S)
        else:
            return


class _Forward:
    """kubectl port-forward, on a port that it chooses."""

    def __init__(self, kubectl: Kubectl, what: str, port: int) -> None:
        self._process = subprocess.Popen(
            kubectl.command("port-forward", what, f":{port}"), stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if found is None:
            self.stop()
            raise RuntimeError(f"kubectl port-forward {what} {port} said: {line!r}")
        self.url = f"http://127.0.0.1:{found[1]}"

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=FORWARD_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
