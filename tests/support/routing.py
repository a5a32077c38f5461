"""A router in this process, on ports of its own, in front of given engines."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from steelyard_router.app import Router
from steelyard_router.config import RouterConfig
from support.scripted import ScriptedEngine

CHAT = "/v1/chat/completions"


@dataclass
class Running:
    """A router that serves, and a client for it."""

    router: Router
    url: str
    admin: str
    port: int
    client: aiohttp.ClientSession

    async def chat(self, content: str = "hello", **more: Any) -> tuple[int, bytes]:
        """Status and body of one chat request."""
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
        async with self.client.post(self.url + CHAT, json=body) as response:
            return response.status, await response.read()

    async def status(self) -> dict[str, Any]:
        async with self.client.get(self.admin + "/status") as response:
            found: dict[str, Any] = await response.json()
            return found

    async def settled(self) -> None:
        """Waits until nothing runs; fails when a lease or an admission slot is left over."""
        scheduler, admission = self.router.runtime.scheduler, self.router.runtime.admission
        for _ in range(200):
            if (
                scheduler.leases_held == 0
                and admission.running == 0
                and not self.router.runtime.attempts
            ):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(
            f"{scheduler.leases_held} leases, {admission.running} slots are left over"
        )


def config_for(engines: Iterable[ScriptedEngine], **sections: Mapping[str, Any]) -> RouterConfig:
    """Configuration with these endpoints; the other sections as given."""
    endpoints = [{"id": engine.name, "url": engine.url} for engine in engines]
    service = {"endpoints": endpoints, **sections.pop("service", {})}
    listen = {"port": 0, "admin_port": 0}
    return RouterConfig.model_validate({"service": service, "listen": listen, **sections})


@contextlib.asynccontextmanager
async def running(config: RouterConfig) -> AsyncIterator[Running]:
    loop = asyncio.get_running_loop()
    router = Router(config, time=loop.time, rng=random.Random(1))
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        router.serving() as (port, admin_port),
        aiohttp.ClientSession(connector=connector) as client,
    ):
        yield Running(
            router, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{admin_port}", port, client
        )
