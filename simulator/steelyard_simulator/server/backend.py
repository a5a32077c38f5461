"""Everything the handlers of one server share."""

import asyncio
import time
from collections.abc import Sequence as Seq
from typing import Any

import xxhash
from aiohttp import web

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Job
from steelyard_simulator.server.clock import ScaledClock
from steelyard_simulator.server.driver import Driver
from steelyard_simulator.server.error import (
    BadRequest,
    Draining,
    EngineDead,
    ModelNotFound,
    QueueFull,
)
from steelyard_simulator.server.fault import Dice, Faults
from steelyard_simulator.server.metric import Metrics
from steelyard_simulator.server.settings import Settings
from steelyard_simulator.server.text import PERIOD, OutputText
from steelyard_simulator.server.tokenizer import block_hashes, count_tokens


class Backend:
    """One model on one engine, with its faults."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings.profile)
        self.faults = Faults(speed=settings.speed, seed=settings.seed)
        self.dice = Dice(settings.seed)
        self.text = OutputText(settings.seed)
        self.clock = ScaledClock(time.monotonic, settings.speed)
        self.driver = Driver(self.engine, self.clock, wall=time.monotonic, tick_s=settings.tick_s)
        self.metrics = Metrics(settings.model, self.driver)
        self.active = 0
        """Inference requests under way, whatever the engine does with them."""
        self.idle = asyncio.Event()
        self.idle.set()
        self.draining = False
        self._moving = asyncio.Event()
        self._moving.set()

    def enter(self) -> None:
        """An inference request has come in."""
        self.active += 1
        self.idle.clear()

    def leave(self) -> None:
        """It has been answered, or its client has left."""
        self.active -= 1
        if not self.active:
            self.idle.set()

    def configure(self, change: dict[str, Any]) -> None:
        """Applies a change of faults; `reset_cache: true` is done once and not kept."""
        reset = change.pop("reset_cache", False)
        if not isinstance(reset, bool):
            raise BadRequest("reset_cache: must be true or false", param="reset_cache")
        self.faults = self.faults.changed(change)
        if reset:
            self.engine.reset_cache()
        if "seed" in change:
            self.dice = Dice(self.faults.seed)
        self.driver.set_speed(self.faults.clock_speed)
        if self.faults.hang:
            self._moving.clear()
        else:
            self._moving.set()

    async def admit(self) -> None:
        """What a request meets before it is read: a drain, a fault, or nothing.

        A hang lasts until it is switched off or the client leaves.
        """
        if self.draining:
            raise Draining("this server is stopping; send the request to another one")
        await self._moving.wait()
        if self.dice.hit(self.faults.error_rate):
            raise EngineDead("a simulated failure, because error_rate is above 0")
        limit = self.faults.max_waiting
        if limit is not None and self.engine.waiting >= limit:
            raise QueueFull(f"{limit} requests are waiting already; try again later")
        if delay := self.faults.slow_head_s:
            await asyncio.sleep(delay / self.faults.clock_speed)

    def check_model(self, model: str | None) -> None:
        if model not in {None, self.settings.model}:
            raise ModelNotFound(f"The model `{model}` does not exist.", param="model")

    def output_tokens(self, prompt_tokens: int, wanted: int | None, default: int) -> int:
        """How many tokens to generate; BadRequest if prompt and output are too long together."""
        longest = self.settings.profile.longest
        tokens = min(default, longest - prompt_tokens) if wanted is None else wanted
        if tokens < min(default, 1) or prompt_tokens + tokens > longest:
            raise BadRequest(
                f"This model's maximum context length is {longest} tokens. However, you requested "
                f"{max(tokens, 0)} output tokens and your prompt contains {prompt_tokens} input "
                "tokens. Please reduce the length of the input prompt or the number of requested "
                "output tokens.",
                param="max_tokens" if wanted else "input_tokens",
            )
        return tokens

    def offset(self, prompt: bytes, index: int) -> int:
        """Where in the endless text the answer number `index` to a prompt begins."""
        return xxhash.xxh3_64_intdigest(prompt, self.settings.seed + index) % PERIOD

    def job(
        self, prompt: bytes, *, output: bytes, output_tokens: int, salt: str | None, priority: int
    ) -> Job:
        """`output` is the text that will be generated, so that its blocks can be cached too."""
        hashes: Seq[int] = block_hashes(
            prompt + output,
            self.settings.profile.block_tokens,
            namespace=f"{self.settings.model}\0{salt or ''}",
        )
        return Job(self.driver.next_id(), count_tokens(prompt), output_tokens, hashes, priority)


BACKEND = web.AppKey("backend", Backend)
