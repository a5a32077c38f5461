"""Idle connections to one engine, newest first: the newest is the least likely to have been closed.

Keeps true: a connection is in the pool or in one exchange, never both; a closed one leaves by
itself.
"""

import asyncio

from steelyard_router.proxy.upstream import UpstreamConnection


class Pool:
    """Keep-alive connections to one address."""

    def __init__(self, host: str, port: int, *, max_idle: int) -> None:
        self._host = host
        self._port = port
        self.max_idle = max_idle
        self._idle: list[UpstreamConnection] = []
        self._closed = False

    def take(self) -> UpstreamConnection | None:
        """An idle connection, or None when a new one must be made with `connect`."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def connect(self, timeout_s: float) -> UpstreamConnection:
        """A new connection. Raises OSError or TimeoutError."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout_s):
            _, connection = await loop.create_connection(UpstreamConnection, self._host, self._port)
        connection.on_idle_lost = self._lost
        return connection

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keeps a connection whose exchange has ended cleanly; closes it when there are enough."""
        if not connection.usable:
            return
        if self._closed or len(self._idle) >= self.max_idle:
            connection.detach()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        self._closed = True
        for connection in self._idle:
            connection.detach()
        self._idle.clear()

    def _lost(self, connection: UpstreamConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
