"""Whether the operator can work in this cluster, asked before it begins.

Each request is one that it makes later anyway, so the answer is the API server's own and names the
right that is missing. What cannot be asked for (a write) shows in conditions.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from steelyard_operator.errors import ClusterError
from steelyard_operator.plan.child.manifest import SERVICE_LABEL
from steelyard_router.kube.client import Change, Kube
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import Resource

from .watched import LABELLED, OWN

WATCH_S = 1
PATIENCE_S = 30.0
AGAIN_S = 0.5
PASSING = frozenset({0, 429, 500, 502, 503, 504})

log = logging.getLogger(__name__)

INSTALL = (
    "the API server does not know {kinds} of steelyard.io/v1alpha1: install the CRDs "
    "(`kubectl apply --server-side -f crds/`, or the chart with crds.enabled)"
)
FORBIDDEN = (
    "the operator lacks a right ({verb} {plural} {where}): {said}; "
    "give it the rights of charts/steelyard/templates/rbac_operator.yaml"
)


async def preflight(
    kube: Kube, namespaces: Sequence[str], *, patience_s: float = PATIENCE_S
) -> None:
    """Raises ClusterError that says what to do; KubeError when the server cannot be asked.

    A server that is not there yet, or not ready for kinds that it has just learned, is asked again
    for `patience_s`.
    """
    told = False
    for _ in range(int(patience_s / AGAIN_S)):
        try:
            await _check(kube, namespaces)
        except KubeError as error:
            if error.status not in PASSING:
                raise
            if not told:
                log.warning("%s; it is asked again for up to %.0f s", error, patience_s)
            told = True
            await asyncio.sleep(AGAIN_S)
        else:
            return
    await _check(kube, namespaces)


async def _check(kube: Kube, namespaces: Sequence[str]) -> None:
    served = await kube.served(OWN[0].group, OWN[0].version)
    missing = [resource.kind for resource in OWN if resource.plural not in served]
    if missing:
        raise ClusterError(INSTALL.format(kinds=" and ".join(missing)))
    places: Sequence[str | None] = namespaces or (None,)
    await asyncio.gather(
        *(_may(kube, resource, place) for resource in (*OWN, *LABELLED) for place in places)
    )


async def _may(kube: Kube, resource: Resource, namespace: str | None) -> None:
    labels = SERVICE_LABEL if resource in LABELLED else ""
    verb = "list"
    try:
        listing = await kube.list(resource, namespace, labels=labels)
        verb = "watch"
        changes = kube.watch(
            resource, namespace, version=listing.version, labels=labels, timeout_s=WATCH_S
        )
        await _first(changes)
    except KubeError as error:
        if not error.forbidden:
            raise
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        text = FORBIDDEN.format(verb=verb, plural=resource.plural, where=where, said=error.message)
        raise ClusterError(text) from error


async def _first(changes: AsyncGenerator[Change, None]) -> None:
    """Waits for the first change or the end of the watch: then it was let in."""
    async with aclosing(changes):
        async for _ in changes:
            return
