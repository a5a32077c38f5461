"""Waiting for something to become true, never without an end."""

import asyncio
import time
from collections.abc import Callable

POLL_S = 0.1


async def until(condition: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Seconds until the condition held. Fails with `what` when it did not in time.

    It is asked in a thread of its own, so that it may wait for answers.
    """
    began_s = time.monotonic()
    while not await asyncio.to_thread(condition):
        if time.monotonic() - began_s > within_s:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        await asyncio.sleep(POLL_S)
    return time.monotonic() - began_s
