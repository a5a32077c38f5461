"""EndpointSlices to engines."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slices import endpoint, slice_of

from steelyard_router.cluster.slice import engines
from steelyard_router.config import EngineType, Kubernetes
from steelyard_router.discovery.found import Found

SETTINGS = Kubernetes.model_validate(
    {
        "namespace": "team",
        "engine_service": "chat-engine",
        "engine": "VLLM",
        "config_map": "chat-router",
        "router_service": "chat-router",
        "lease": "chat-router",
        "service": {"name": "chat", "uid": "1"},
    }
)


def found(*slices: dict[str, Any], port: str | int = "http") -> dict[str, Found]:
    settings = SETTINGS.model_copy(update={"engine_port": port})
    return {engine.endpoint.id: engine for engine in engines(slices, settings).found}


def test_an_engine_is_named_after_its_pod_and_carries_what_the_service_says() -> None:
    settings = SETTINGS.model_copy(update={"models": ("m",)})

    (engine,) = engines([slice_of("s", [endpoint("pod-a", "10.0.0.1")])], settings).found

    assert engine.endpoint.id == "pod-a"
    assert engine.endpoint.url == "http://10.0.0.1:8000"
    assert engine.endpoint.engine is EngineType.VLLM
    assert engine.endpoint.models == ("m",)
    assert engine.uid == "uid-pod-a"


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ({"ready": True}, True),
        ({"ready": None}, True),  # absent counts as true
        ({"ready": False}, False),
        ({"ready": True, "serving": True, "terminating": False}, True),
        ({"ready": False, "serving": False, "terminating": False}, False),
        ({"ready": True, "serving": False}, False),  # publishNotReadyAddresses
        ({"ready": False, "serving": True, "terminating": True}, None),
        ({"ready": True, "serving": True, "terminating": True}, None),
        ({"ready": False, "serving": False, "terminating": True}, None),
    ],
)
def test_what_the_conditions_mean(conditions: dict[str, Any], ready: bool | None) -> None:
    engine = found(slice_of("s", [endpoint("a", "10.0.0.1", **conditions)])).get("a")

    assert (engine and engine.ready) == ready


def test_several_slices_are_one_list_in_the_order_of_names() -> None:
    here = found(
        slice_of("s2", [endpoint("c", "10.0.0.3"), endpoint("a", "10.0.0.1")]),
        slice_of("s1", [endpoint("b", "10.0.0.2")]),
    )

    assert list(here) == ["a", "b", "c"]


def test_ipv4_goes_before_ipv6_before_host_names() -> None:
    v6 = slice_of("s6", [endpoint("a", "fd00::1"), endpoint("b", "fd00::2")], kind="IPv6")
    v4 = slice_of("s4", [endpoint("a", "10.0.0.1")])
    names = slice_of("sn", [endpoint("c", "gpu.example"), endpoint("a", "a.example")], kind="FQDN")

    urls = {name: engine.endpoint.url for name, engine in found(names, v6, v4).items()}

    assert urls == {
        "a": "http://10.0.0.1:8000",
        "b": "http://[fd00::2]:8000",
        "c": "http://gpu.example:8000",
    }


def test_of_two_accounts_of_one_pod_the_better_is_believed() -> None:
    stale = slice_of("s1", [endpoint("a", "10.0.0.1", ready=False, terminating=True)])
    fresh = slice_of("s2", [endpoint("a", "10.0.0.9")])

    assert found(stale, fresh)["a"].endpoint.url == "http://10.0.0.9:8000"
    assert found(fresh, stale) == found(stale, fresh)


@pytest.mark.parametrize(
    ("ports", "wanted", "number"),
    [
        ({"http": 8000, "metrics": 9}, "http", 8000),
        ({"http": 8000, "metrics": 9}, 9, 9),
        ({"http": 8000}, "grpc", None),
        ({"http": 8000}, 80, None),
        ({"": 8000}, 8000, 8000),
        ({}, 8000, 8000),  # a headless Service without ports
        ({}, "http", None),
    ],
)
def test_the_port_is_taken_by_name_or_by_number(
    ports: dict[str, int], wanted: str | int, number: int | None
) -> None:
    here = found(slice_of("s", [endpoint("a", "10.0.0.1")], ports=ports), port=wanted)

    assert [e.endpoint.url for e in here.values()] == (
        [f"http://10.0.0.1:{number}"] if number else []
    )


def test_ports_of_one_name_may_differ_from_slice_to_slice() -> None:
    here = found(
        slice_of("s1", [endpoint("a", "10.0.0.1")], ports={"http": 8000}),
        slice_of("s2", [endpoint("b", "10.0.0.2")], ports={"http": 9000}),
    )

    assert here["b"].endpoint.url == "http://10.0.0.2:9000"


def test_a_port_of_another_protocol_is_none() -> None:
    item = slice_of("s", [endpoint("a", "10.0.0.1")])
    item["ports"][0]["protocol"] = "UDP"

    assert not found(item)
    assert not found(item, port=8000)


def test_a_port_that_nobody_has_is_explained() -> None:
    item = slice_of("s", [endpoint("a", "10.0.0.1")], ports={"web": 8000})

    problem = engines([item], SETTINGS).problem

    assert problem == (
        "Service chat-engine has endpoints, but none with port http; its ports are: web (8000)"
    )
    assert engines([], SETTINGS).problem is None
    assert engines([slice_of("s", [])], SETTINGS).problem is None


@pytest.mark.parametrize(
    ("pod", "address", "kind", "name"),
    [
        (None, "10.0.0.1", "IPv4", "10.0.0.1-8000"),
        (None, "fd00::1", "IPv6", "fd00-0000-0000-0000-0000-0000-0000-0001-8000"),
        (None, "gpu.example", "FQDN", "gpu.example-8000"),
        ("p" * 253, "10.0.0.1", "IPv4", "p{52}-[0-9a-f]{10}"),
    ],
)
def test_an_id_is_a_short_plain_word(pod: str | None, address: str, kind: str, name: str) -> None:
    (id_,) = found(slice_of("s", [endpoint(pod, address)], kind=kind))

    assert re.fullmatch(name, id_)
    assert len(id_) <= 63


def test_two_long_names_stay_two() -> None:
    pods = ["p" * 100 + end for end in "ab"]

    assert len(found(slice_of("s", [endpoint(pod, "10.0.0.1") for pod in pods]))) == 2


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"name": "s"}},
        {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": None, "ports": None},
        slice_of("s", [{"addresses": []}]),
        slice_of("s", [{"addresses": None}]),
        slice_of("s", [endpoint("a", "10.0.0.1")], kind="Carrier pigeon"),
        slice_of("s", [endpoint("a", "10.0.0.1")]) | {"ports": [{"port": None}]},
    ],
)
def test_a_slice_without_what_is_needed_has_nobody(broken: dict[str, Any]) -> None:
    assert not found(broken)


ENDPOINTS = st.builds(
    endpoint,
    st.none() | st.sampled_from(["a", "b", "c", "d"]),
    st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    ready=st.none() | st.booleans(),
    serving=st.none() | st.booleans(),
    terminating=st.none() | st.booleans(),
    uid=st.sampled_from(["u1", "u2"]),
)


@given(st.lists(ENDPOINTS, max_size=8), st.randoms(use_true_random=False), st.integers(1, 4))
def test_how_endpoints_are_spread_over_slices_does_not_matter(
    endpoints: list[dict[str, Any]], random: Any, parts: int
) -> None:
    whole = found(slice_of("all", endpoints))
    shuffled = list(endpoints)
    random.shuffle(shuffled)
    spread = [slice_of(f"s{at}", shuffled[at::parts]) for at in range(parts)]

    assert found(*spread) == whole


@given(st.lists(ENDPOINTS, max_size=8))
def test_nobody_on_the_way_out_is_found_and_nobody_else_is_lost(
    endpoints: list[dict[str, Any]],
) -> None:
    here = found(slice_of("s", endpoints))

    staying = {
        (e.get("targetRef") or {}).get("name") or f"{e['addresses'][0]}-8000"
        for e in endpoints
        if not e["conditions"].get("terminating")
    }
    assert set(here) == staying
    for id_, engine in here.items():
        accounts = [
            e["conditions"]
            for e in endpoints
            if id_ in ((e.get("targetRef") or {}).get("name"), f"{e['addresses'][0]}-8000")
            and not e["conditions"].get("terminating")
        ]
        states = {c.get("ready", True) and c.get("serving", True) for c in accounts}
        assert engine.ready in states
