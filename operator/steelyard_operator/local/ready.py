"""Whether something answers its health path yet."""

import asyncio
from collections.abc import Callable

import aiohttp

_TIMEOUT = aiohttp.ClientTimeout(total=2.0)
_INTERVAL_S = 0.1


async def healthy(http: aiohttp.ClientSession, url: str) -> bool:
    """Whether GET answers 200 within two seconds."""
    try:
        async with http.get(url, timeout=_TIMEOUT) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


async def until_healthy(
    http: aiohttp.ClientSession, url: str, *, alive: Callable[[], bool], timeout_s: float
) -> bool:
    """True once it answers; False when it died first. Raises TimeoutError after `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while alive():
            if await healthy(http, url):
                return True
            await asyncio.sleep(_INTERVAL_S)
    return False
