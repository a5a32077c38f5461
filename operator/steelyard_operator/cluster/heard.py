"""What an event of a watch says, cut down to what decides whose turn it is.

The objects themselves are not passed on: a reconcile reads them anew, so that it never works on
something that was true a while ago.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from steelyard_operator.plan.child.manifest import COMPONENT_LABEL, SERVICE_LABEL


class Heard(NamedTuple):
    """One event."""

    kind: str
    namespace: str
    name: str
    deleted: bool
    wish: str
    """Equal in two events of an object between which at most its status changed."""
    service: str | None
    """Of a child: the LLMService that it is labelled with."""
    component: str | None
    targets: tuple[str, ...]
    """Of a policy: the services that it names."""


def heard(change: str | None, body: Mapping[str, Any]) -> Heard:
    """`change` as watches have it; None for an object of a first listing."""
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    return Heard(
        kind=body["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        deleted=change == "DELETED",
        wish=f"{metadata.get('uid')}/{metadata.get('generation')}/"
        f"{metadata.get('deletionTimestamp')}/{labels}/{metadata.get('annotations')}",
        service=labels.get(SERVICE_LABEL),
        component=labels.get(COMPONENT_LABEL),
        targets=targets(body) if body["kind"] == "SLOPolicy" else (),
    )


def targets(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """The services that a policy names; read without a model, so that an invalid one counts."""
    refs = (policy.get("spec") or {}).get("targetRefs") or ()
    return tuple(ref["name"] for ref in refs if "name" in ref)
