"""A router that serves streams without a break while its configuration file is rewritten.

Streams of workload `load` go to a simulated engine of their own, and some of them always wait.
Requests of a test's own go to a second engine, which holds each until it is let. Both kinds are
under one policy, in one line, so what a test sees of its own happens under load.
"""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aiohttp

from steelyard_router.app import Router
from steelyard_router.discovery.file import load_config
from steelyard_router.discovery.watch import ConfigWatch
from steelyard_simulator.server.app import serve
from steelyard_simulator.server.settings import Settings
from support.holding import Holding
from support.patience import until
from support.routing import CHAT, Running
from support.scripted import engines

Tree = dict[str, Any]
CLIENTS = 4
RUN_AT_ONCE = 2
LOAD: Tree = {
    "name": "load",
    "match": {"models": ["streams"]},
    "max_sequences_per_instance": RUN_AT_ONCE,
    "queue": {"max_wait_s": 60, "on_timeout": "Promote"},
}
CACHE_TOKENS = 10_000
"""Of the engine that holds."""
LOOKS_EVERY_S = 0.02


@dataclass
class Case:
    """One change of a policy, and what is done and seen around it: `act` does what comes before it,
    gives way, and goes on when it is in force.
    """

    before: Tree
    after: Tree
    act: "Callable[[World], AbstractAsyncContextManager[None]]"


def policy(own: Tree | None = None, *others: Tree, **sections: object) -> Tree:
    """The load's workload; `w`, the default one; and `other`, or those given."""
    w = {"name": "w", "default": True, **(own or {})}
    return {"workloads": [LOAD, w, *(others or [{"name": "other"}])], **sections}


@dataclass
class World:
    """What a test may do: send, let, rewrite the file, and look."""

    running: Running
    path: Path
    holding: Holding
    served: int = 0
    """Streams of the load that have ended well;"""
    broken: list[str] = field(default_factory=list)
    """and what became of those that have not."""
    sent: dict[str, asyncio.Task[int]] = field(default_factory=dict)

    @property
    def router(self) -> Router:
        return self.running.router

    def send(
        self,
        name: str,
        *,
        words: int = 1,
        path: str = CHAT,
        headers: Tree | None = None,
        **body: Any,
    ) -> None:
        """A request with a prompt like no other's."""
        content = f"{name} " + "word " * words
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **body}
        headers = {"x-request-id": name, **(headers or {})}

        async def ask() -> int:
            url = self.running.url + path
            async with self.running.client.post(url, json=body, headers=headers) as response:
                await response.read()
                return response.status

        self.sent[name] = asyncio.create_task(ask())

    async def runs(self, name: str, **request: Any) -> None:
        """One that comes to the engine."""
        self.send(name, **request)
        await self.comes(name)

    async def waits(self, name: str, **request: Any) -> None:
        """One that has to wait."""
        before = self._waiting
        self.send(name, **request)
        await until(lambda: self._waiting > before)
        await asyncio.sleep(LOOKS_EVERY_S)
        assert self._waiting > before

    @property
    def _waiting(self) -> int:
        """Requests that wait in the router and are none of the load."""
        runtime = self.router.runtime
        line = sum(ask.request.workload != "load" for _, ask in runtime.line._pool.asks())
        return line + runtime.admission.waiting - runtime.admission.waiting_of("load")

    async def comes(self, *names: str) -> None:
        """Until the engine has them, in that order after all that it had."""
        await until(lambda: self.holding.names[-len(names) :] == list(names))

    def let(self, *names: str) -> None:
        self.holding.let(*names)

    async def ends(self, *names: str, status: int = 200) -> None:
        """Lets them go, wherever they are, and waits for their answers."""
        self.let(*names)
        async with asyncio.timeout(20):
            assert [await self.sent.pop(name) for name in names] == [status] * len(names)

    async def decided(self, name: str, **how: Any) -> Tree:
        """The decision on a request that is answered at once."""
        self.send(name, **how)
        await self.ends(name)
        return await self.decision(name)

    async def decision(self, name: str) -> Tree:
        """The decision on one that has been placed."""
        url = self.running.admin + "/debug/decisions?n=1000"
        async with self.running.client.get(url) as response:
            rows: list[Tree] = (await response.json())["decisions"]
        return next(row for row in rows if row["request_id"] == name)

    async def workload(self, name: str) -> Tree:
        """What /status says of it."""
        rows = (await self.running.status())["workloads"]
        return next((row for row in rows if row["name"] == name), {})

    async def alert(self, name: str = "a", workload: str = "load") -> Tree:
        """Likewise of an alert; nothing if there is none."""
        rows = (await self.running.status())["alerts"]
        return next(
            (row for row in rows if (row["alert"], row["workload"]) == (name, workload)), {}
        )

    async def alerts(self, state: str, name: str = "a", workload: str = "load") -> None:
        """Until the alert is in that state."""
        async with asyncio.timeout(20):
            while (await self.alert(name, workload)).get("state") != state:
                await asyncio.sleep(LOOKS_EVERY_S)

    async def rewrite(self, policy: Tree) -> None:
        """Another policy in the file, while the load runs and waits; returns when it is in force,
        and everyone of the load has been served under it.
        """
        await until(lambda: self.router.runtime.admission.running_of("load") == CLIENTS)
        whole = json.loads(self.path.read_text())
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(whole | {"policy": policy}))
        revision = load_config(fresh).revision
        assert revision != self.router.config.revision
        os.replace(fresh, self.path)  # noqa: PTH105 -- as a kubelet does it
        await until(lambda: self.router.config.revision == revision)
        status = await self.running.status()
        assert (status["revision"], status["config_error"]) == (revision, None)
        served = self.served
        await until(lambda: self.served >= served + 2 * CLIENTS or self.broken)

    async def _stream(self) -> None:
        """One client of the load, which asks again as soon as it is answered."""
        body = {
            "model": "streams",
            "messages": [{"role": "user", "content": "hello " * 10}],
            "stream": True,
            "max_tokens": 5,
        }
        while True:
            url = self.running.url + CHAT
            try:
                async with self.running.client.post(url, json=body) as response:
                    text = await response.read()
            except aiohttp.ClientError as error:
                self.broken.append(repr(error))
                continue
            if response.status == 200 and text.endswith(b"data: [DONE]\n\n"):
                self.served += 1
            else:
                self.broken.append(f"{response.status} {text[-200:]!r}")


