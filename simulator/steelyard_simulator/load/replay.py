"""Plays requests against a server: open loop by timestamp, or closed loop by think time.

Open loop: a request is sent when its time has come, whatever became of those before it. Closed
loop: a request waits for the reply of the one it follows, and then for its think time. Each
measurement is handed on as soon as it is whole, so that a replay that is cancelled has lost only
what was in flight.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from steelyard_simulator.load.client import Call
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.prompt import PromptWriter
from steelyard_simulator.load.trace import TraceRequest


class Sender(Protocol):
    """Where calls go: ChatClient, or a fake in tests."""

    async def send(self, call: Call, *, origin_s: float) -> Measurement: ...


class Replay:
    """One run. `concurrency` bounds the requests in flight; what waits for it is late (`lag_s`)."""

    def __init__(
        self,
        sender: Sender,
        writer: PromptWriter,
        requests: Sequence[TraceRequest],
        on_done: Callable[[Measurement], None],
        *,
        concurrency: int | None = None,
    ) -> None:
        self._sender = sender
        self._writer = writer
        self._requests = requests
        self._on_done = on_done
        self._origin_s = 0.0
        self._room: AbstractAsyncContextManager[object] = (
            asyncio.Semaphore(concurrency) if concurrency is not None else nullcontext()
        )

    async def open_loop(self) -> None:
        """Returns when every reply is in."""
        self._origin_s = time.monotonic()
        order = sorted(range(len(self._requests)), key=lambda number: self._requests[number].at_s)
        async with asyncio.TaskGroup() as group:
            for number in order:
                at_s = self._requests[number].at_s
                await self._sleep_until(at_s)
                group.create_task(self._play(number, at_s))

    async def closed_loop(self, *, users: int) -> None:
        """`users` sessions at a time, each user taking the next one when the last is over."""
        self._origin_s = time.monotonic()
        followers: dict[int, list[int]] = defaultdict(list)
        waiting: list[int] = []
        for number, request in enumerate(self._requests):
            if request.follows is None:
                waiting.append(number)
            else:
                followers[request.follows].append(number)
        roots = iter(waiting)

        async def user() -> None:
            for root in roots:
                async with asyncio.TaskGroup() as session:
                    session.create_task(self._turn(root, self._now_s(), followers, session))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(users, len(waiting))):
                group.create_task(user())

    async def _turn(
        self,
        number: int,
        planned_s: float,
        followers: Mapping[int, Sequence[int]],
        session: asyncio.TaskGroup,
    ) -> None:
        """A request; its reply sets off every request that waits for it, in the same task group."""
        await self._sleep_until(planned_s)
        await self._play(number, planned_s)
        for follower in followers.get(number, ()):
            due_s = self._now_s() + self._requests[follower].think_s
            session.create_task(self._turn(follower, due_s, followers, session))

    async def _play(self, number: int, planned_s: float) -> None:
        request = self._requests[number]
        async with self._room:
            call = Call(
                prompt=self._writer.write(request, number),
                input_tokens=request.input_tokens,
                output_tokens=request.output_tokens,
                planned_s=planned_s,
                session=request.session,
            )
            self._on_done(await self._sender.send(call, origin_s=self._origin_s))

    def _now_s(self) -> float:
        return time.monotonic() - self._origin_s

    async def _sleep_until(self, at_s: float) -> None:
        if (wait_s := at_s - self._now_s()) > 0:
            await asyncio.sleep(wait_s)
