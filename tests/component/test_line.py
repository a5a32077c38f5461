"""Requests that wait in front of engines: a live router orders them, by the policy in force."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.patience import until
from support.routing import Running, config_for, running
from support.scripted import Received, ScriptedEngine, engines, plain


@dataclass
class Gate:
    """An engine that answers one request each time it is let."""

    names: list[str] = field(default_factory=list)
    """What it was asked, in order."""
    heads: list[Received] = field(default_factory=list)
    _let: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def answer(
        self, engine: ScriptedEngine, request: Received, writer: asyncio.StreamWriter
    ) -> None:
        del engine
        self.names.append(json.loads(request.body)["messages"][0]["content"])
        self.heads.append(request)
        await self._let.acquire()
        writer.write(plain(b'{"choices": []}'))

    def let(self, many: int = 1) -> None:
        for _ in range(many):
            self._let.release()


def policy(
    workloads: list[dict[str, Any]] | None = None, **sections: dict[str, Any]
) -> dict[str, Any]:
    batch = {"max_sequences": 1, **sections.pop("batch", {})}
    some = workloads or [{"name": "w", "default": True}]
    return {"workloads": some, "batch": batch, **sections}


@asynccontextmanager
async def router(policy: dict[str, Any]) -> AsyncIterator[tuple[Running, Gate]]:
    async with engines(1) as (engine,):
        gate = Gate()
        engine.behave = gate.answer
        async with running(config_for([engine], policy=policy)) as running_router:
            yield running_router, gate


async def sent(running: Running, name: str, **headers: str) -> asyncio.Task[int]:
    """A request that has come to the router."""
    before = running.router.runtime.admission.running
    body = {"model": "m", "messages": [{"role": "user", "content": name}]}

    async def ask() -> int:
        async with running.client.post(
            running.url + "/v1/chat/completions", json=body, headers=headers
        ) as response:
            await response.read()
            return response.status

    task = asyncio.create_task(ask())
    await until(lambda: task.done() or running.router.runtime.admission.running > before)
    return task


WORKLOADS: list[dict[str, Any]] = [
    {"name": "w", "default": True, "slo": {"ttft_ms": 20_000}},
    {"name": "soon", "slo": {"ttft_ms": 5_000}},
    {"name": "first", "priority": 1},
]


async def test_what_waits_goes_by_class_and_deadline_not_by_arrival() -> None:
    async with router(policy(WORKLOADS, scheduler={"order": "Deadline"})) as (running, gate):
        tasks = [
            await sent(running, name, **{"x-steelyard-workload": name})
            for name in ("runs", "w", "soon", "first")
        ]
        status = await running.status()
        assert status["waiting"] == 3
        assert gate.names == ["runs"]

        gate.let(4)
        assert await asyncio.gather(*tasks) == [200] * 4
        assert gate.names == ["runs", "first", "soon", "w"]
        await running.settled()


async def test_every_field_of_waiting_is_followed_by_those_who_wait() -> None:
    async with router(policy(WORKLOADS)) as (running, gate):
        tasks = [await sent(running, name) for name in ("runs", "one", "two", "three")]
        assert gate.names == ["runs"]

        def take_over(**sections: dict[str, Any]) -> None:
            config = running.router.config
            changed = config.model_validate(
                config.model_dump() | {"policy": policy(WORKLOADS, **sections)}
            )
            running.router.reload(changed)

        take_over(batch={"max_sequences": 2})
        await until(lambda: len(gate.names) == 2)
        take_over(batch={"max_sequences": 3})
        await until(lambda: len(gate.names) == 3)
        take_over(scheduler={"mode": "Disabled"})
        await until(lambda: len(gate.names) == 4)
        gate.let(4)
        assert await asyncio.gather(*tasks) == [200] * 4
        await running.settled()


async def test_a_workload_has_no_more_on_an_instance_than_its_own_bound() -> None:
    bounded: list[dict[str, Any]] = [
        {"name": "w", "default": True, "max_sequences_per_instance": 1},
        {"name": "other"},
    ]
    async with router(policy(bounded, batch={"max_sequences": 9})) as (running, gate):
        tasks = [await sent(running, "runs"), await sent(running, "waits")]
        tasks.append(await sent(running, "other", **{"x-steelyard-workload": "other"}))
        await until(lambda: len(gate.names) == 2)
        assert gate.names == ["runs", "other"]

        gate.let(3)
        assert await asyncio.gather(*tasks) == [200] * 3


@pytest.mark.parametrize("of", ["policy", "workload"])
async def test_who_has_waited_too_long_is_refused_with_a_time_to_come_back(of: str) -> None:
    queue = {"max_wait_s": 1, "on_timeout": "Reject"}
    workload: dict[str, Any] = {"name": "w", "default": True}
    given = policy([workload], queue=queue)
    if of == "workload":
        given = policy([workload | {"queue": queue}])
    async with router(given) as (running, gate):
        runs, waits = await sent(running, "runs"), await sent(running, "waits")

        assert await asyncio.wait_for(waits, 5) == 429
        gate.let()
        assert await runs == 200
        assert gate.names == ["runs"]
        await running.settled()


async def test_a_client_that_goes_while_it_waits_is_forgotten() -> None:
    async with router(policy()) as (running, gate):
        runs, goes, stays = [await sent(running, name) for name in ("runs", "goes", "stays")]
        goes.cancel()
        await until(lambda: len(running.router.runtime.line) == 1)

        gate.let(2)
        assert [await runs, await stays] == [200, 200]
        assert gate.names == ["runs", "stays"]
        await running.settled()


async def test_a_scheduler_on_trial_holds_nobody() -> None:
    async with router(policy(scheduler={"mode": "DryRun"})) as (running, gate):
        tasks = [await sent(running, name) for name in ("one", "two", "three")]
        await until(lambda: len(gate.names) == 3)
        assert running.router.runtime.line.would_wait == {"w": 2}
        gate.let(3)
        assert await asyncio.gather(*tasks) == [200] * 3


async def test_an_engine_is_told_a_rank_where_the_policy_says_so_and_never_a_clients() -> None:
    client = {"x-vllm-priority": "-99"}
    for told, expected in (("None", None), ("Header", True)):
        async with router(policy(scheduler={"engine_priority": told})) as (running, gate):
            gate.let(1)
            assert await (await sent(running, "it", **client)) == 200
            rank = gate.heads[0].header("x-vllm-priority")
            assert rank != "-99"
            assert (rank is not None) == bool(expected)
