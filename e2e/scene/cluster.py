"""The stage of one test: a namespace of its own on a cluster with the product installed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.installation import Installation
from harness.target import Target
from onenode.audit import AuditLog, Entry
from onenode.kubectl import Kubectl

from scene.right import Role, roles

OPERATOR = "deployment/steelyard-operator"
OPERATOR_POD = "app.kubernetes.io/component=operator"


@dataclass
class Records:
    """What is kept from test to test: the place in the audit log, and roles with their holders."""

    audit: AuditLog | None
    mark: int
    roles: list[Role] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)
    """Namespace -> when its test ended: what is refused while a namespace goes is no matter."""
    robbed: set[str] = field(default_factory=set)
    """Namespaces whose test took rights away, to see them given back."""

    def refused(self) -> list[Entry]:
        """Requests that should have been allowed."""
        return [
            each
            for each in self.entries()
            if each.code in {401, 403}
            and each.namespace not in self.robbed
            and each.at < self.ended.get(each.namespace, "9")
        ]

    def entries(self, mark: int | None = None) -> list[Entry]:
        """All requests since a mark, or since the first test, of the holders of our roles."""
        assert self.audit is not None
        holders = {holder for role in self.roles for holder in role.holders}
        return [
            each
            for each in self.audit.since(self.mark if mark is None else mark)
            if each.user in holders
        ]


@dataclass
class Cluster:
    """`kubectl` acts in the test's namespace, as the cluster's administrator."""

    target: Target
    installed: Installation
    namespace: str
    records: Records

    @property
    def kubectl(self) -> Kubectl:
        return self.target.kubectl.within(self.namespace)

    @property
    def image(self) -> str:
        return self.target.image

    def url(self, service: str, port: int = 80) -> str:
        """Where a Service of the namespace is reached from here."""
        return self.target.service_url(self.namespace, service, port)

    def diff(self, manifest: Mapping[str, Any]) -> str:
        """What `kubectl diff` says; empty when the cluster has just what the manifest says."""
        arguments = ("diff", "--server-side", "--field-manager=e2e", "-f", "-")
        return self.kubectl(*arguments, stdin=json.dumps(manifest), check=False)

    # -- the operator -----------------------------------------------------------------------------

    def restart_operator(self) -> None:
        """As an upgrade does: it is told to end, and another starts."""
        self.installed.kubectl("rollout", "restart", OPERATOR)
        self._await_operator()

    def kill_operator(self) -> None:
        """Without a chance to finish anything; returns when another runs."""
        kubectl = self.installed.kubectl
        kubectl("delete", "pod", "-l", OPERATOR_POD, "--grace-period=0", "--force")
        self._await_operator()

    @contextmanager
    def operator_with(self, *arguments: str) -> Iterator[None]:
        """An operator with these arguments, and at the end again one without."""
        values = {f"extraArgs[{index}]": each for index, each in enumerate(arguments)}
        self.installed.upgrade(values)
        try:
            yield
        finally:
            self.installed.upgrade()

    def _await_operator(self) -> None:
        self.installed.kubectl("rollout", "status", OPERATOR, "--timeout=60s")

    # -- the record -------------------------------------------------------------------------------

    def end(self) -> None:
        """Remember who holds our roles in this namespace, and when it goes."""
        self.records.roles.extend(roles(self.target.kubectl))
        self.records.ended[self.namespace] = datetime.now(UTC).isoformat()
