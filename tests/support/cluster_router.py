"""A router of this process in a cluster that is a fake API server."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from steelyard_router.app import Router
from steelyard_router.config import Kubernetes, ObjectRef, RouterConfig
from steelyard_router.discovery.file import dump_config, load_config
from support.fake_kube import FakeKube
from support.routing import Running
from support.scripted import ScriptedEngine
from support.slices import endpoint, slice_of

NAMESPACE = "team"
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"

KUBERNETES = Kubernetes(
    namespace=NAMESPACE,
    engine_service="chat-engine",
    config_map="chat-router",
    router_service="chat-router",
    lease="chat-router",
    service=ObjectRef(name="chat", uid="uid-of-chat"),
)


def cluster_config(**sections: Any) -> RouterConfig:
    """With quick probes; `sections` as in the file."""
    return RouterConfig.model_validate(
        {
            "service": {"name": "chat"},
            "kubernetes": KUBERNETES.model_dump(exclude_unset=True),
            "listen": {"port": 0, "admin_port": 0},
            "health": {"interval_s": 0.05, "failures": 1},
            **sections,
        }
    )


def config_map(config: RouterConfig, namespace: str = NAMESPACE) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "chat-router", "namespace": namespace},
        "data": dump_config(config),
    }


def slice_for(engine: ScriptedEngine, **state: Any) -> dict[str, Any]:
    """A slice of its own, since each engine here has a port of its own."""
    return slice_of(
        f"chat-engine-{engine.name}",
        [endpoint(engine.name, engine.host, **state)],
        ports={"http": engine.port},
    )


@dataclass
class Site:
    """The API server, the mounted folder, and the router between them."""

    kube: FakeKube
    folder: Path
    proxy: Running

    def engine(self, engine: ScriptedEngine, **state: Any) -> None:
        self.kube.put(SLICES, slice_for(engine, **state))

    def engine_gone(self, engine: ScriptedEngine) -> None:
        self.kube.remove(SLICES, f"chat-engine-{engine.name}")

    def configure(self, config: RouterConfig) -> None:
        self.kube.put(CONFIG_MAPS, config_map(config))

    def mount(self, config: RouterConfig) -> None:
        write(self.folder, config)

    async def states(self) -> dict[str, str]:
        status = await self.proxy.status()
        return {instance["id"]: instance["state"] for instance in status["instances"]}

    async def until_states(self, **states: str) -> None:
        await until(self.states, lambda found: found == states)

    async def until_revision(self, config: RouterConfig) -> None:
        await until(self.proxy.status, lambda found: found["revision"] == config.revision)


async def until(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    """Asks until the answer is right; fails with the last answer."""
    answer: Any = None
    for _ in range(1000):
        answer = await ask()
        if holds(answer):
            return answer
        await asyncio.sleep(0.01)
    raise AssertionError(f"after ten seconds still: {answer}")


def write(folder: Path, config: RouterConfig) -> None:
    """As a kubelet does: whole, by one swap."""
    version = folder / f"..{random.randbytes(8).hex()}"
    version.mkdir(parents=True)
    for name, text in dump_config(config).items():
        (version / name).write_text(text)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    draft = folder / "..data_tmp"
    draft.symlink_to(version.name)
    draft.rename(folder / "..data")


@contextlib.asynccontextmanager
async def cluster_router(
    kube: FakeKube,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    config: RouterConfig | None = None,
    engines: Sequence[ScriptedEngine] = (),
    name: str = "chat-router-0",
    address: str = "127.0.0.1",
) -> AsyncIterator[Site]:
    monkeypatch.setenv("KUBECONFIG", str(kube.kubeconfig(folder)))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    mounted = folder / "steelyard"
    write(mounted, config or cluster_config())
    for engine in engines:
        kube.put(SLICES, slice_for(engine))
    router = Router(
        load_config(mounted),
        time=asyncio.get_running_loop().time,
        rng=random.Random(1),
        replica=name,
        address=address,
    )
    async with router.serving(mounted) as (port, admin_port), aiohttp.ClientSession() as client:
        url, admin = (f"http://127.0.0.1:{number}" for number in (port, admin_port))
        yield Site(kube, mounted, Running(router, url, admin, port, client))
