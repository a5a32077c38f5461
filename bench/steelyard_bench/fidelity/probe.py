"""Asks an engine for work of a known size, as a client does, and takes the time.

Four kinds: lone prompts of many lengths (their first token, and their decoding alone), prompts
whose beginning is cached, and one reply beside a crowd of others whose prompts are short or long.
Crowds are asked for more than they will say and are sent away when the one in their midst is done.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import aiohttp
import orjson

from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.work import Observation, decoding, first_token
from steelyard_simulator.load.client import BUFFER_BYTES, TICK_S
from steelyard_simulator.load.prompt import PromptWriter
from steelyard_simulator.load.stream import Ending, StreamScan
from steelyard_simulator.load.trace import TraceRequest

LONE: Final = (32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
REUSED: Final = ((1024, 128), (2048, 256), (3072, 512))
"""Tokens that are cached, and new ones behind them."""
CROWDS: Final = ((2, 128), (4, 128), (8, 128), (16, 128), (4, 1024), (8, 1024), (16, 1024))
"""Replies at a time, and tokens of the prompts around the one that is measured."""
SHORT: Final = 32
TOKENS: Final = 33
"""Of a measured reply: 32 steps after the first token."""
CROWD_ASKS: Final = 3
"""Replies measured in one crowd: to gather it takes longer than they do."""
ENDLESS: Final = 4096
REST_S: Final = 0.3
"""Until an engine has noticed that a crowd has left."""


@dataclass(slots=True)
class Reply:
    """A stream as it comes; times of the monotonic clock."""

    sent_s: float
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    first_s: float = 0.0
    end_s: float = 0.0
    scan: StreamScan = field(default_factory=StreamScan)
    ending: Ending = field(default_factory=Ending)

    @property
    def tokens(self) -> int:
        """So far: an event each, less the one that opens the stream. Rarely, one holds two."""
        return max(1, self.scan.events - 1)


class Prober:
    """One engine, or whatever stands before it. Every prompt is another one, unless it is said to
    begin as the last."""

    def __init__(
        self, http: aiohttp.ClientSession, url: str, model: str, *, block_tokens: int, seed: int
    ) -> None:
        self._http = http
        self._url = f"{url}/v1/chat/completions"
        self._model = model
        self._block_tokens = block_tokens
        self._writer = PromptWriter(seed=seed, block_tokens=block_tokens)
        self._numbers = count()

    async def ask(self, tokens: int, output: int, *, blocks: range = range(0)) -> Reply:
        """To the end. Raises FidelityError."""
        reply = Reply(time.monotonic())
        await self._follow(reply, self._body(tokens, output, blocks))
        if reply.ending.prompt_tokens is None or reply.ending.error is not None:
            raise FidelityError(f"{self._url}: {reply.ending.error or 'no usage in the reply'}")
        return reply

    async def reused(self, tokens: int, behind: int) -> Reply:
        """A prompt whose first `tokens`, whole blocks, are in the cache."""
        size = tokens // self._block_tokens
        blocks = range(start := next(self._numbers) * size, start + size)
        await self.ask(tokens + 1, 1, blocks=blocks)
        return await self.ask(tokens + behind, TOKENS, blocks=blocks)

    @contextlib.asynccontextmanager
    async def crowd(self, size: int, tokens: int) -> AsyncIterator[list[Reply]]:
        """So many that all decode when the block begins; gone when it ends."""
        now = time.monotonic()
        replies = [Reply(now) for _ in range(size)]
        tasks = [
            asyncio.create_task(self._follow(reply, self._body(tokens, ENDLESS, range(0))))
            for reply in replies
        ]
        try:
            await asyncio.gather(*(reply.begun.wait() for reply in replies))
            yield replies
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(REST_S)

    def _body(self, tokens: int, output: int, blocks: range) -> bytes:
        request = TraceRequest(0.0, tokens, output, blocks=(blocks,))
        prompt = self._writer.write(request, next(self._numbers))
        return orjson.dumps(
            {
                "model": self._model,
                "messages": [{"role": "user", "content": prompt.decode("ascii")}],
                "max_tokens": output,
                "ignore_eos": True,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )

    async def _follow(self, reply: Reply, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        try:
            async with self._http.post(
                self._url, data=body, headers=headers, read_bufsize=BUFFER_BYTES
            ) as response:
                if response.status != 200:
                    raise FidelityError(f"{self._url} answers {response.status}")
                await self._read(reply, response.content)
        except aiohttp.ClientError as exc:
            raise FidelityError(f"{self._url}: {type(exc).__name__} {exc}") from exc
        finally:
            reply.begun.set()
        reply.ending = reply.scan.ending()

    async def _read(self, reply: Reply, content: aiohttp.StreamReader) -> None:
        """Not chunk by chunk: a crowd's would keep this process, and so a core, busy."""
        reply.scan.feed(await content.readany())
        reply.first_s = reply.end_s = time.monotonic()
        reply.begun.set()

        def ended() -> None:
            reply.end_s = time.monotonic()

        content.on_eof(ended)
        while not content.at_eof():
            if not content.is_eof():
                await asyncio.sleep(TICK_S)
            reply.scan.feed(content.read_nowait(-1))


async def calibrate(prober: Prober, *, step_tokens: int) -> list[Observation]:
    """A quarter of a minute of work for the engine. Raises FidelityError."""
    await prober.ask(SHORT, TOKENS)
    found: list[Observation] = []
    for tokens in LONE:
        reply = await prober.ask(tokens, TOKENS)
        found += [_first("prompt alone", reply, step_tokens), _decode("reply alone", reply, [])]
    for tokens, behind in REUSED:
        reply = await prober.reused(tokens, behind)
        found.append(_first("prompt partly cached", reply, step_tokens))
    for size, tokens in CROWDS:
        async with prober.crowd(size - 1, tokens) as others:
            for _ in range(CROWD_ASKS):
                reply = await prober.ask(SHORT, TOKENS)
                held = [_held(one, tokens, reply) for one in others]
                found.append(_decode(f"reply among {size}", reply, held))
    return found


def template_tokens(asked: int, reply: Reply) -> int:
    """What the engine's chat template puts around a prompt."""
    assert reply.ending.prompt_tokens is not None
    return reply.ending.prompt_tokens - asked


def _first(kind: str, reply: Reply, step_tokens: int) -> Observation:
    prompt, cached = reply.ending.prompt_tokens, reply.ending.cached_tokens
    assert prompt is not None
    work = first_token(prompt, cached or 0, step_tokens=step_tokens)
    return Observation(kind, work, reply.first_s - reply.sent_s)


def _decode(kind: str, reply: Reply, others: Sequence[float]) -> Observation:
    prompt = reply.ending.prompt_tokens
    assert prompt is not None
    work = decoding(TOKENS - 1, [prompt + 1, *others])
    return Observation(kind, work, reply.end_s - reply.first_s)


def _held(one: Reply, tokens: int, reply: Reply) -> float:
    """What one of a crowd held when the reply, which is over now, began: its prompt and what it had
    said by then, of which only the sum up to the last look is known."""
    share = (reply.first_s - one.first_s) / (reply.end_s - one.first_s)
    return tokens + share * one.tokens
