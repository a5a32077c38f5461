"""The operator at work on a real API server, in the test's own process."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

from steelyard_operator.cluster.controller import Controller, Options
from steelyard_operator.cluster.metric import Metrics
from steelyard_operator.cluster.report import Ask
from steelyard_operator.cluster.watched import CHILDREN
from steelyard_operator.plan.child import Settings
from steelyard_operator.plan.status import RouterReport
from steelyard_router.kube.client import Kube
from steelyard_router.kube.resource import (
    CONFIG_MAP,
    EVENT,
    LLM_SERVICE,
    SLO_POLICY,
    Object,
    Resource,
)
from support.api_server import ApiServer

AGENT = "steelyard-operator"
SETTINGS = Settings(image="steelyard:test")


class Place:
    """One namespace, as a user with kubectl sees it."""

    def __init__(self, kube: Kube, server: ApiServer) -> None:
        self.kube = kube
        self.namespace = server.namespace
        self.audit = server.audit

    async def service(self, name: str, **spec: Any) -> Object:
        spec = {"engine": {"type": "Simulator"}, **spec}
        return await self.put(LLM_SERVICE, name, spec=spec)

    async def policy(self, name: str, *targets: str, ttft_ms: int = 500) -> Object:
        refs = [{"group": "steelyard.io", "kind": "LLMService", "name": name} for name in targets]
        workload = {"name": "any", "default": True, "slo": {"ttftMilliseconds": ttft_ms}}
        return await self.put(SLO_POLICY, name, spec={"targetRefs": refs, "workloads": [workload]})

    async def put(self, resource: Resource, name: str, **body: Any) -> Object:
        metadata = {"name": name, "namespace": self.namespace, **body.pop("metadata", {})}
        head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        return await self.kube.apply(head | body, manager="user")

    async def get(self, resource: Resource, name: str) -> Object | None:
        return await self.kube.get(resource, self.namespace, name)

    async def children(self, service: str) -> dict[tuple[str, str], Object]:
        label = f"steelyard.io/service={service}"
        listings = [
            await self.kube.list(resource, self.namespace, labels=label) for resource in CHILDREN
        ]
        return {
            (item["kind"], item["metadata"]["name"]): item
            for listing in listings
            for item in listing.items
        }

    async def condition(self, resource: Resource, name: str, kind: str) -> Mapping[str, Any]:
        """The condition of this type; empty when there is none (yet)."""
        body = await self.get(resource, name) or {}
        rows = (body.get("status") or {}).get("conditions") or ()
        return next((row for row in rows if row["type"] == kind), {})

    async def events(self, reason: str) -> list[Object]:
        listing = await self.kube.list(EVENT, self.namespace, fields=f"reason={reason}")
        return [item for item in listing.items if item["source"].get("component") == AGENT]

    async def told(self, service: str) -> str:
        """The policy part of the routers' configuration."""
        found = await self.get(CONFIG_MAP, f"{service}-router")
        return str(found["data"]["policy.yaml"]) if found else ""

    def writes(self, mark: int) -> list[str]:
        """What the operator wrote in this namespace since `mark`, by the audit log."""
        return [
            f"{entry.verb} {entry.resource}/{entry.subresource} {entry.name} {entry.code}"
            for entry in self.audit.writes(mark)
            if entry.namespace == self.namespace and AGENT in entry.agent
        ]


@contextlib.asynccontextmanager
async def place(server: ApiServer) -> AsyncIterator[Place]:
    kube = await Kube.connect(kubeconfig=str(server.kubeconfig), user_agent="a-user")
    async with kube:
        yield Place(kube, server)


@contextlib.asynccontextmanager
async def operator(
    server: ApiServer,
    *,
    resync_s: float = 600.0,
    ask: Ask | None = None,
    everywhere: bool = False,
    settings: Settings = SETTINGS,
) -> AsyncIterator[Controller]:
    """Works in the test's namespace, or in all, until the block ends."""
    options = Options(
        settings=settings,
        namespaces=() if everywhere else (server.namespace,),
        kubeconfig=str(server.kubeconfig),
        host="127.0.0.1",
        port=0,
        resync_s=resync_s,
        instance="test",
    )
    stop = asyncio.Event()
    kube = await Kube.connect(kubeconfig=str(server.kubeconfig), user_agent=AGENT)
    async with kube:
        controller = Controller(kube, options, rng=random.Random(1), ask=ask or nobody)
        running = asyncio.create_task(controller.run(stop))
        started = asyncio.create_task(controller.started.wait())
        await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        try:
            if running.done():
                running.result()
            yield controller
        finally:
            stop.set()
            await running


def sample(metrics: Metrics, name: str, **labels: str) -> float:
    """One value; 0 if it was never counted."""
    return metrics.registry.get_sample_value(f"steelyard_operator_{name}", labels) or 0.0


async def nobody(_: Iterable[Object]) -> tuple[RouterReport, ...]:
    """No router runs where no node is."""
    return ()


async def eventually(holds: Callable[[], Awaitable[object]], within_s: float = 20.0) -> float:
    """Seconds until `holds` came true; TimeoutError when it did not in time."""
    began = time.monotonic()
    async with asyncio.timeout(within_s):
        while not await holds():
            await asyncio.sleep(0.02)
    return time.monotonic() - began
