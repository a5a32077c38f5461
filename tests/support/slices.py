"""EndpointSlices by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]


def endpoint(
    pod: str | None,
    address: str,
    *,
    ready: bool | None = True,
    serving: bool | None = None,
    terminating: bool | None = None,
    uid: str = "",
) -> Object:
    said = {"ready": ready, "serving": serving, "terminating": terminating}
    made: Object = {
        "addresses": [address],
        "conditions": {key: value for key, value in said.items() if value is not None},
    }
    if pod is not None:
        made["targetRef"] = {"kind": "Pod", "name": pod, "uid": uid or f"uid-{pod}"}
    return made


def slice_of(
    name: str,
    endpoints: Sequence[Object],
    *,
    service: str = "chat-engine",
    namespace: str = "team",
    kind: str = "IPv4",
    ports: Mapping[str, int] | None = None,
) -> Object:
    ports = {"http": 8000} if ports is None else ports
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": kind,
        "endpoints": list(endpoints),
        "ports": [
            {"name": port, "port": number, "protocol": "TCP"} for port, number in ports.items()
        ],
    }
