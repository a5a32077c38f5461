"""The replicas of this router, as the EndpointSlices of its own Service list them."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard_router.kube.resource import Object


@dataclass(frozen=True, slots=True)
class Replica:
    """One pod. `ready`: clients' requests may reach it."""

    name: str
    host: str
    ready: bool


def replicas(slices: Iterable[Object]) -> tuple[Replica, ...]:
    """Ready or not, but not those that terminate: what they measured is known, and they get
    nothing new. A pod with addresses of both families is one replica.
    """
    found: dict[str, Replica] = {}
    for part in sorted(slices, key=lambda part: str(part.get("addressType"))):  # IPv4 first
        if part.get("addressType") not in {"IPv4", "IPv6"}:
            continue
        for endpoint in part.get("endpoints") or ():
            replica = _replica(endpoint)
            if replica is not None:
                found.setdefault(replica.name, replica)
    return tuple(found[name] for name in sorted(found))


def _replica(endpoint: Object) -> Replica | None:
    conditions = endpoint.get("conditions") or {}
    addresses = endpoint.get("addresses") or ()
    if conditions.get("terminating") or not addresses:
        return None
    host = str(addresses[0])
    name = str((endpoint.get("targetRef") or {}).get("name") or host)
    return Replica(name, f"[{host}]" if ":" in host else host, conditions.get("ready") is not False)
