"""The process around a router: signals end it, after a drain; garbage collection is made rare."""

import asyncio
import gc
import logging
import signal
from pathlib import Path

from steelyard_router.app import Router

GC_YOUNG = 20_000
"""Allocations between collections of the youngest generation: requests make few cycles."""

log = logging.getLogger("steelyard.router")


async def run(router: Router, path: Path) -> None:
    """Serves until SIGTERM or SIGINT, then drains."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with router.serving(path) as ports:
        log.info("serving on port %d, admin on port %d", *ports)
        gc.collect()
        gc.freeze()
        gc.set_threshold(GC_YOUNG, 20, 50)
        await stop.wait()
        grace_s = router.config.drain.grace_s
        running = router.runtime.admission.running
        log.info("draining: %d requests run, grace %g s", running, grace_s)
        cut_off = await router.server.drain(grace_s)
        log.info("drained; %d connections were cut off", cut_off)
