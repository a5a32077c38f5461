from typing import Any

from steelyard_router.cluster.replica import Replica, replicas


def part(*endpoints: dict[str, Any], family: str = "IPv4") -> dict[str, Any]:
    return {"addressType": family, "endpoints": list(endpoints)}


def endpoint(address: str, pod: str | None = None, **conditions: bool | None) -> dict[str, Any]:
    found: dict[str, Any] = {"addresses": [address], "conditions": conditions}
    if pod is not None:
        found["targetRef"] = {"kind": "Pod", "name": pod}
    return found


def test_replicas_come_with_or_without_readiness_but_not_terminating() -> None:
    found = replicas(
        [
            part(
                endpoint("10.0.0.1", "a", ready=True),
                endpoint("10.0.0.2", "b", ready=False),
                endpoint("10.0.0.3", "c", ready=False, terminating=True),
            ),
            part(endpoint("10.0.0.4", "d")),
        ]
    )

    assert found == (
        Replica("a", "10.0.0.1", ready=True),
        Replica("b", "10.0.0.2", ready=False),
        Replica("d", "10.0.0.4", ready=True),
    )


def test_a_pod_of_two_families_is_one_replica() -> None:
    slices = [part(endpoint("fd00::1", "a"), family="IPv6"), part(endpoint("10.0.0.1", "a"))]

    assert replicas(slices) == (Replica("a", "10.0.0.1", ready=True),)
    assert replicas(slices[:1]) == (Replica("a", "[fd00::1]", ready=True),)


def test_what_has_no_pod_goes_by_its_address_and_what_has_none_is_left_out() -> None:
    slices = [
        part(endpoint("10.0.0.1"), {"addresses": None}, {}),
        part(endpoint("router.example", "x"), family="FQDN"),
        {"addressType": "IPv4", "endpoints": None},
    ]

    assert replicas(slices) == (Replica("10.0.0.1", "10.0.0.1", ready=True),)
