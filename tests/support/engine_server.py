"""A simulated engine behind HTTP, in this process, and the ways tests talk to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import openai

from steelyard_simulator.server.app import EngineServer, serve
from steelyard_simulator.server.settings import Settings

FAST = Settings(model="tiny", speed=200.0)
SLOW = Settings(model="tiny", speed=1.0, drain_s=5.0)
CHAT: dict[str, Any] = {"model": "tiny", "messages": [{"role": "user", "content": "hello " * 40}]}
WAIT_S = 5.0


@asynccontextmanager
async def engine(
    settings: Settings = FAST,
) -> AsyncIterator[tuple[EngineServer, aiohttp.ClientSession]]:
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        serve(settings) as server,
        aiohttp.ClientSession(server.url, timeout=timeout) as client,
    ):
        yield server, client


@asynccontextmanager
async def openai_client(server: EngineServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key="none", max_retries=0
    ) as client:
        yield client


async def post(client: aiohttp.ClientSession, path: str, body: object) -> tuple[int, Any]:
    async with client.post(path, json=body) as response:
        return response.status, await response.json()


async def events(client: aiohttp.ClientSession, path: str, body: object) -> list[str]:
    """The data fields of a whole event stream."""
    async with client.post(path, json=body) as response:
        assert response.status == 200
        text = (await response.read()).decode()
    return [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]


async def configure(client: aiohttp.ClientSession, **change: object) -> None:
    status, answer = await post(client, "/admin/config", change)
    assert status == 200, answer


async def until_idle(server: EngineServer) -> None:
    async with asyncio.timeout(WAIT_S):
        while server.engine.running or server.engine.waiting or server.backend.active:
            await asyncio.sleep(0.005)


async def until_running(server: EngineServer, count: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while server.engine.running < count:
            await asyncio.sleep(0.005)
