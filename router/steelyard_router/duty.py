"""What a process does again and again beside its requests: loops that never end by themselves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

Duty = Callable[[], Awaitable[None]]

RESTART_S = 1.0
"""Before a duty that broke begins again."""

log = logging.getLogger("steelyard.router")


async def kept(duty: Duty) -> None:
    """Runs a duty until it is cancelled, and begins it again should it break."""
    while True:
        try:
            await duty()
        except Exception:  # a supervisor: one strange answer must not end a duty for good
            log.exception("a duty broke; it begins again")
        await asyncio.sleep(RESTART_S)
