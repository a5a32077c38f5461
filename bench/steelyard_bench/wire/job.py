"""One benchmark: all targets up at once, cells measured in turn, runs interleaved.

Interleaving matters because a shared machine drifts: each run of a target is close in time to the
same run of the others, so what the machine does to one it does to all.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from steelyard_bench.wire import paced, wrk
from steelyard_bench.wire.cell import Cell
from steelyard_bench.wire.check import check
from steelyard_bench.wire.errors import WireError
from steelyard_bench.wire.figure import Sample
from steelyard_bench.wire.fleet import Running, running
from steelyard_bench.wire.meter import Meter

REST_S = 0.2
"""Between two measurements, so that connections of the last are gone."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure."""

    cells: Sequence[Cell]
    targets: Sequence[str]
    runs: int
    seconds: int
    engines: int
    steelyard: Sequence[str]
    peers: Path | None
    wrk: str

    @property
    def steps(self) -> int:
        return len(self.cells) * len(self.targets) * self.runs


class Screen(Protocol):
    """Where the benchmark shows how it goes."""

    def starting(self, targets: Sequence[str]) -> None:
        """Engines and routers are being started and checked."""

    def measuring(self, run: int, cell: Cell, target: str) -> None:
        """One step begins."""

    def measured(self, sample: Sample) -> None:
        """One step is done."""


async def measure(job: Job, screen: Screen) -> list[Sample]:
    """All samples, in the order of their making. Raises WireError."""
    screen.starting(job.targets)
    with tempfile.TemporaryDirectory(prefix="steelyard-wire-") as name:
        folder = Path(name)
        async with (
            aiohttp.ClientSession() as http,
            running(
                job.targets,
                engines=job.engines,
                steelyard=job.steelyard,
                peers=job.peers,
                folder=folder,
                http=http,
            ) as targets,
        ):
            for cell in job.cells:
                for arm in targets:
                    await check(http, arm.target, cell)
            return await _runs(job, targets, wrk.Wrk(job.wrk, folder), screen)


async def _runs(
    job: Job, targets: Sequence[Running], client: wrk.Wrk, screen: Screen
) -> list[Sample]:
    samples: list[Sample] = []
    for run in range(job.runs):
        for cell in job.cells:
            for arm in targets:
                screen.measuring(run, cell, arm.target.label)
                sample = await _sample(job, cell, arm, client)
                screen.measured(sample)
                samples.append(sample)
                await asyncio.sleep(REST_S)
    return samples


async def _sample(job: Job, cell: Cell, arm: Running, client: wrk.Wrk) -> Sample:
    meter = Meter(arm.pid)
    drive = paced.drive if cell.pace_ms else client.drive
    try:
        load = await drive(cell, arm.target.url, job.seconds, meter)
    except OSError as error:
        label = arm.target.label
        raise WireError(f"{label} has gone while {cell.name} was measured ({error})") from error
    return Sample.of(cell, arm.target.label, load, meter)
