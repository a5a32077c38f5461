"""Figures of a service that two routers serve: at the one that holds the Lease, over both."""

import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.cluster_router import SLICES, Site, cluster_config, cluster_router, until
from support.fake_kube import FakeKube, fake_kube
from support.scripted import ScriptedEngine, engines
from support.slices import endpoint, slice_of

POLICY = {
    "workloads": [
        {"name": "chat", "default": True, "slo": {"e2e_ms": 600_000, "attainment_percent": 95}}
    ]
}
NAMES = {"chat-router-0": "127.0.0.1", "chat-router-1": "127.0.0.2"}


def free_port() -> int:
    """On every loopback address: replicas share the number of their admin port."""
    with socket.socket() as probe:
        probe.bind(("0.0.0.0", 0))
        return int(probe.getsockname()[1])


def serving_alone(name: str, kube: FakeKube, folder: Path, patch: Any, **given: Any) -> Any:
    config = cluster_config(policy=POLICY, listen=given.pop("listen"))
    (folder / name).mkdir()
    return cluster_router(
        kube, folder / name, patch, config=config, name=name, address=NAMES[name], **given
    )


@contextlib.asynccontextmanager
async def two_routers(
    kube: FakeKube, folder: Path, patch: pytest.MonkeyPatch, engine: ScriptedEngine
) -> AsyncIterator[tuple[Site, Site]]:
    """The first to come holds the Lease."""
    admin_port = free_port()

    def router(name: str) -> Any:
        listen = {"port": 0, "admin_port": admin_port, "admin_host": NAMES[name]}
        return serving_alone(name, kube, folder, patch, listen=listen, engines=[engine])

    listed = [endpoint(name, address) for name, address in NAMES.items()]
    first, second = NAMES
    async with router(first) as one:
        await until(one.proxy.status, lambda found: found["holder"])
        async with router(second) as two:
            await two.until_states(e0="ready")
            kube.put(SLICES, slice_of("chat-router", listed, service="chat-router"))
            yield _at(one, NAMES[first], admin_port), _at(two, NAMES[second], admin_port)


def _at(site: Site, address: str, admin_port: int) -> Site:
    site.proxy.admin = f"http://{address}:{admin_port}"
    return site


async def test_the_holder_tells_what_both_have_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has served all well and the other nothing: neither says how the service does."""
    async with (
        engines(1) as (engine,),
        fake_kube() as kube,
        two_routers(kube, tmp_path, monkeypatch, engine) as (holder, other),
    ):
        for _ in range(6):
            assert (await holder.proxy.chat("short"))[0] == 200
        engine.behave = broken
        for _ in range(2):
            assert (await other.proxy.chat("a much longer prompt " * 200))[0] >= 500
        # What has ended is counted a moment later.
        alone = [
            await until(site.proxy.status, partial(has_counted, requests))
            for site, requests in ((holder, 6), (other, 2))
        ]
        told = await until(
            holder.proxy.status, lambda found: count(found) == sum(map(own_count, alone))
        )

    assert [own(found)["attainment_percent"] for found in alone] == [100.0, 0.0]
    assert told["service"]["replicas"] == 2
    (chat,) = told["service"]["workloads"]
    assert (chat["name"], chat["attainment_percent"]) == ("chat", 75.0)
    assert chat["attainment_target_percent"] == 95
    assert chat["score"]["p95"] == max(own(found)["score"]["p95"] for found in alone)
    assert own(told)["score"]["p95"] < chat["score"]["p95"]
    assert alone[1]["service"] is None
    assert not alone[1]["holder"]


async def broken(_: ScriptedEngine, __: Any, writer: Any) -> None:
    writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")


def own(status: Any) -> Any:
    (chat,) = status["workloads"]
    return chat


def own_count(status: Any) -> int:
    return int(own(status)["score"]["count"])


def has_counted(requests: int, status: Any) -> bool:
    return own_count(status) == requests


def count(status: Any) -> int:
    """Requests that the holder knows of; 0 before it has added up."""
    if status["service"] is None:
        return 0
    return int(status["service"]["workloads"][0]["score"]["count"])
