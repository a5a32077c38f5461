"""Engines that say who got what and answer when they are told to.

So the loads that a router sees are known at every choice, and its choices are deterministic.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

REPLY = {
    "id": "held",
    "object": "text_completion",
    "created": 1,
    "model": "sim",
    "choices": [
        {
            "index": 0,
            "text": "a",
            "message": {"role": "assistant", "content": "a"},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
INFORMATION = {
    "status": "ok",
    "model_path": "sim",
    "object": "list",
    "data": [{"id": "sim", "object": "model"}],
}


URL: web.AppKey[Any] = web.AppKey("url", Any)


@dataclass
class Held:
    """Requests by the `seed` field that names them."""

    arrived: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    """The URL of the engine that got it."""
    ends: dict[str, asyncio.Event] = field(default_factory=dict)

    def expect(self, name: str) -> asyncio.Future[str]:
        self.ends[name] = asyncio.Event()
        return self.arrived.setdefault(name, asyncio.get_running_loop().create_future())


@asynccontextmanager
async def held_engines(count: int) -> AsyncIterator[tuple[Held, Sequence[str]]]:
    """As many, each on a loopback port of its own, and their URLs."""
    held, runners, urls = Held(), [], []
    try:
        for _ in range(count):
            app = web.Application(client_max_size=1 << 26)
            app[URL] = []
            runner = web.AppRunner(app)
            app.router.add_post("/v1/completions", _completion(held))
            app.router.add_post("/v1/chat/completions", _completion(held))
            app.router.add_get("/{path:.*}", _information)
            await runner.setup()
            runners.append(runner)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            app[URL].append(f"http://{host}:{port}")
            urls.extend(app[URL])
        yield held, urls
    finally:
        for runner in runners:
            await runner.cleanup()


def _completion(held: Held) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        name = str((await request.json())["seed"])
        held.arrived[name].set_result(request.app[URL][0])
        await held.ends[name].wait()
        return web.json_response(REPLY)

    return answer


async def _information(request: web.Request) -> web.Response:
    del request
    return web.json_response(INFORMATION)
