"""Reads what the other replicas have measured, all at once, every READ_S.

A replica whose numbers mean something else (another policy is in force there) counts as out of
reach: merge.py says what that does.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

import aiohttp
import orjson

from steelyard_router.alerts.exchange import Measured
from steelyard_router.cluster.merge import Merged, Others
from steelyard_router.cluster.replica import Replica

READ_S = 2.0
TIMEOUT_S = 1.5
MAX_BYTES = 16 * 1024 * 1024

Ask = Callable[[str], Awaitable[Measured]]
"""Asks the replica whose admin port is at that URL. OSError, TimeoutError or ValueError: it told
nothing of use.
"""

log = logging.getLogger(__name__)


async def ask_over_http(url: str) -> Measured:
    """Its /histograms, within TIMEOUT_S and MAX_BYTES."""
    limits = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=limits) as session,
            session.get(f"{url}/histograms") as response,
        ):
            response.raise_for_status()
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ValueError(f"more than {MAX_BYTES} bytes")
    except aiohttp.ClientError as error:
        raise OSError(str(error)) from error
    return Measured.from_dict(orjson.loads(body))


class Peers:
    """`replicas` gives the newest list of all replicas, this one (`name`, `host`) among them."""

    def __init__(
        self,
        replicas: Callable[[], Iterable[Replica]],
        *,
        name: str,
        host: str | None,
        port: int,
        clock: Callable[[], float],
        ask: Ask = ask_over_http,
    ) -> None:
        self._replicas = replicas
        self._name = name
        self._host = host
        self._port = port
        self._clock = clock
        self._ask = ask
        self._others = Others()
        self._read_at: float | None = None
        self._silent: set[str] = set()

    def forget(self) -> None:
        """Somebody else reads from now on."""
        self._others, self._read_at = Others(), None

    async def merged(self, measured: Callable[[float], Measured], *, keep_s: float) -> Merged:
        """All replicas' measurements, the others' at most READ_S old where they can be reached.

        `keep_s`: for how long measurements of a replica that has gone can be of use.
        """
        now = self._clock()
        if self._read_at is None or now - self._read_at >= READ_S:
            self._read_at = now
            await self._read(measured(now).revision, keep_s)
            now = self._clock()
        return self._others.merged(measured(now), now)

    async def _read(self, revision: str, keep_s: float) -> None:
        others = [r for r in self._replicas() if r.name != self._name and r.host != self._host]
        self._others.follow(others, self._clock(), keep_s=keep_s)
        heard = await asyncio.gather(*(self._hear(other, revision) for other in others))
        self._report({other.name for other, ok in zip(others, heard, strict=True) if not ok})

    async def _hear(self, other: Replica, revision: str) -> bool:
        try:
            measured = await self._ask(f"http://{other.host}:{self._port}")
        except (OSError, TimeoutError, ValueError) as error:
            log.debug("router replica %s told nothing: %r", other.name, error)
            return False
        if measured.revision != revision:
            return False
        self._others.heard(other.name, measured, self._clock())
        return True

    def _report(self, silent: set[str]) -> None:
        """Log changes only."""
        for name in sorted(silent - self._silent):
            log.warning("router replica %s cannot be read: alerts go by what it told last", name)
        for name in sorted(self._silent - silent):
            log.info("router replica %s is read again, or has gone", name)
        self._silent = silent
