"""The demo: one trace through the same engines and the real router, once per strategy.

Everything runs as a user would run it: `steelyard up` with the manifests of examples/demo, and the
load generator against the router's URL. The engines run faster than the hardware they model, and
the trace is played as much faster, so what is reported, in model time, is what slow engines would
show.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from steelyard_bench.scene import Arm, DemoError, Scene
from steelyard_bench.stack import Stack, up
from steelyard_bench.watch import AlertChange, AlertLog, following
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.job import Job, run
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.summary import Objective, Summary, summarise

OBJECTIVE = Objective(ttft_ms=2000, tpot_ms=100)
"""For goodput, in model time."""
SETTLE_S = 15.0
"""How long the last run waits for an alert that has fired and never cleared."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """What one run showed."""

    strategy: str
    summary: Summary
    measurements: tuple[Measurement, ...]
    alerts: AlertLog

    def ttft_s(self) -> list[float]:
        """Of every successful request, in model time, ascending."""
        known = (m.ttft_s for m in self.measurements if m.ttft_s is not None)
        return sorted(seconds * self.summary.time_scale for seconds in known)

    def to_dict(self, speed: float) -> dict[str, object]:
        return {
            "strategy": self.strategy,
            **self.summary.to_dict(),
            "alerts": [change.to_dict(speed) for change in self.alerts.changes],
            "alert_firing_at_end": self.alerts.firing,
        }


class Screen(Protocol):
    """Where the demo shows how it goes."""

    def starting(self, arm: Arm) -> None:
        """The engines and the router of this run are being started."""

    def replaying(
        self, arm: Arm, total: int
    ) -> AbstractContextManager[Callable[[Measurement], None]]:
        """A bar; what it yields is called for every request that is done."""

    def alert(self, change: AlertChange) -> None:
        """An alert began or ceased to fire."""

    def settling(self, seconds: float) -> None:
        """The load is over, an alert still fires and gets so long to clear."""


async def play(
    scene: Scene, steelyard: Sequence[str], out: Path, screen: Screen
) -> list[ArmResult]:
    """One result per arm; what each leaves behind is in a folder of `out`. Raises DemoError.

    `steelyard` is the command that starts this product.
    """
    folders = _make_folders(scene, out)
    results = []
    async with aiohttp.ClientSession() as http:
        for arm, folder in zip(scene.arms, folders, strict=True):
            screen.starting(arm)
            async with up(
                steelyard,
                [scene.service, arm.policy],
                model=scene.model,
                engines=scene.engines,
                folder=folder,
                http=http,
            ) as stack:
                settle_s = SETTLE_S if arm is scene.arms[-1] else 0.0
                results.append(await _play_arm(scene, arm, stack, screen, http, settle_s=settle_s))
    return results


def _make_folders(scene: Scene, out: Path) -> list[Path]:
    folders = [out / arm.strategy for arm in scene.arms]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return folders


async def _play_arm(
    scene: Scene,
    arm: Arm,
    stack: Stack,
    screen: Screen,
    http: aiohttp.ClientSession,
    *,
    settle_s: float,
) -> ArmResult:
    measurements: list[Measurement] = []
    alerts = AlertLog()
    cleared = asyncio.Event()
    began_s = time.monotonic()

    def on_change(change: AlertChange) -> None:
        screen.alert(change)
        if not change.firing:
            cleared.set()

    async with following(
        http,
        stack.admin_url,
        alerts,
        clock=lambda: time.monotonic() - began_s,
        on_change=on_change,
    ):
        await _replay(scene, arm, stack, screen, measurements)
        if settle_s > 0 and alerts.firing and not cleared.is_set():
            # Without load the window empties, and what the load left firing clears.
            screen.settling(settle_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(cleared.wait(), settle_s)
    return ArmResult(
        strategy=arm.strategy,
        summary=summarise(measurements, time_scale=scene.speed, objective=OBJECTIVE),
        measurements=tuple(measurements),
        alerts=alerts,
    )


async def _replay(
    scene: Scene, arm: Arm, stack: Stack, screen: Screen, measurements: list[Measurement]
) -> None:
    job = Job(
        target=Target(stack.url, scene.model),
        requests=scene.requests,
        block_tokens=scene.block_tokens,
    )
    with screen.replaying(arm, len(job.requests)) as show:

        def on_done(measurement: Measurement) -> None:
            measurements.append(measurement)
            show(measurement)

        try:
            await run(job, on_done)
        except LoadError as exc:
            raise DemoError(str(exc)) from exc
