"""All of it, step by step, and the document that it leaves."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from steelyard_bench.fidelity.engine import MODEL, SHAPE, Engine, version
from steelyard_bench.fidelity.live import Router, play, serving
from steelyard_bench.fidelity.other import watched
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.live_order.capacity import REST_S, SUPPLY, Capacity, measure
from steelyard_bench.live_order.cell import CELLS
from steelyard_bench.live_order.engine import Start
from steelyard_bench.live_order.load import BLOCK_TOKENS, KINDS, arrivals, supply
from steelyard_bench.live_order.plan import LIMITS, Phase, Plan
from steelyard_bench.live_order.summary import summarise
from steelyard_bench.live_order.target import Targets
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.job import Job
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

FORMAT: Final = 1
FILLING: Final = "engine-fcfs"
"""The cell in whose way the engines are kept full to see what they can do: with requests that wait
in the engine itself, none of its slots is ever empty."""


class Study:
    """Run it once; it tells what it begins."""

    def __init__(
        self, ground: Ground, plan: Plan, start: Start, tell: Callable[[str], None]
    ) -> None:
        self._ground = ground
        self._plan = plan
        self._start = start
        self._tell = tell
        self._written = 0
        """Texts so far: no two replays have words in common."""

    async def run(self) -> dict[str, Any]:
        """The document. Raises FidelityError."""
        began_s = time.monotonic()
        phases = [await self._phase(phase) for phase in self._plan.phases]
        return {
            "format": FORMAT,
            "engine": {"shape": dict(SHAPE), **asdict(LIMITS)},
            "load": {kind.name: asdict(kind) for kind in KINDS},
            "plan": asdict(self._plan),
            "phases": phases,
            "wall_s": round(time.monotonic() - began_s, 1),
        }

    async def _phase(self, phase: Phase) -> dict[str, Any]:
        plan = self._plan
        self._tell(f"starting {plan.engines} engines (--scheduling-policy {phase.scheduling}) ...")
        async with self._start(self._ground, plan.engines, phase.scheduling) as engines:
            told = await version(self._ground.http, engines[0])
            can = await self._capacity(engines)
            rate_per_s, targets = plan.overload * can.rate_per_s, Targets.of(can.service_s)
            self._tell(
                f"{can.rate_per_s:.1f} requests/s at most, {can.service_s:.2f} s each; first "
                f"tokens of strict ones within {targets.strict_ttft_s:.2f} s"
            )
            cells = [
                await self._cell(engines, name, repeat, targets, rate_per_s)
                for repeat, name in _turns(phase.cells, plan.repeats)
            ]
        return {
            "scheduling": phase.scheduling,
            "version": told,
            "capacity": can.to_dict(),
            "rate_per_s": round(rate_per_s, 4),
            "targets": asdict(targets),
            "cells": cells,
        }

    async def _capacity(self, engines: Sequence[Engine]) -> Capacity:
        plan = self._plan
        self._tell("measuring what they can do ...")
        policy = CELLS[FILLING].policy(None, sequences=LIMITS.sequences)
        seed = self._text()
        async with serving(self._ground, engines, "router-capacity", policy) as to:
            return await measure(
                to,
                supply(SUPPLY, seed),
                block_tokens=BLOCK_TOKENS,
                slots=plan.slots,
                warm_s=plan.warm_s,
                measured_s=plan.measured_s,
                seed=seed,
            )

    async def _cell(
        self, engines: Sequence[Engine], name: str, repeat: int, targets: Targets, rate_per_s: float
    ) -> dict[str, Any]:
        asked = arrivals(rate_per_s, self._plan.span_s, repeat)
        cell = CELLS[name]
        self._tell(f"{name} ({cell.about}), repeat {repeat + 1}: {len(asked)} requests ...")
        policy = cell.policy(targets, sequences=LIMITS.sequences)
        async with serving(self._ground, engines, f"router-{name}", policy) as to:
            with watched() as others:
                found = await self._play(to, asked)
        summary = summarise(asked, found, targets).to_dict()
        return {"cell": name, "repeat": repeat, **summary, "others": others.to_dict()}

    async def _play(self, to: Router, asked: Sequence[TraceRequest]) -> list[Measurement]:
        """Of those that were answered in time for anybody. Raises FidelityError."""
        found: list[Measurement] = []
        job = Job(Target(to.url, MODEL), tuple(asked), BLOCK_TOKENS, seed=self._text())
        try:
            async with asyncio.timeout(self._plan.span_s + self._plan.drain_s):
                await play(job, found.append)
        except TimeoutError:
            await asyncio.sleep(REST_S)
        return found

    def _text(self) -> int:
        self._written += 1
        return self._written


def _turns(names: Sequence[str], repeats: int) -> Iterator[tuple[int, str]]:
    """Forwards, then backwards: what becomes slower by and by makes none the worse."""
    for repeat in range(repeats):
        for name in names if repeat % 2 == 0 else reversed(names):
            yield repeat, name
