"""The event loop's side of waiting: who wakes, how waits end, and what is given back."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from support.known_predictor import Known
from support.pool_case import PRODUCT, instances, shown_width
from support.virtual import in_virtual_time

from steelyard_router import config
from steelyard_router.errors import ModelNotFound, NoInstance, Overloaded
from steelyard_router.proxy.line import TOO_LATE, Line, Rules
from steelyard_router.proxy.roster import Roster
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.request import SLO, RequestView
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy import MarginalDelay, Strategy
from steelyard_router.scheduling.waiting import Ask, OnTimeout, WaitLimit

ANYWHERE = None


def rules(longest: int = 100, **scheduler: object) -> Rules:
    whole = config.RouterConfig.model_validate(
        {"limits": {"queue": longest}, "policy": {"scheduler": scheduler}}
    )
    return Rules.of(whole, Random(1))


def endpoints(*names: str) -> list[config.Endpoint]:
    return [config.Endpoint(id=name, url=f"http://{name}:80") for name in names]


@dataclass
class World:
    """A line before instances of so many sequences each, in the time of the running loop."""

    names: tuple[str, ...] = ("a",)
    rules: Rules = field(default_factory=rules)
    width: int = 1
    predictor: Predictor | None = None
    strategy: Strategy = PRODUCT
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler: Scheduler = instances(
            dict.fromkeys(self.names, self.width), predictor=self.predictor
        )
        self.roster = Roster(config.Breaker(), config.Health(), on_limit=self._on_limit)
        self.roster.apply(endpoints(*self.names), now=0)
        loop = asyncio.get_running_loop()
        self.line = Line(
            self.scheduler, self.rules, time=loop.time, roster=self.roster, overloaded=self._full
        )

    def _on_limit(self, instance: str, limit: float) -> None:
        self.scheduler.limit(instance, limit)

    def _full(self, reason: str) -> Overloaded:
        self.refused.append(reason)
        return Overloaded(reason, retry_after_s=1)

    async def place(
        self,
        request: RequestView | None = None,
        limit: WaitLimit | None = None,
        among: Callable[[], frozenset[str] | None] = lambda: ANYWHERE,
    ) -> Decision:
        ask = Ask(request or RequestView(), self.strategy)
        return await self.line.place(ask, limit or WaitLimit(), among)

    def waits(self, request: RequestView | None = None, **how: Any) -> asyncio.Task[Decision]:
        return asyncio.create_task(self.place(request, **how))

    def end(self, decision: Decision) -> None:
        decision.lease.release(asyncio.get_running_loop().time())
        self.line.stir()


async def turns(many: int = 5) -> None:
    for _ in range(many):
        await asyncio.sleep(0)


def virtually(case: Callable[[], Coroutine[Any, Any, None]]) -> None:
    in_virtual_time(case())


def test_who_finds_room_does_not_wait_and_the_next_goes_when_it_is_free() -> None:
    async def case() -> None:
        world = World()
        first = await world.place()
        second = world.waits()
        await turns()
        assert len(world.line) == 1

        world.end(first)
        assert (await second).instance == "a"
        assert len(world.line) == 0

    virtually(case)


def test_who_goes_while_waiting_leaves_the_line_and_holds_nobody_up() -> None:
    async def case() -> None:
        world = World()
        first = await world.place()
        leaves, stays = world.waits(), world.waits()
        await turns()
        leaves.cancel()
        await turns()
        assert len(world.line) == 1

        world.end(first)
        world.end(await stays)
        assert world.scheduler.leases_held == 0

    virtually(case)


def test_who_goes_in_the_moment_of_being_placed_gives_the_lease_to_the_next() -> None:
    async def case() -> None:
        world = World()
        first = await world.place()
        leaves, stays = world.waits(), world.waits()
        await turns()
        world.end(first)
        await asyncio.sleep(0)  # the pool has been asked, the task has not run yet
        leaves.cancel()

        world.end(await stays)
        assert leaves.cancelled()
        assert world.scheduler.leases_held == 0

    virtually(case)


@pytest.mark.parametrize("on_timeout", list(OnTimeout))
def test_every_wait_ends_though_nothing_becomes_free(on_timeout: OnTimeout) -> None:
    async def case() -> None:
        world = World()
        await world.place()
        limit = WaitLimit(5.0, on_timeout)
        began_s = asyncio.get_running_loop().time()

        with pytest.raises(Overloaded):
            await world.place(limit=limit)
        assert asyncio.get_running_loop().time() - began_s == pytest.approx(limit.longest_s)
        assert world.refused == [TOO_LATE]

    virtually(case)


def test_more_than_may_wait_are_refused_at_once() -> None:
    async def case() -> None:
        world = World(rules=rules(longest=2))
        await world.place()
        waiting = [world.waits(), world.waits()]
        await turns()

        with pytest.raises(Overloaded, match="queue of 2"):
            await world.place()
        for each in waiting:
            each.cancel()

    virtually(case)


def test_nobody_waits_for_instances_that_take_nothing() -> None:
    async def case() -> None:
        world = World()
        await world.place()
        waits = world.waits()
        await turns()
        world.roster.apply([], now=1)
        world.line.stir()

        with pytest.raises(NoInstance):
            await waits
        with pytest.raises(NoInstance):
            await world.place()

    virtually(case)


def test_who_waits_goes_to_an_instance_that_has_come_since_for_its_model() -> None:
    async def case() -> None:
        world = World()
        served = frozenset({"a"})
        await world.place()
        waits = world.waits(among=lambda: served)
        await turns()

        world.scheduler.join("b")
        served = frozenset({"a", "b"})
        world.roster.apply(endpoints("a", "b"), now=1)
        world.line.stir()
        assert (await waits).instance == "b"

    virtually(case)


def test_who_waits_for_a_model_that_nobody_serves_any_more_is_told() -> None:
    async def case() -> None:
        world = World()
        gone = False

        def among() -> None:
            if gone:
                raise ModelNotFound("gone", param="model")

        await world.place()
        waits = world.waits(among=among)
        await turns()
        gone = True
        world.line.stir(changed=True)

        with pytest.raises(ModelNotFound):
            await waits

    virtually(case)


def test_a_new_rule_holds_for_those_who_wait() -> None:
    async def case() -> None:
        world = World()
        first = await world.place()
        slow = world.waits(RequestView(prompt_tokens=9000))
        quick = world.waits(RequestView(prompt_tokens=9))
        await turns()

        world.line.update(rules(order="ShortestPredicted"))
        world.end(first)
        await turns()
        assert quick.done()
        assert not slow.done()

        world.line.update(rules(mode="Disabled"))
        await turns()
        assert slow.done()

    virtually(case)


def test_a_scheduler_on_trial_holds_nobody_and_counts_whom_it_would() -> None:
    async def case() -> None:
        world = World(rules=rules(mode="DryRun"))
        for _ in range(3):
            await world.place(RequestView(workload="chat"))

        assert world.line.would_wait == {"chat": 2}

    virtually(case)


CHAT = RequestView(workload="chat", slo=SLO(tpot_s=0.012), expected_output_tokens=100)
BATCH = RequestView(workload="batch", slo=SLO(e2e_s=60.0), expected_output_tokens=600)


async def busy(mode: str) -> tuple[World, list[Decision]]:
    """With chats that would miss their targets beside a batch job."""
    world = World(rules=rules(mode=mode), width=256, predictor=Known(), strategy=MarginalDelay())
    chats = [await world.place(CHAT) for _ in range(20)]
    for chat in chats:
        chat.lease.first_byte(asyncio.get_running_loop().time())
    return world, chats


def test_who_waits_for_others_is_counted_and_goes_when_they_are_done() -> None:
    async def case() -> None:
        world, chats = await busy("Enforce")
        batch = world.waits(BATCH)
        await turns()
        assert (len(world.line), world.line.yielding) == (1, 1)

        for chat in chats:
            world.end(chat)
        await turns()
        assert batch.done()
        assert world.line.yielding == 0

    virtually(case)


def test_on_trial_it_is_only_counted() -> None:
    async def case() -> None:
        world, _ = await busy("DryRun")
        await world.place(BATCH)

        assert world.line.would_wait == {"batch": 1}
        assert len(world.line) == 0

    virtually(case)


@pytest.mark.parametrize("order", ["ShortestPredicted", "SimulatedAnnealing"])
def test_a_long_line_is_put_in_order_while_the_loop_goes_on(order: str) -> None:
    async def case() -> None:
        world = World(rules=rules(longest=1000, order=order))
        first = await world.place()
        sizes = [10 * (1 + 7 * number % 200) for number in range(200)]
        waiting = {
            tokens: world.waits(RequestView(prompt_tokens=tokens, expected_output_tokens=1.0))
            for tokens in sizes
        }
        await asyncio.sleep(1.0)  # of virtual time: the ordering takes turns of the loop

        world.end(first)
        await turns()
        done = [tokens for tokens, each in waiting.items() if each.done()]
        assert done == [min(sizes)]
        for each in waiting.values():
            each.cancel()
        await turns()
        world.line.close()

    virtually(case)


def test_requests_of_other_routers_that_end_let_one_go() -> None:
    async def case() -> None:
        world = World()
        shown_width(world.scheduler, "a", 1)
        world.scheduler.observe("a", running=1, waiting=0, now=0.0)
        waits = world.waits()
        await turns()
        assert not waits.done()

        world.scheduler.observe("a", running=0, waiting=0, now=1.0)
        world.line.stir()
        assert (await waits).instance == "a"

    virtually(case)
