"""The API server's audit log: who asked what, and what the answer was.

Keeps true: every request is in it but the noise of the cluster's own parts; reads as their
metadata, writes with their bodies. Events and Leases of others than the cluster's own parts stay.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SYSTEM = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:kube-proxy",
    "system:kube-scheduler",
]
_WRITES = ["create", "update", "patch", "delete", "deletecollection"]

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "users": _SYSTEM},
        {"level": "None", "userGroups": ["system:nodes"]},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"], "verbs": ["watch"]},
        {
            "level": "None",
            "userGroups": ["system:serviceaccounts:kube-system"],
            "resources": [
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {"group": "", "resources": ["events"]},
            ],
        },
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*", "/openapi*"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Request", "verbs": _WRITES},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True)
class Entry:
    """One answered request; of a watch, that it was begun and that it ended (`stage`)."""

    at: str
    """RFC 3339, microseconds, UTC."""
    verb: str
    user: str
    agent: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    stage: str
    path: str
    body: Any
    """What was sent, of a write; for server-side apply the applied object."""

    @property
    def is_write(self) -> bool:
        return self.verb in _WRITES


class AuditLog:
    """Reads the log from where a test began."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mark(self) -> int:
        """A place in the log: what is written from now on is after it."""
        return self.path.stat().st_size if self.path.exists() else 0

    def since(self, mark: int = 0) -> list[Entry]:
        """Whole lines only; the API server writes a line before it sends the answer."""
        with self.path.open("rb") as file:
            file.seek(mark)
            text = file.read()
        whole, _, _ = text.rpartition(b"\n")
        return [_entry(json.loads(line)) for line in whole.splitlines()]

    def writes(self, mark: int = 0, *, but: Sequence[str] = ("leases",)) -> Iterator[Entry]:
        """Writes by anybody, but of the resources named."""
        return (each for each in self.since(mark) if each.is_write and each.resource not in but)


def _entry(event: dict[str, Any]) -> Entry:
    about = event.get("objectRef") or {}
    return Entry(
        at=event["stageTimestamp"],
        verb=event["verb"],
        user=(event.get("impersonatedUser") or event["user"]).get("username", ""),
        agent=event.get("userAgent", ""),
        group=about.get("apiGroup", ""),
        resource=about.get("resource", ""),
        subresource=about.get("subresource", ""),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        stage=event["stage"],
        path=event["requestURI"],
        body=event.get("requestObject"),
    )