def goes_beside(**request: Any) -> Callable[[World], AbstractAsyncContextManager[None]]:
    """A request waits for one like it, and then goes beside it."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        await live.runs("runs", **request)
        await live.waits("waits", **request)
        yield
        await live.comes("runs", "waits")

    return act


async def check(case: Case, path: Path) -> None:
    """Runs it, and nothing fails or breaks or is left over."""
    async with world(path, case.before) as live:
        async with case.act(live):
            await live.rewrite(case.after)
        await live.ends(*live.sent)
        assert live.broken == []


@asynccontextmanager
async def world(path: Path, policy: Tree) -> AsyncIterator[World]:
    holding = Holding()
    async with (
        engines(1, holding.answer) as (engine,),
        serve(Settings(model="streams", speed=4)) as streams,
    ):
        _write(path, policy, engine.url, streams.url)
        loop = asyncio.get_running_loop()
        router = Router(load_config(path), time=loop.time, rng=random.Random(1))
        with (
            patch("steelyard_router.app.ConfigWatch", partial(ConfigWatch, interval_s=0.02)),
            patch("steelyard_router.alerts.watch.TICK_S", 0.05),
        ):
            async with router.serving(path) as ports, aiohttp.ClientSession() as client:
                port, admin = (f"http://127.0.0.1:{number}" for number in ports)
                live = World(Running(router, port, admin, ports[0], client), path, holding)
                clients = [asyncio.create_task(live._stream()) for _ in range(CLIENTS)]
                try:
                    yield live
                finally:
                    await _end(clients)
                await live.running.settled()


async def _end(clients: Sequence[asyncio.Task[None]]) -> None:
    for client in clients:
        client.cancel()
    ended = await asyncio.gather(*clients, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in ended)


def _write(path: Path, policy: Tree, holding: str, streams: str) -> None:
    endpoints: list[Tree] = [
        {"id": "holding", "url": holding, "models": ["m", "n"], "cache_tokens": CACHE_TOKENS},
        {"id": "streams", "url": streams, "models": ["streams"], "engine": "Simulator"},
    ]
    whole = {
        "service": {"endpoints": endpoints},
        "listen": {"port": 0, "admin_port": 0},
        "debug": {"decisions": 1000},
        "policy": policy,
    }
    path.write_text(json.dumps(whole))
