"""Whatever ends a request, its lease and its slot come back."""

import asyncio
import os
import random

import aiohttp
from support.routing import CHAT, Running, config_for, running
from support.scripted import (
    STREAM_HEAD,
    Received,
    ScriptedEngine,
    answer_ok,
    chunk,
    engines,
    event,
    plain,
)

REQUESTS = int(os.environ.get("STEELYARD_LEAK_REQUESTS", "2000"))


async def _moody(engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter) -> None:
    """Fails in every way, at random (seeded by the number of the request)."""
    rng = random.Random(len(engine.requests) * 31 + engine.port)
    match rng.randrange(8):
        case 0:
            writer.transport.abort()
        case 1:
            writer.write(plain(b"{}", status=500))
        case 2:
            writer.write(STREAM_HEAD + chunk(event("x")))
            await asyncio.sleep(0.005)
            writer.transport.abort()
        case 3:
            await asyncio.sleep(0.03)
            await answer_ok(engine, request, writer)
        case 4:
            writer.write(STREAM_HEAD)
            for _ in range(10):
                writer.write(chunk(event("x")))
                await asyncio.sleep(0.003)
            writer.write(b"0\r\n\r\n")
        case 5:
            writer.write(b"nonsense\r\n\r\n")
        case _:
            await answer_ok(engine, request, writer)


async def _one(proxy: Running, rng: random.Random, room: asyncio.Semaphore) -> None:
    body = {
        "model": "m",
        "stream": rng.random() < 0.6,
        "messages": [{"role": "user", "content": f"{rng.randrange(20)}" * rng.randrange(1, 3000)}],
    }
    async with room:
        try:
            async with asyncio.timeout(rng.choice([0.002, 0.01, 0.02, 5.0, 5.0])):
                async with proxy.client.post(proxy.url + CHAT, json=body) as response:
                    await response.read()
        except (TimeoutError, aiohttp.ClientError):
            pass


async def _kill_now_and_then(fleet: list[ScriptedEngine], rng: random.Random) -> None:
    while True:
        await asyncio.sleep(0.2)
        victim = rng.choice(fleet)
        await victim.kill()
        await asyncio.sleep(0.1)
        await victim.start()


async def test_thousands_of_requests_with_random_aborts_errors_and_kills_leave_no_lease() -> None:
    rng = random.Random(7)
    async with engines(4, behave=_moody) as fleet:
        config = config_for(
            fleet,
            breaker={"failures": 50, "open_s": 0.1, "ramp_s": 0.1},
            timeouts={"connect_s": 1, "first_byte_s": 1, "between_bytes_s": 1, "total_s": 5},
        )
        async with running(config) as proxy:
            room = asyncio.Semaphore(64)
            killer = asyncio.ensure_future(_kill_now_and_then(fleet, random.Random(8)))
            await asyncio.gather(*(_one(proxy, rng, room) for _ in range(REQUESTS)))
            killer.cancel()
            await asyncio.gather(killer, return_exceptions=True)
            await proxy.settled()

            status = await proxy.status()
            assert status["leases_held"] == 0
            assert all(view["leases"] == view["requests"] == 0 for view in status["instances"])
            assert all(
                view["queued_tokens"] == view["context_tokens"] == 0 for view in status["instances"]
            )
            assert status["totals"]["requests"] >= REQUESTS * 0.5
