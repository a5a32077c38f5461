"""Reads what a reconcile decides on, fresh from the API server and all at once.

Children are found by our label; a child that is wanted and was not found is asked for by name as
well, because it may have lost its label, or somebody else may own the name.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard_operator.plan.child.manifest import COMPONENT_LABEL, SERVICE_LABEL
from steelyard_operator.plan.child.name import ROUTER
from steelyard_router.kube.client import Kube
from steelyard_router.kube.resource import (
    CONFIG_MAP,
    EVENT,
    LLM_SERVICE,
    POD,
    SLO_POLICY,
    Object,
    Resource,
    of,
)

from .apply import ChildKey
from .key import child_key
from .watched import CHILDREN

EVENTS_ASKED = 4
"""Pods of one service whose Events are read in one reconcile."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is there of one service, and of the policies around it."""

    children: Mapping[ChildKey, Object]
    pods: Mapping[str, tuple[Object, ...]]
    """By component."""
    policies: tuple[Object, ...]


async def scene(kube: Kube, namespace: str, service: str) -> Scene:
    label = f"{SERVICE_LABEL}={service}"
    policies, pods, *children = await asyncio.gather(
        kube.list(SLO_POLICY, namespace),
        kube.list(POD, namespace, labels=label),
        *(kube.list(resource, namespace, labels=label) for resource in CHILDREN),
    )
    return Scene(
        children={child_key(item): item for listing in children for item in listing.items},
        pods=by_component(pods.items),
        policies=policies.items,
    )


async def unlabelled(
    kube: Kube, wanted: Sequence[Object], known: Mapping[ChildKey, Object]
) -> dict[ChildKey, Object]:
    """Of the wanted children that are not known, those that are there all the same."""
    missing = [item for item in wanted if child_key(item) not in known]
    found = await asyncio.gather(
        *(
            kube.get(of(item), item["metadata"]["namespace"], item["metadata"]["name"])
            for item in missing
        )
    )
    return {child_key(item): item for item in found if item is not None}


@dataclass(frozen=True, slots=True)
class Routers:
    """What is there of the routers of one service."""

    config_map: Object | None
    pods: tuple[Object, ...]


async def routers(kube: Kube, namespace: str, services: Iterable[str]) -> dict[str, Routers]:
    """Of each service by name."""
    names = sorted(set(services))
    if not names:
        return {}
    label = f"{COMPONENT_LABEL}={ROUTER},{SERVICE_LABEL} in ({','.join(names)})"
    maps, pods = await asyncio.gather(
        kube.list(CONFIG_MAP, namespace, labels=label), kube.list(POD, namespace, labels=label)
    )
    return {
        name: Routers(
            next((item for item in maps.items if _service(item) == name), None),
            tuple(pod for pod in pods.items if _service(pod) == name),
        )
        for name in names
    }


async def pod_events(
    kube: Kube, pods: Iterable[Object], names: Iterable[str]
) -> dict[str, tuple[Object, ...]]:
    """Kubernetes' own Events on some pods."""
    asked = [pod for pod in pods if pod["metadata"]["name"] in set(names)][:EVENTS_ASKED]
    listings = await asyncio.gather(
        *(
            kube.list(
                EVENT,
                pod["metadata"]["namespace"],
                fields=f"involvedObject.uid={pod['metadata']['uid']}",
            )
            for pod in asked
        )
    )
    return {
        pod["metadata"]["name"]: listing.items for pod, listing in zip(asked, listings, strict=True)
    }


async def namespace_objects(
    kube: Kube, namespace: str | None
) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """All services and all policies of a namespace (None: of all)."""
    services, policies = await asyncio.gather(
        kube.list(LLM_SERVICE, namespace), kube.list(SLO_POLICY, namespace)
    )
    return services.items, policies.items


def by_component(items: Iterable[Object]) -> dict[str, tuple[Object, ...]]:
    found: dict[str, list[Object]] = {}
    for item in items:
        found.setdefault(_labels(item).get(COMPONENT_LABEL, ""), []).append(item)
    return {component: tuple(members) for component, members in found.items()}


def only(children: Mapping[ChildKey, Object], resource: Resource) -> dict[str, Object]:
    """The one child of a kind, by component: each component has at most one of a kind."""
    return {
        _labels(item).get(COMPONENT_LABEL, ""): item
        for (kind, _), item in children.items()
        if kind == resource.kind
    }


def _service(item: Object) -> str | None:
    return _labels(item).get(SERVICE_LABEL)


def _labels(item: Object) -> Mapping[str, str]:
    return item["metadata"].get("labels") or {}
