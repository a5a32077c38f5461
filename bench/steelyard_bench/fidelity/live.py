"""The replay through the live router: a process of its own per policy, real HTTP, real time."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from steelyard_bench.fidelity.engine import HOST, MODEL, Engine
from steelyard_bench.fidelity.errors import FidelityError
from steelyard_bench.fidelity.process import Ground, running, until_ready
from steelyard_bench.watch import fetch
from steelyard_operator.local.port import free_port
from steelyard_simulator.load.client import Target
from steelyard_simulator.load.errors import LoadError
from steelyard_simulator.load.job import Job, run
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.selection import at_rate
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.scheduled import STRATEGY_NAMES

START_S: Final = 60.0
POLL_S: Final = 0.2
READ_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Router:
    """Where clients go, and where it can be asked."""

    url: str
    admin_url: str


@asynccontextmanager
async def router(ground: Ground, engines: Sequence[Engine], policy: str) -> AsyncIterator[Router]:
    """One that places by that policy alone. Raises FidelityError."""
    section = {"workloads": [_workload(policy)]}
    async with serving(ground, engines, f"router-{policy}", section) as to:
        yield to


@asynccontextmanager
async def serving(
    ground: Ground, engines: Sequence[Engine], name: str, policy: Mapping[str, object]
) -> AsyncIterator[Router]:
    """A new router with that section of its configuration, from when it knows the model on all
    engines until the block ends. Raises FidelityError.
    """
    port, admin_port = free_port(HOST), free_port(HOST)
    found = Router(f"http://{HOST}:{port}", f"http://{HOST}:{admin_port}")
    config = ground.folder / f"{name}.json"
    document = {
        "service": {"endpoints": list(_endpoints(engines))},
        "policy": policy,
        "listen": {"host": HOST, "port": port, "admin_port": admin_port},
    }
    config.write_text(json.dumps(document), encoding="utf-8")
    command = [*ground.steelyard, "router", "--config", str(config), "--log-level", "warning"]
    async with running(ground, name, command) as child:
        ready = f"{found.admin_url}/readyz"
        await until_ready(ground, name, child, ready, within_s=START_S)
        await _until_whole(ground, found, len(engines))
        yield found


def _endpoints(engines: Sequence[Engine]) -> Iterator[dict[str, object]]:
    for number, engine in enumerate(engines):
        yield {"id": f"engine-{number}", "url": engine.url, "engine": engine.kind}


def _workload(policy: str) -> dict[str, object]:
    routing = {"strategy": STRATEGY_NAMES[policy]}
    return {"name": "default", "default": True, "routing": routing}


async def replay(
    to: Router, requests: Sequence[TraceRequest], *, block_tokens: int, speed: float = 1.0
) -> list[Measurement]:
    """Open loop, `speed` times as fast as their times say; when every reply is in.

    Raises FidelityError where something failed: a comparison of what is left would say nothing.
    """
    found: list[Measurement] = []
    job = Job(
        Target(to.url, MODEL),
        at_rate(requests, speed),
        block_tokens,
        read_timeout_s=READ_S,
    )
    await play(job, found.append)
    check_whole(found)
    return found


async def play(job: Job, tell: Callable[[Measurement], None]) -> None:
    """Raises FidelityError."""
    try:
        await run(job, tell)
    except LoadError as exc:
        raise FidelityError(str(exc)) from exc


def check_whole(found: Sequence[Measurement]) -> None:
    """Raises FidelityError where something failed."""
    if failed := [one.error for one in found if one.error is not None]:
        raise FidelityError(f"{len(failed)} of {len(found)} requests failed: {failed[0]}")


async def _until_whole(ground: Ground, to: Router, engines: int) -> None:
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        status = await fetch(ground.http, to.admin_url)
        known = status.instances if status is not None and status.ready else ()
        if sum(one.healthy and MODEL in one.models for one in known) == engines:
            return
        await asyncio.sleep(POLL_S)
    raise FidelityError(f"the router has not found its {engines} engines within {START_S:.0f} s")
