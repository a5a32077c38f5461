"""One server as a process of its own: runs until SIGTERM or SIGINT, then drains."""

import asyncio
import signal
from collections.abc import Callable

import uvloop

from steelyard_simulator.server.app import serve
from steelyard_simulator.server.settings import Settings


def run(settings: Settings, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Blocks until the server has ended; `announce` gets its URL once it listens."""
    uvloop.run(_run(settings, host, port, announce))


async def _run(settings: Settings, host: str, port: int, announce: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with serve(settings, host=host, port=port) as server:
        announce(server.url)
        await stop.wait()
        await server.drain()
