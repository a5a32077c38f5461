"""One small GET of an engine's side paths, bounded in time and size. No answer is no exception."""

import asyncio
from typing import NamedTuple

import aiohttp

MAX_BYTES = 8 * 1024 * 1024
"""No health, models or metrics answer is longer; one that is longer counts as none."""


class Answer(NamedTuple):
    """What came back, read to its end."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


async def fetch(session: aiohttp.ClientSession, url: str, *, timeout_s: float) -> Answer | None:
    """GET the URL; None when no whole answer came within the time, whatever the reason."""
    try:
        async with asyncio.timeout(timeout_s), session.get(url, allow_redirects=False) as response:
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MAX_BYTES:
                    return None
            return Answer(response.status, bytes(body))
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
