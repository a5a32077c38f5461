"""An engine that does what a test tells it to, down to the bytes: the way real ones fail.

It reads whole HTTP/1.1 requests, keeps them for inspection, and lets a behaviour write the answer.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Behaviour = Callable[["ScriptedEngine", Received, asyncio.StreamWriter], Awaitable[None]]


def plain(body: bytes, *, status: int = 200, content_type: str = "application/json") -> bytes:
    lines = (
        f"HTTP/1.1 {status} X",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


async def answer_ok(
    engine: "ScriptedEngine", request: Received, writer: asyncio.StreamWriter
) -> None:
    """A well-behaved chat engine: streams four tokens or answers at once."""
    if b'"stream": true' in request.body or b'"stream":true' in request.body:
        writer.write(STREAM_HEAD)
        for number in range(4):
            writer.write(chunk(event(f"t{number}")))
            await writer.drain()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    else:
        writer.write(plain(json.dumps({"engine": engine.name, "choices": []}).encode()))
    await writer.drain()


@dataclass(eq=False)
class ScriptedEngine:
    """One listening engine. `behave` may be replaced at any time."""

    name: str
    behave: Behaviour = answer_ok
    healthy: bool = True
    models: tuple[str, ...] = ("m",)
    requests: list[Received] = field(default_factory=list)
    gone: int = 0
    """Connections that the other side closed while a behaviour was running."""
    port: int = 0
    host: str = "127.0.0.1"
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, self.host, self.port, limit=2**27)
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """Ends as after kill -9: every connection is reset, nobody listens any more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until_gone(self, count: int, within_s: float) -> bool:
        """Whether so many connections were closed by the other side, at the latest after
        `within_s`.
        """
        for _ in range(int(within_s / 0.002)):
            if self.gone >= count:
                break
            await asyncio.sleep(0.002)
        return self.gone == count

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            while (request := await _read(reader)) is not None:
                await self._serve(request, reader, writer)
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone += 1
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.close()

    async def _serve(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request.target == "/health":
            writer.write(plain(b"", status=200 if self.healthy else 503))
        elif request.target == "/metrics":
            writer.write(plain(b"", status=404))
        elif request.target == "/v1/models":
            cards = [{"id": model, "object": "model"} for model in self.models]
            writer.write(plain(json.dumps({"object": "list", "data": cards}).encode()))
        else:
            self.requests.append(request)
            behaviour = asyncio.ensure_future(self.behave(self, request, writer))
            watcher = asyncio.ensure_future(_closed(reader))
            try:
                await asyncio.wait({behaviour, watcher}, return_when=asyncio.FIRST_COMPLETED)
                if not behaviour.done():
                    self.gone += 1
                    behaviour.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await behaviour
            finally:
                behaviour.cancel()
                watcher.cancel()


async def _closed(reader: asyncio.StreamReader) -> None:
    while not reader.at_eof() and reader.exception() is None:
        await asyncio.sleep(0.002)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Received(method, target, headers, await reader.readexactly(length))


@contextlib.asynccontextmanager
async def engines(
    count: int, behave: Behaviour = answer_ok, *, host: str = "127.0.0.1"
) -> AsyncIterator[list[ScriptedEngine]]:
    started = [ScriptedEngine(f"e{number}", behave, host=host) for number in range(count)]
    for engine in started:
        await engine.start()
    try:
        yield started
    finally:
        for engine in started:
            await engine.kill()
