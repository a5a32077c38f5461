"""Which object a piece of work is about."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["LLMService", "SLOPolicy"]


class ObjectKey(NamedTuple):
    """One object of our two kinds."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def service_key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey("LLMService", namespace, name)


def policy_key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey("SLOPolicy", namespace, name)


def child_key(item: Mapping[str, Any]) -> tuple[str, str]:
    """How a child is called within its service: (kind, name)."""
    return item["kind"], item["metadata"]["name"]
