"""An engine that holds each request, by its x-request-id, until it is let."""

import asyncio
import json
from dataclasses import dataclass, field

from support.scripted import STREAM_HEAD, Received, ScriptedEngine, chunk, event, plain


@dataclass
class Holding:
    """What it does (`ScriptedEngine.behave`), and what it was asked."""

    names: list[str] = field(default_factory=list)
    """What has come, in order."""
    heads: dict[str, Received] = field(default_factory=dict)
    _let: dict[str, asyncio.Event] = field(default_factory=dict)

    async def answer(
        self, engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        del engine
        body = json.loads(request.body)
        name = request.header("x-request-id") or ""
        self.names.append(name)
        self.heads[name] = request
        await self._event(name).wait()
        if not body.get("stream"):
            writer.write(plain(b'{"choices": []}'))
            return
        writer.write(STREAM_HEAD)
        for number in range(3):
            writer.write(chunk(event(f"t{number}")))
            await writer.drain()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    def let(self, *names: str) -> None:
        for name in names:
            self._event(name).set()

    def _event(self, name: str) -> asyncio.Event:
        return self._let.setdefault(name, asyncio.Event())
