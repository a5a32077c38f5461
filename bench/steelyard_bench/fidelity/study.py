"""The whole study, step by step, and the document that it leaves."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Final

import orjson

from steelyard_bench.fidelity.calibration import Round, described, fitted, probe
from steelyard_bench.fidelity.compared import PROFILE, Live, Played, beside, compared
from steelyard_bench.fidelity.engine import (
    MODEL,
    SHAPE,
    Engine,
    Site,
    forget,
    real_engines,
    simulated_engines,
    version,
)
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.fit import to_profile
from steelyard_bench.fidelity.limit import Limits
from steelyard_bench.fidelity.live import replay, router
from steelyard_bench.fidelity.other import watched
from steelyard_bench.fidelity.probe import SHORT, Prober, Reply, template_tokens
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.fidelity.slice import Scale, reuse, scaled
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import Trace

FORMAT: Final = 1
POLICIES: Final = ("round-robin", "least-request", "multiplicative")
ENGINES: Final = 2
ASKS: Final = 20
"""Lone prompts that tell what a request takes outside of its engine's steps."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is played, and on what; before simulated engines `speed` times as fast."""

    site: Site
    limits: Limits = field(default_factory=Limits)
    scale: Scale = field(
        default_factory=lambda: Scale(
            share=0.05, turns=2, prompt=16, reply=8, longest=4096, blocks=2, speed=50.0, seed=2
        )
    )
    speed: float = 3.0


class Study:
    """Run it once; it tells what it begins."""

    def __init__(
        self, ground: Ground, plan: Plan, trace: Trace, tell: Callable[[str], None]
    ) -> None:
        self._ground = ground
        self._plan = plan
        self._trace = trace.path.name
        self._requests = scaled(trace, plan.scale)
        self._tell = tell

    async def run(self) -> dict[str, Any]:
        """The document. Raises FidelityError."""
        ground, plan, began_s = self._ground, self._plan, time.monotonic()
        cores = sorted(os.sched_getaffinity(0))[:ENGINES]
        if len(cores) < ENGINES:
            raise FidelityError(f"this needs {ENGINES} cores, one for each engine")
        self._tell(f"starting {ENGINES} real engines ...")
        async with real_engines(ground, plan.site, plan.limits, cores) as engines:
            told = await version(ground.http, engines[0])
            asked = await self._ask(engines)
            rounds, played = await self._probe_and_play(engines)
        profile = to_profile(PROFILE, fitted(rounds), plan.limits)
        file = ground.folder / "profile.json"
        file.write_text(profile.to_json(), encoding="utf-8")
        self._tell(f"starting {ENGINES} simulated engines ...")
        async with simulated_engines(ground, file, speed=plan.speed, count=ENGINES) as engines:
            asked_again = await self._ask(engines)
            again = [await self._play(engines, policy, plan.speed) for policy in POLICIES]
        self._tell("simulating ...")
        live = Live(self._requests, ENGINES, 1.0, *asked, played)
        modelled = Live(self._requests, ENGINES, plan.speed, *asked_again, again)
        real = compared(live, profile)
        around = beside(live, rounds, plan.limits)
        real["policies"] = [one | more for one, more in zip(real["policies"], around, strict=True)]
        return {
            "format": FORMAT,
            "engine": {"version": told, "shape": dict(SHAPE), **asdict(plan.limits)},
            "load": self._load(),
            "fit": {**described(rounds), "profile": profile.to_dict()},
            "real": real,
            "modelled": compared(modelled, profile),
            "ahead": ground.ahead,
            "wall_s": round(time.monotonic() - began_s, 1),
        }

    async def _probe_and_play(self, engines: Sequence[Engine]) -> tuple[list[Round], list[Played]]:
        """A round of probes before each replay, and one behind the last."""
        limits = self._plan.limits
        probers = [self._prober(engine.url, seed) for seed, engine in enumerate(engines)]
        self._tell("probing ...")
        rounds, played = [await probe(probers, limits)], []
        for policy in POLICIES:
            played.append(await self._play(engines, policy, 1.0))
            self._tell("probing ...")
            rounds.append(await probe(probers, limits))
        return rounds, played

    async def _play(self, engines: Sequence[Engine], policy: str, speed: float) -> Played:
        """From empty caches, with a new router."""
        self._tell(f"{policy} before {engines[0].kind} engines ...")
        for engine in engines:
            await forget(self._ground.http, engine)
        async with router(self._ground, engines, policy) as to:
            with watched() as others:
                size = self._plan.limits.block_tokens
                found = await replay(to, self._requests, block_tokens=size, speed=speed)
        self._keep(f"requests-{engines[0].kind}-{policy}.jsonl", found)
        return Played(policy, found, others)

    def _keep(self, name: str, found: Sequence[Measurement]) -> None:
        """A line for each request, for whoever wants to know more than the page says."""
        lines = b"".join(orjson.dumps(one.to_dict()) + b"\n" for one in found)
        (self._ground.folder / name).write_bytes(lines)

    async def _ask(self, engines: Sequence[Engine]) -> tuple[list[Reply], int]:
        """Lone prompts through a router, and what the chat template adds to each.

        As long as the load's in the mean, and all cached but the first ones: what is done for each
        token outside of the engine counts, while little is left to compute.
        """
        size = self._plan.limits.block_tokens
        blocks = round(fmean(one.input_tokens for one in self._requests) / size)
        async with router(self._ground, engines, POLICIES[0]) as to:
            prober = self._prober(to.url, ENGINES)  # no seed of the fit's
            template = template_tokens(SHORT, await prober.ask(SHORT, 1))
            asked = [await prober.ask(blocks * size, 2, blocks=range(blocks)) for _ in range(ASKS)]
        return asked, template

    def _prober(self, url: str, seed: int) -> Prober:
        size = self._plan.limits.block_tokens
        return Prober(self._ground.http, url, MODEL, block_tokens=size, seed=seed)

    def _load(self) -> dict[str, Any]:
        requests, size = self._requests, self._plan.limits.block_tokens
        return {
            "trace": self._trace,
            **asdict(self._plan.scale),
            "requests": len(requests),
            "span_s": round(requests[-1].at_s, 1),
            "input_tokens": round(fmean(one.input_tokens for one in requests)),
            "output_tokens": round(fmean(one.output_tokens for one in requests), 1),
            "longest_tokens": max(one.input_tokens for one in requests),
            "reuse": round(reuse(requests, size), 4),
        }
