"""A router process against a real API server: engines by EndpointSlices, edits by the ConfigMap."""

import asyncio
import contextlib
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.api_server import ApiServer
from support.cluster_router import cluster_config, config_map, slice_for, until, write
from support.process import ENTRY, free_port
from support.scripted import ScriptedEngine, engines

from steelyard_router.config import RouterConfig
from steelyard_router.kube.client import Kube
from steelyard_router.kube.resource import CONFIG_MAP, ENDPOINT_SLICE

MANAGER = "steelyard-test"
EDITS = 20
BAR_S = 5.0
"""The p95 of an edit's way into force."""


def own_address() -> str:
    """Of this machine: a slice may not hold a loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # sends nothing; it only finds the way out
        except OSError:
            pytest.skip("this machine has no address but loopback, which no slice may hold")
        address: str = sock.getsockname()[0]
        return address


class Place:
    """One namespace, and the router process that serves in it."""

    def __init__(
        self, kube: Kube, namespace: str, admin: str, client: aiohttp.ClientSession
    ) -> None:
        self.kube = kube
        self.namespace = namespace
        self._admin = admin
        self._client = client

    async def engine(self, engine: ScriptedEngine, **state: Any) -> None:
        item = slice_for(engine, **state)
        item["metadata"]["namespace"] = self.namespace
        await self.kube.apply(item, manager=MANAGER)

    async def engine_gone(self, engine: ScriptedEngine) -> None:
        await self.kube.delete(ENDPOINT_SLICE, self.namespace, f"chat-engine-{engine.name}")

    async def configure(self, config: RouterConfig) -> None:
        await self.kube.apply(config_map(config, self.namespace), manager=MANAGER)

    async def status(self) -> dict[str, Any]:
        with contextlib.suppress(aiohttp.ClientConnectionError):
            async with self._client.get(f"{self._admin}/status") as response:
                found: dict[str, Any] = await response.json()
                return found
        return {}

    async def until_states(self, **states: str) -> None:
        def holds(found: dict[str, Any]) -> bool:
            return states == {each["id"]: each["state"] for each in found.get("instances", ())}

        await until(self.status, holds)

    async def until_revision(self, config: RouterConfig) -> None:
        await until(self.status, lambda found: found.get("revision") == config.revision)


class Settings:
    """The configurations of one router: the same but for the policy."""

    def __init__(self, namespace: str) -> None:
        place = cluster_config().kubernetes
        assert place is not None
        self._kubernetes = place.model_copy(update={"namespace": namespace}).model_dump(
            exclude_unset=True
        )
        self._listen = {"port": free_port(), "admin_port": free_port()}
        self.admin = f"http://127.0.0.1:{self._listen['admin_port']}"

    def policy(self, ttft_ms: int) -> RouterConfig:
        workloads = [{"name": "chat", "default": True, "slo": {"ttft_ms": ttft_ms}}]
        return cluster_config(
            kubernetes=self._kubernetes, listen=self._listen, policy={"workloads": workloads}
        )


@contextlib.asynccontextmanager
async def placed(
    server: ApiServer, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    """The router starts with its files mounted; the ConfigMap is there before."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    monkeypatch.setenv("POD_NAME", "chat-router-0")
    write(folder / "steelyard", settings.policy(1))
    kube = await Kube.connect(kubeconfig=str(server.kubeconfig), user_agent=MANAGER)
    async with kube, aiohttp.ClientSession() as client:
        place = Place(kube, server.namespace, settings.admin, client)
        await place.configure(settings.policy(1))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ENTRY, "router", "--config", str(folder / "steelyard")
        )
        try:
            await until(place.status, bool)
            yield place
        finally:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 15) == 0


@pytest.fixture
def settings(api_server: ApiServer) -> Settings:
    return Settings(api_server.namespace)


async def test_engines_come_and_go_with_the_endpoint_slices(
    api_server: ApiServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(2, host=own_address()) as (one, two),
        placed(api_server, settings, tmp_path, monkeypatch) as place,
    ):
        await place.engine(one)
        await place.until_states(e0="ready")
        await place.engine(two, ready=False, serving=False)
        await place.until_states(e0="ready", e1="not_ready")
        await place.engine(two)
        await place.until_states(e0="ready", e1="ready")
        await place.engine(one, ready=False, serving=True, terminating=True)
        await place.until_states(e1="ready")
        await place.engine(two, ready=False, serving=False)
        await place.until_states(e1="last_resort")
        await place.engine_gone(one)
        await place.engine_gone(two)
        await place.until_states()

        assert (await place.status())["replica"] == "chat-router-0"


async def test_an_edit_of_the_policy_is_in_force_within_seconds(
    api_server: ApiServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with placed(api_server, settings, tmp_path, monkeypatch) as place:
        took_s = []
        for number in range(EDITS):
            edited = settings.policy(1000 + number)
            began = time.monotonic()
            await place.configure(edited)
            await place.until_revision(edited)
            took_s.append(time.monotonic() - began)

    p95_s = statistics.quantiles(took_s, n=20)[18]
    print(f"{EDITS} edits: median {statistics.median(took_s):.3f} s, p95 {p95_s:.3f} s")  # noqa: T201
    assert p95_s < BAR_S


async def test_a_bad_configuration_is_refused_and_told_until_it_is_repaired(
    api_server: ApiServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with placed(api_server, settings, tmp_path, monkeypatch) as place:
        good = settings.policy(7)
        await place.configure(good)
        await place.until_revision(good)
        patch = {"data": {"policy.yaml": "policy:\n  workloads: []\n"}}
        await place.kube.merge(CONFIG_MAP, place.namespace, "chat-router", patch)

        found = await until(place.status, lambda found: found.get("config_error"))
        assert "policy.yaml:1: policy: exactly one workload must have" in found["config_error"]
        assert found["revision"] == good.revision

        async def told() -> str:
            return await asyncio.to_thread(
                api_server.kubectl, "get", "events", "-o=jsonpath={.items[*].reason}"
            )

        await until(told, lambda reasons: "ConfigReloadFailed" in reasons)
        await place.configure(good)
        await until(place.status, lambda found: found.get("config_error") is None)
