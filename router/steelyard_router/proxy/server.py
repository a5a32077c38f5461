"""The data port: accepts clients, gives each request to an exchange, ends waits, drains.

On a drain it stops accepting, closes idle connections, lets running requests finish within the
grace, then closes what is left.
"""

import asyncio
import itertools
import secrets
import socket
from collections.abc import Coroutine

from steelyard_router.config import Limits, Timeouts
from steelyard_router.errors import NoInstance
from steelyard_router.proxy.downstream import ClientConnection
from steelyard_router.proxy.exchange import Exchange
from steelyard_router.proxy.message import RequestHead, error_bytes
from steelyard_router.proxy.runtime import Runtime

SWEEP_S = 0.1
CONNECTION_SWEEP_ROUNDS = 5


class Server:
    """The `Front` of all client connections."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._connections: set[ClientConnection] = set()
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._id_prefix = secrets.token_hex(6).encode()
        self._id_count = itertools.count()
        self.time = runtime.time
        self.draining = False

    @property
    def limits(self) -> Limits:
        return self._runtime.active.config.limits

    @property
    def timeouts(self) -> Timeouts:
        return self._runtime.active.config.timeouts

    async def start(self, host: str, port: int) -> int:
        """Listens; returns the port, which differs from the given one when that is 0."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: ClientConnection(self, loop), host, port, backlog=4096
        )
        self._sweeper = loop.create_task(self._sweep())
        sock: socket.socket = self._listener.sockets[0]
        return int(sock.getsockname()[1])

    async def drain(self, grace_s: float) -> int:
        """Stops accepting and waits for running requests; returns how many had to be cut off."""
        self.draining = True
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.close_if_idle()
        try:
            async with asyncio.timeout(grace_s):
                await self._empty.wait()
        except TimeoutError:
            pass
        cut_off = len(self._connections)
        await self.close()
        return cut_off

    async def close(self) -> None:
        """Ends everything at once."""
        if self._listener is not None:
            self._listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        for connection in list(self._connections):
            connection.abort()
        async with asyncio.timeout(5):
            await self._empty.wait()

    # -- what connections ask ---------------------------------------------------------------------

    def opened(self, connection: ClientConnection) -> None:
        self._connections.add(connection)
        self._empty.clear()
        if len(self._connections) > self.limits.connections:
            error = NoInstance(
                "the router has too many open connections; try again", retry_after_s=1
            )
            connection.answer(error_bytes(error, close=True), close=True)
            connection.close_if_idle()

    def closed(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def serve(
        self, connection: ClientConnection, head: RequestHead, body: bytes
    ) -> Coroutine[None, None, None]:
        request_id = b"%b%08x" % (self._id_prefix, next(self._id_count))
        return Exchange(self._runtime, connection, head, body, request_id).serve()

    # -- time -------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Ends waits that are over. One pass over the live ones costs less than a timer for
        each.
        """
        rounds = 0
        while True:
            await asyncio.sleep(SWEEP_S)
            rounds += 1
            now = self.time()
            for attempt, started_s in list(self._runtime.attempts.items()):
                attempt.expire(now, started_s)
            if rounds % CONNECTION_SWEEP_ROUNDS == 0:
                for connection in list(self._connections):
                    connection.expire(now)
