"""`sglang-cache-aware` against the routers that it describes: equal choices on a played stream.

The engines hold every request until the stream ends it, and requests go one after the other, so
the router's counts are known at every choice. The stream has growing conversations, prompts that
share their beginnings, and bursts, and goes through both branches of the rule. sglang-router
matches characters, vllm-router token ids, we blocks; prompts are whole blocks here. Both keep their
instances in an order of their own, which shows in the first cold prompts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import aiohttp
import pytest
from support.held_engine import Held, held_engines
from support.placing import chain, join, policy

from steelyard_operator.local.port import free_port
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_simulator.replay.policy import Arrival

PEERS = Path(__file__).parents[3] / "build/peers/bin"
ENGINES = 4
CHARACTERS = 64
"""Of a block."""
STREAM = 400
NARROW = (8, 1.2)
"""Thresholds that this stream crosses; the shipped 64 and 1.5 it does not."""
COMMANDS = {"sglang-router": ("launch",), "vllm-router": ()}
SPREAD = {"sglang-router": 0, "vllm-router": 1}
LEAST_AGREEMENT = 0.99


class Step(NamedTuple):
    """Place that prompt, or end that request."""

    name: str
    blocks: Sequence[int] | None


def stream(seed: int) -> list[Step]:
    """Between 0 and about 40 requests are open at a time."""
    rng, steps, open_now = Random(seed), [], list[str]()
    conversations = [[number] for number in range(12)]
    target = 0
    for number in range(STREAM):
        if number % 40 == 0:
            target = rng.choice([2, 10, 25, 40])
        talk = conversations[min(rng.randrange(12), rng.randrange(12))]
        talk.append(1000 + number)
        shared = talk[: rng.randrange(1, len(talk) + 1)]
        blocks = rng.choice([list(talk), [*shared, *range(2000 + number, 2003 + number)]])
        steps.append(Step(str(number), blocks))
        open_now.append(str(number))
        while len(open_now) > target:
            steps.append(Step(open_now.pop(rng.randrange(len(open_now))), None))
    return steps


def text(blocks: Sequence[int]) -> str:
    """Characters of which each block stands for all blocks before it too."""
    return "".join(f"{block:08x}" * (CHARACTERS // 8) for block in blocks)


def arrival(number: int, blocks: Sequence[int]) -> Arrival:
    hashes, tokens = chain(blocks), len(blocks) * CHARACTERS // 4
    view = RequestView(blocks=hashes, block_tokens=CHARACTERS // 4, prompt_tokens=tokens)
    return Arrival(
        number,
        0.0,
        "default",
        tokens,
        1,
        None,
        hashes,
        CHARACTERS // 4,
        None,
        SLO(),
        Weights(),
        view,
    )


def ours(
    program: str,
    order: Sequence[str],
    steps: Sequence[Step],
    *,
    absolute: float = 64,
    relative: float = 1.5,
) -> list[str]:
    """The same steps, played by the rule in this repository."""
    made = policy(
        "sglang-cache-aware",
        instances=0,
        spread=SPREAD[program],
        absolute=absolute,
        relative=relative,
    )
    for url in order:
        join(made, url)
    chosen = []
    for step in steps:
        number = int(step.name)
        if step.blocks is not None:
            chosen.append(made.place(arrival(number, step.blocks), 0.0))
        else:
            made.finished(number, 0.0, output_tokens=1, cached_tokens=None)
    return chosen


class Router:
    """A real one, played step by step."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, held: Held, *, token_ids: bool
    ) -> None:
        self._session = session
        self._url = url
        self._held = held
        self._token_ids = token_ids
        self._replies: dict[str, asyncio.Task[int]] = {}

    async def place(self, name: str, blocks: Sequence[int]) -> str:
        arrived = self._held.expect(name)
        self._replies[name] = asyncio.create_task(self._ask(name, self._prompt(blocks)))
        return await asyncio.wait_for(arrived, 10)

    async def end(self, name: str) -> None:
        """Returns when the router no longer counts it."""
        self._held.ends[name].set()
        assert await self._replies.pop(name) == 200
        while sum(await self.loads()) != len(self._replies):
            await asyncio.sleep(0.002)

    async def loads(self) -> list[int]:
        async with self._session.get(f"{self._url}/workers") as reply:
            return [worker["load"] for worker in (await reply.json())["workers"]]

    async def play(self, steps: Sequence[Step]) -> list[str]:
        chosen = []
        for step in steps:
            if step.blocks is not None:
                chosen.append(await self.place(step.name, step.blocks))
            else:
                await self.end(step.name)
        return chosen

    async def end_all(self) -> None:
        for name in list(self._replies):
            await self.end(name)

    def _prompt(self, blocks: Sequence[int]) -> str | list[int]:
        return [ord(character) for character in text(blocks)] if self._token_ids else text(blocks)

    async def _ask(self, name: str, prompt: str | list[int]) -> int:
        # Named by its seed: vllm-router takes `user` for a session.
        body = {"model": "sim", "prompt": prompt, "seed": int(name)}
        async with self._session.post(f"{self._url}/v1/completions", json=body) as reply:
            await reply.read()
            return reply.status


@asynccontextmanager
async def router(
    program: str, held: Held, engines: Sequence[str], folder: Path
) -> AsyncIterator[Router]:
    port, metrics_port = free_port("127.0.0.1"), free_port("127.0.0.1")
    absolute, relative = NARROW
    arguments = [
        *COMMANDS[program],
        *("--host", "127.0.0.1", "--port", str(port), "--worker-urls", *engines),
        *("--policy", "cache_aware", "--disable-retries", "--worker-startup-check-interval", "1"),
        *("--balance-abs-threshold", str(absolute), "--balance-rel-threshold", str(relative)),
        *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics_port)),
    ]
    with (folder / "router.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            PEERS / program, *arguments, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    connector = aiohttp.TCPConnector(limit=0)
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.wait_for(_ready(session, f"{url}/readiness"), 60)
            yield Router(session, url, held, token_ids=program == "vllm-router")
    finally:
        process.terminate()
        await process.wait()


async def _ready(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        try:
            async with session.get(url) as reply:
                if reply.status == 200:
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.1)


@pytest.mark.filterwarnings("default")  # the routers probe for HTTP/2, which aiohttp complains of
@pytest.mark.parametrize("program", COMMANDS)
async def test_the_rule_chooses_as_the_router_does(
    program: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if not (PEERS / program).exists():
        pytest.skip(f"build/peers has no {program}; `make peers` installs it")
    steps = stream(seed=1)
    async with held_engines(ENGINES) as (held, urls):
        async with router(program, held, urls, tmp_path) as real:
            order = [
                await real.place(str(STREAM + number), [9000 + number]) for number in range(ENGINES)
            ]
            assert sorted(order) == sorted(urls)
            await real.end_all()
            theirs = await real.play(steps)
            await real.end_all()

    absolute, relative = NARROW
    chosen = ours(program, order, steps, absolute=absolute, relative=relative)
    assert chosen != ours(program, order, steps), "the stream never was imbalanced"
    equal = sum(a == b for a, b in zip(chosen, theirs, strict=True)) / STREAM
    record_property("agreement", equal)
    assert equal >= LEAST_AGREEMENT, f"{equal:.1%} of {STREAM} choices equal"
