"""Predictions of a live router for real engines, beside what it then measured.

How much the engines can do is found first, by a closed loop of the mix that keeps them full. Then,
at shares of that, requests come for a while (mix.py), each time to a router that has learned
nothing yet and that tells of every request what it predicted (teller.py). The router and the
clients take their time from the cores of the engines.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import aiohttp

from steelyard_bench.fidelity.engine import MODEL, Engine, version
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.live import Router, check_whole, play, serving
from steelyard_bench.fidelity.other import watched
from steelyard_bench.fidelity.process import Ground
from steelyard_bench.live_order.capacity import SUPPLY, measure
from steelyard_bench.predictor.engine import ENGINES, LIMITS, Start
from steelyard_bench.predictor.mix import HEADER, WORKLOADS, arrivals, only, policy, supply
from steelyard_bench.predictor.recording import rows
from steelyard_bench.predictor.report import LEARNED, Bar, Steady, error_bars, steady
from steelyard_bench.predictor.teller import COMMAND
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.job import Job
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

MEDIAN_BARS: Final = {"ttft": 0.25, "tpot": 0.25}
RIVALS: Final = ("router", "constant")
"""An oracle would have to know what a real engine does."""
SLOTS: Final = ENGINES * LIMITS.sequences
READ_S: Final = 60.0
RECORD_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Plan:
    """`shares` of what the engines can do, each for `span_s`; the first `learned` requests of each
    are not judged.
    """

    shares: tuple[float, ...]
    warm_s: float
    measured_s: float
    span_s: float
    learned: int


FULL: Final = Plan((0.5, 0.7), warm_s=4.0, measured_s=12.0, span_s=100.0, learned=LEARNED)
QUICK: Final = Plan((0.5,), warm_s=0.2, measured_s=0.8, span_s=1.5, learned=5)
"""For simulated engines, to see that all of it runs."""


@dataclass(frozen=True, slots=True)
class LiveReport:
    """`possible_per_s` is what the engines can do; `others` the cores that processes which are not
    ours took meanwhile, at each rate.
    """

    engine: str
    possible_per_s: float
    steady: list[Steady]
    others: list[dict[str, float]]
    bars: list[Bar]
    met: bool


class LiveStudy:
    """Run it once; it tells what it begins."""

    def __init__(
        self, ground: Ground, plan: Plan, start: Start, tell: Callable[[str], None]
    ) -> None:
        self._ground = ground
        self._plan = plan
        self._start = start
        self._tell = tell

    async def run(self) -> LiveReport:
        """Raises FidelityError."""
        plan, found, others = self._plan, [], []
        self._tell(f"starting {ENGINES} engines ...")
        async with self._start(self._ground) as engines:
            told = await version(self._ground.http, engines[0])
            possible_per_s = await self._possible(engines)
            for seed, share in enumerate(plan.shares, 1):
                rate_per_s = round(share * possible_per_s, 2)
                asked = arrivals(rate_per_s, plan.span_s, seed)
                self._tell(
                    f"{rate_per_s:g} of {possible_per_s:.1f} requests/s: {len(asked)} in all ..."
                )
                lines, took = await self._told(engines, asked, seed)
                found.append(steady(rate_per_s, rows(lines)[plan.learned :]))
                others.append(took)
        bars = error_bars(found, MEDIAN_BARS)
        met = all(bar.holds for bar in bars)
        return LiveReport(told, round(possible_per_s, 3), found, others, bars, met)

    async def _possible(self, engines: Sequence[Engine]) -> float:
        """Requests a second."""
        plan = self._plan
        self._tell("measuring what they can do ...")
        async with serving(self._ground, engines, "router-possible", {}) as to:
            can = await measure(
                to,
                supply(SUPPLY, seed=0),
                block_tokens=LIMITS.block_tokens,
                slots=SLOTS,
                warm_s=plan.warm_s,
                measured_s=plan.measured_s,
                seed=0,
            )
        return can.rate_per_s

    async def _told(
        self, engines: Sequence[Engine], asked: Sequence[TraceRequest], seed: int
    ) -> tuple[list[str], dict[str, float]]:
        """What the router tells of the requests, which is kept in a file too, and the cores that
        others took. No two seeds have words in common.
        """
        name = f"router-{seed}"
        telling = replace(self._ground, steelyard=COMMAND)
        async with serving(telling, engines, name, policy()) as to:
            with watched() as others:
                lines = await _recorded(self._ground.http, to, asked, seed)
        file = self._ground.folder / f"{name}.ndjson"
        file.write_text("".join(lines), encoding="utf-8")
        return lines, others.to_dict()


async def _recorded(
    http: aiohttp.ClientSession, to: Router, asked: Sequence[TraceRequest], seed: int
) -> list[str]:
    """The lines of a recording of them all. Raises FidelityError where one failed."""
    url, patient = f"{to.admin_url}/debug/record", aiohttp.ClientTimeout(total=None)
    async with http.get(url, params={"seconds": RECORD_S}, timeout=patient) as response:
        reading = asyncio.create_task(_lines(response, 1 + len(asked)))
        try:
            await _play(to, asked, seed)
            async with asyncio.timeout(READ_S):
                return await reading
        except TimeoutError as exc:
            raise FidelityError(f"the router has not told of all {len(asked)} requests") from exc
        finally:
            reading.cancel()


async def _lines(response: aiohttp.ClientResponse, most: int) -> list[str]:
    found: list[str] = []
    async for line in response.content:
        found.append(line.decode())
        if len(found) >= most:
            break
    return found


async def _play(to: Router, asked: Sequence[TraceRequest], seed: int) -> None:
    """All workloads at once, each by clients of its own. Raises FidelityError."""
    found: list[Measurement] = []
    targets = {name: Target(to.url, MODEL, headers={HEADER: name}) for name in WORKLOADS}
    jobs = [
        Job(target, only(name, asked), LIMITS.block_tokens, seed=seed)
        for name, target in targets.items()
    ]
    await asyncio.gather(*(play(job, found.append) for job in jobs))
    check_whole(found)
