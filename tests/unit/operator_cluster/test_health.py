"""Health from real progress, and the resync behind it."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from support.virtual import in_virtual_time

from steelyard_operator.cluster.health import Health
from steelyard_operator.cluster.heard import Heard
from steelyard_operator.cluster.key import ObjectKey, service_key
from steelyard_operator.cluster.metric import Metrics
from steelyard_operator.cluster.queue import WorkQueue
from steelyard_operator.cluster.resync import Resync
from steelyard_router.kube.client import Kube, Listing
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.resource import Object, Resource

PERIOD_S = 600.0


class Listed(Kube):
    """Lists what it is told to, or refuses."""

    def __init__(self, *items: Object) -> None:
        self.items = items
        self.away = False
        self.lists = 0

    async def list(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        self.lists += 1
        if self.away:
            raise KubeError(0, "Unreachable", "API server: away")
        return Listing(tuple(item for item in self.items if item["kind"] == resource.kind), "1")


def now() -> float:
    return asyncio.get_running_loop().time()


class World:
    """The parts, in virtual time."""

    def __init__(self, kube: Kube) -> None:
        self.hang = False
        self.rounds: list[float] = []
        self.heard: Sequence[Heard] = ()
        self.deaf: str | None = None
        self.hung: str | None = None
        rng = random.Random(1)
        self.queue = WorkQueue(self._work, rng=rng, observer=Metrics(), run_timeout_s=1e6)
        self.resync = Resync(kube, (), self._listed, period_s=PERIOD_S, clock=now, rng=rng)
        self.health = Health(self.queue, self.resync, self, now)
        self.queue.start(2)
        self._rounds = asyncio.create_task(self.resync.run())

    async def end(self) -> None:
        self._rounds.cancel()
        await asyncio.gather(self._rounds, return_exceptions=True)
        await self.queue.stop(0)

    def why_deaf(self, _: float) -> str | None:
        return self.deaf or self.hung

    def why_hung(self, _: float) -> str | None:
        return self.hung

    async def _work(self, key: ObjectKey) -> float | None:
        if self.hang:
            await asyncio.sleep(1e9)
        return None

    def _listed(self, events: Sequence[Heard]) -> None:
        self.rounds.append(now())
        self.heard = events


def test_it_is_well_for_as_long_as_it_works() -> None:
    async def scenario() -> tuple[World, set[tuple[str, ...]]]:
        world = World(Listed())
        said = set()
        for _ in range(100):
            world.queue.add(service_key("ns", "a"))
            await asyncio.sleep(100)
            said |= {world.health.problems(), world.health.broken()}
        await world.end()
        return world, said

    world, said = in_virtual_time(scenario())
    gaps = [after - before for before, after in zip(world.rounds, world.rounds[1:], strict=False)]

    assert said == {()}
    assert all(0.8 * PERIOD_S <= gap <= 1.2 * PERIOD_S + 0.01 for gap in gaps)
    assert len(set(gaps)) > 3


def test_a_key_that_hangs_is_a_problem_after_two_minutes() -> None:
    async def scenario() -> list[tuple[str, ...]]:
        world = World(Listed())
        world.hang = True
        world.queue.add(service_key("ns", "a"))
        said = []
        for _ in range(2):
            await asyncio.sleep(100)
            said += [world.health.problems(), world.health.broken()]
        await world.end()
        return said

    *early, late, broken = in_virtual_time(scenario())

    assert early == [(), ()]
    assert "LLMService ns/a" in late[0]
    assert broken == late


def test_resyncs_that_fail_are_a_problem_with_their_reason_and_end_it_when_they_succeed() -> None:
    async def scenario() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], int]:
        kube = Listed()
        world = World(kube)
        await asyncio.sleep(1)
        kube.away = True
        await asyncio.sleep(3 * PERIOD_S)
        away, broken, lists = world.health.problems(), world.health.broken(), kube.lists
        kube.away = False
        await asyncio.sleep(61)
        back = world.health.problems()
        await world.end()
        return away, broken, back, lists

    away, broken, back, lists = in_virtual_time(scenario())

    assert "API server: away" in away[0]
    assert broken == ()  # a fresh start would not bring the server back
    assert back == ()
    assert lists < 120  # with a back-off: not without end


def test_a_deaf_watcher_and_a_dead_worker_are_problems() -> None:
    async def scenario() -> list[tuple[str, ...]]:
        world = World(Listed())
        said = []
        world.deaf = "nothing is watched"
        await asyncio.sleep(1)
        said += [world.health.problems(), world.health.broken()]
        world.hung = "kopf does not end"
        await world.queue.stop(0)
        said += [world.health.problems(), world.health.broken()]
        await world.end()
        return said

    deaf, at_work, worse, broken = in_virtual_time(scenario())

    assert deaf == ("nothing is watched",)
    assert at_work == ()  # it is begun again all the time
    assert "a worker has ended" in worse
    assert set(broken) == {"a worker has ended", "kopf does not end"}


def test_a_resync_gives_everything_that_is_there() -> None:
    service = {"kind": "LLMService", "metadata": {"name": "a", "namespace": "ns"}}
    policy = {"kind": "SLOPolicy", "metadata": {"name": "p", "namespace": "ns"}, "spec": {}}

    async def scenario() -> Sequence[Heard]:
        world = World(Listed(service, policy))
        await asyncio.sleep(1)
        await world.end()
        return world.heard

    assert {event.name for event in in_virtual_time(scenario())} == {"a", "p"}


@pytest.mark.parametrize(
    ("status", "ready", "firing"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "True", 0),
        ({"alerts": [{"state": "Firing"}, {"state": "OK"}]}, "Unknown", 1),
        ({}, "Unknown", 0),
    ],
)
def test_objects_are_counted_by_their_last_status(status: Object, ready: str, firing: int) -> None:
    metrics = Metrics()
    key = service_key("ns", "a")
    metrics.status(key, status)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"steelyard_operator_{name}", labels)

    assert value("objects", kind="LLMService", ready=ready) == 1
    assert value("alerts_firing") == firing
    metrics.forget(key)
    assert value("objects", kind="LLMService", ready=ready) == 0
    assert value("alerts_firing") == 0
