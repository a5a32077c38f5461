"""The head of every child: who it belongs to, and how it is found.

Selectors use two labels of our own, which never change; the rest is for people and tools. Labels of
the LLMService are not copied: a label on it must not restart anything.
"""

from collections.abc import Mapping

from steelyard_operator.api.base import API_VERSION
from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import Object, Resource

from .name import Component

SERVICE_LABEL = "steelyard.io/service"
COMPONENT_LABEL = "steelyard.io/component"
MANAGED_BY = "steelyard-operator"


def selector(service: LLMService, component: Component) -> dict[str, str]:
    return {SERVICE_LABEL: service.metadata.name, COMPONENT_LABEL: component}


def labels(service: LLMService, component: Component) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "steelyard",
        "app.kubernetes.io/instance": service.metadata.name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": MANAGED_BY,
        **selector(service, component),
    }


def annotations_of(item: Object | None) -> Mapping[str, str]:
    """Of an object or a pod template, which need not be there, nor have any."""
    found: Mapping[str, str] = ((item or {}).get("metadata") or {}).get("annotations") or {}
    return found


def manifest(
    resource: Resource,
    service: LLMService,
    component: Component,
    name: str,
    *,
    annotations: Mapping[str, str] | None = None,
    owned: bool = True,
    **content: object,
) -> Object:
    """A child of the service. One that is not `owned` outlives it."""
    metadata: Object = {
        "name": name,
        "namespace": service.metadata.namespace,
        "labels": labels(service, component),
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    if owned and service.metadata.uid is not None:
        metadata["ownerReferences"] = [_owner(service, service.metadata.uid)]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        **content,
    }


def _owner(service: LLMService, uid: str) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": service.kind,
        "name": service.metadata.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
