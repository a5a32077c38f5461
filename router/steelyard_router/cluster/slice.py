"""EndpointSlices to engines. Pure: the same slices in any order give the same engines.

A Service has as many slices as it needs: for each kind of address, for each set of ports, and for
each hundred endpoints; an endpoint may stand in several of them, for a moment even in two of one
kind. So slices are joined by the endpoint's pod: IPv4 goes before IPv6 before host names, and of
two accounts of one kind the better state is believed, since probes will tell soon.
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard_router.config import Endpoint, Kubernetes
from steelyard_router.discovery.found import Engines, Found
from steelyard_router.kube.resource import Object

ID_CHARS = 63
FAMILIES = ("IPv4", "IPv6", "FQDN")

SERVICE_LABEL = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class _Account:
    """What one slice says about one endpoint."""

    id: str
    family: int
    url: str
    serving: bool
    terminating: bool
    uid: str

    @property
    def rank(self) -> tuple[int, bool, bool, str, str]:
        """The least is believed; the last two only make it certain which."""
        return self.family, self.terminating, not self.serving, self.url, self.uid


def engines(slices: Iterable[Object], settings: Kubernetes, known: Iterable[Found] = ()) -> Engines:
    """The engines of a Service out of all of its slices. What is `known` need not be checked again:
    that costs more than all the rest.
    """
    slices = list(slices)
    made = {engine.endpoint.id: engine.endpoint for engine in known}
    best: dict[str, _Account] = {}
    for each in slices:
        for account in _accounts(each, settings.engine_port):
            other = best.get(account.id)
            if other is None or account.rank < other.rank:
                best[account.id] = account
    found = tuple(
        Found(_endpoint(account, settings, made.get(account.id)), account.serving, account.uid)
        for _, account in sorted(best.items())
        if not account.terminating
    )
    return Engines(found, _problem(slices, settings) if not best else None)


def _endpoint(account: _Account, settings: Kubernetes, known: Endpoint | None) -> Endpoint:
    if (
        known is not None
        and known.url == account.url
        and known.engine == settings.engine
        and known.models == settings.models
    ):
        return known
    return Endpoint(id=account.id, url=account.url, engine=settings.engine, models=settings.models)


def _accounts(each: Object, wanted: str | int) -> Iterator[_Account]:
    kind = each.get("addressType")
    port = _port(each, wanted)
    if kind not in FAMILIES or port is None:
        return
    for endpoint in each.get("endpoints") or ():
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            continue
        address = str(addresses[0])  # the only one that the API gives a meaning
        conditions = endpoint.get("conditions") or {}
        terminating = conditions.get("terminating") is True
        yield _Account(
            id=_id(endpoint.get("targetRef") or {}, address, port),
            family=FAMILIES.index(kind),
            url=f"http://[{address}]:{port}" if kind == "IPv6" else f"http://{address}:{port}",
            serving=_is_serving(conditions),
            terminating=terminating,
            uid=str((endpoint.get("targetRef") or {}).get("uid") or ""),
        )


def _is_serving(conditions: Mapping[str, Any]) -> bool:
    """`ready` is also true for every endpoint of a Service that publishes those that are not; then
    `serving` still tells the truth. An absent condition counts as true.
    """
    return conditions.get("ready") is not False and conditions.get("serving") is not False


def _port(each: Object, wanted: str | int) -> int | None:
    """By number, by name, or, where a slice names no ports, any number that is asked for."""
    ports = [p for p in each.get("ports") or () if p.get("protocol", "TCP") == "TCP"]
    if not ports:
        return wanted if isinstance(wanted, int) and not each.get("ports") else None
    key = "port" if isinstance(wanted, int) else "name"
    numbers = (p.get("port") for p in ports if p.get(key) == wanted)
    return next((int(number) for number in numbers if number), None)


def _id(target: Mapping[str, Any], address: str, port: int) -> str:
    """The pod's name, else address and port; in either case a short word of plain characters."""
    name = target.get("name") if target.get("kind") == "Pod" else None
    return _word(str(name)) if name else _word(f"{_spelled_out(address)}-{port}")


def _spelled_out(address: str) -> str:
    try:
        return ipaddress.ip_address(address).exploded.replace(":", "-")
    except ValueError:
        return address  # a host name


def _word(text: str) -> str:
    if len(text) <= ID_CHARS and re.fullmatch(r"[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?", text):
        return text
    head = re.sub(r"[^A-Za-z0-9]", "-", text[: ID_CHARS - 11]).strip("-")
    tail = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{head}-{tail}" if head else tail


def _problem(slices: list[Object], settings: Kubernetes) -> str | None:
    if not any(each.get("endpoints") for each in slices):
        return None
    there = {
        f"{p.get('name') or 'unnamed'} ({p.get('port')})"
        for each in slices
        for p in each.get("ports") or ()
    }
    return (
        f"Service {settings.engine_service} has endpoints, but none with port"
        f" {settings.engine_port}; its ports are: {', '.join(sorted(there)) or 'none'}"
    )
