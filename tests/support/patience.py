"""Waiting for something to become true, without guessing how long it takes."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], within_s: float = 20.0) -> None:
    """Returns as soon as `condition()` is true; TimeoutError when it is not in time."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)
