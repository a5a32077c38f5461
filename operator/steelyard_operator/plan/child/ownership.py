"""What is ours among what is there.

Ours is what names this very service as its controller, by uid. A claim for a cache may outlive its
service: it is ours again when our labels are on it and nobody controls it.
"""

from collections.abc import Iterable, Mapping

from steelyard_operator.api.llmservice import LLMService
from steelyard_router.kube.resource import (
    CONFIG_MAP,
    DEPLOYMENT,
    NETWORK_POLICY,
    PDB,
    PVC,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    Object,
)

from .manifest import MANAGED_BY, SERVICE_LABEL

Key = tuple[str, str]
"""Kind and name, within one namespace."""

CHILDREN = (
    SERVICE_ACCOUNT,
    ROLE_BINDING,
    CONFIG_MAP,
    PVC,
    SERVICE,
    NETWORK_POLICY,
    PDB,
    DEPLOYMENT,
)
"""Every kind of child, in the order in which they are applied."""

_KINDS = frozenset(resource.kind for resource in CHILDREN)


def key(item: Object) -> Key:
    return item["kind"], item["metadata"]["name"]


def obsolete(
    desired: Iterable[Object], live: Mapping[Key, Object], service: LLMService
) -> tuple[Object, ...]:
    """Our children that are no longer wanted, or are in the way of what is wanted."""
    wanted = {key(item): item for item in desired}
    return tuple(
        item
        for name, item in live.items()
        if name[0] in _KINDS
        and _controlled(item, service)
        and (name not in wanted or _in_the_way(item, wanted[name]))
    )


def foreign(
    desired: Iterable[Object], live: Mapping[Key, Object], service: LLMService
) -> tuple[Object, ...]:
    """What has the name of a child and belongs to somebody else."""
    found = (live.get(key(item)) for item in desired)
    return tuple(item for item in found if item is not None and not _ours(item, service))


def _ours(item: Object, service: LLMService) -> bool:
    return _controlled(item, service) or (
        item["kind"] == PVC.kind and _controller(item) is None and _labelled(item, service)
    )


def _controlled(item: Object, service: LLMService) -> bool:
    owner = _controller(item)
    return owner is not None and owner.get("uid") == service.metadata.uid


def _controller(item: Object) -> Object | None:
    owners = item["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def _labelled(item: Object, service: LLMService) -> bool:
    labels = item["metadata"].get("labels") or {}
    return (
        labels.get(SERVICE_LABEL) == service.metadata.name
        and labels.get("app.kubernetes.io/managed-by") == MANAGED_BY
    )


def _in_the_way(item: Object, wanted: Object) -> bool:
    """A binding's role can never be changed: it has to be made anew."""
    changed: bool = item.get("roleRef") != wanted.get("roleRef")
    return item["kind"] == ROLE_BINDING.kind and changed
