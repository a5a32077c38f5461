"""Probes and polls against real servers on loopback."""

import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from support.patience import until

from steelyard_router import config
from steelyard_router.config import Endpoint, EngineType
from steelyard_router.engines.poller import Poller
from steelyard_router.engines.report import EngineReport
from steelyard_router.engines.rounds import Rounds
from steelyard_router.proxy import health
from steelyard_router.proxy.health import Prober
from steelyard_router.proxy.roster import Roster

SETTINGS = config.Health(interval_s=0.02, timeout_s=0.2, failures=2, successes=1)


@dataclass
class Engine:
    """A server whose side paths answer as told."""

    status: int = 200
    hang_s: float = 0.0
    models: object = field(default_factory=lambda: {"data": [{"id": "m", "max_model_len": 9}]})
    metrics: str = "vllm:num_requests_running 1\nvllm:prompt_tokens_total 10\n"
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        await asyncio.sleep(self.hang_s)
        match request.path:
            case "/v1/models" if isinstance(self.models, bytes):
                return web.Response(body=self.models)
            case "/v1/models":
                return web.json_response(self.models, status=self.status)
            case "/metrics":
                return web.Response(text=self.metrics, status=self.status)
            case _:
                return web.Response(status=self.status)


@asynccontextmanager
async def serving(engine: Engine) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", engine.answer)
    server = TestServer(app)
    await server.start_server(shutdown_timeout=0.1)
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        await server.close()


@asynccontextmanager
async def probing(
    *endpoints: Endpoint, settings: config.Health = SETTINGS
) -> AsyncIterator[tuple[Roster, Prober, dict[str, float]]]:
    limits: dict[str, float] = {}
    roster = Roster(config.Breaker(), settings, on_limit=limits.__setitem__)
    roster.apply(endpoints, now=0)
    prober = Prober(roster, settings, rng=random.Random(1))
    prober.follow()
    try:
        yield roster, prober, limits
    finally:
        await prober.close()


async def test_a_probe_finds_an_engine_healthy_and_learns_its_models() -> None:
    engine = Engine()
    async with serving(engine) as url, probing(Endpoint(id="a", url=url)) as (roster, _, limits):
        await until(lambda: roster["a"].models)

        assert roster["a"].healthy
        assert roster["a"].models == frozenset({"m"})
        assert roster["a"].cards[0]["max_model_len"] == 9
        assert limits == {}


async def test_an_engine_that_fails_its_probes_gets_nothing_new_until_it_is_back() -> None:
    engine = Engine(status=500)
    async with serving(engine) as url, probing(Endpoint(id="a", url=url)) as (roster, _, limits):
        await until(lambda: limits)
        assert limits == {"a": 0}
        assert not roster.usable(0)

        engine.status = 200
        await until(lambda: roster["a"].healthy)

        assert limits == {"a": math.inf}


async def test_nobody_listening_and_no_answer_in_time_are_failures() -> None:
    async with serving(Engine()) as url:
        pass  # closed again: the port refuses
    hanging = Engine(hang_s=30)
    settings = SETTINGS.model_copy(update={"timeout_s": 0.05})
    async with serving(hanging) as slow:
        endpoints = Endpoint(id="dead", url=url), Endpoint(id="slow", url=slow)
        async with probing(*endpoints, settings=settings) as (_, _, limits):
            await until(lambda: len(limits) == 2)

            assert limits == {"dead": 0, "slow": 0}


async def test_one_hanging_engine_delays_no_other() -> None:
    good, hanging = Engine(), Engine(hang_s=30)
    async with serving(good) as url, serving(hanging) as slow:
        endpoints = Endpoint(id="good", url=url), Endpoint(id="slow", url=slow)
        settings = SETTINGS.model_copy(update={"timeout_s": 10.0})
        async with probing(*endpoints, settings=settings) as (roster, _, _):
            await until(lambda: good.asked.count("/health") >= 5)

            assert roster["good"].healthy
            assert roster["slow"].healthy is None


@pytest.mark.parametrize(
    ("engine_type", "healthy"), [(EngineType.EXTERNAL, True), (EngineType.VLLM, False)]
)
async def test_only_a_foreign_server_may_lack_a_health_path(
    engine_type: EngineType,
    healthy: bool,
) -> None:
    async with serving(Engine(status=404)) as url:
        endpoint = Endpoint(id="a", url=url, engine=engine_type)
        async with probing(endpoint) as (roster, _, _):
            await until(lambda: roster["a"].healthy is not None)

            assert roster["a"].healthy is healthy
            assert roster["a"].models is None


@pytest.mark.parametrize("models", [b"{", "nonsense", {"data": []}, {"data": [3, {"id": 4}]}, []])
async def test_a_list_of_models_that_is_none_leaves_them_unknown(models: object) -> None:
    engine = Engine(models=models)
    async with serving(engine) as url, probing(Endpoint(id="a", url=url)) as (roster, _, _):
        await until(lambda: engine.asked.count("/v1/models") >= 2)

        assert roster["a"].healthy
        assert roster["a"].models is None


async def test_models_given_by_the_endpoint_are_not_asked_for() -> None:
    engine = Engine()
    async with serving(engine) as url:
        async with probing(Endpoint(id="a", url=url, models=("x",))) as (roster, _, _):
            await until(lambda: engine.asked.count("/health") >= 3)

            assert roster["a"].models == frozenset({"x"})
        assert "/v1/models" not in engine.asked


async def test_models_are_asked_for_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "RELEARN_S", 0.05)
    engine = Engine()
    async with serving(engine) as url, probing(Endpoint(id="a", url=url)) as (roster, _, _):
        await until(lambda: roster["a"].models)
        engine.models = {"data": [{"id": "m"}, {"id": "adapter"}]}
        await until(lambda: roster["a"].models == frozenset({"m", "adapter"}))

        assert engine.asked.count("/v1/models") < engine.asked.count("/health")


async def test_members_that_left_are_not_probed_any_more() -> None:
    old, new = Engine(), Engine()
    async with serving(old) as url, serving(new) as other:
        async with probing(Endpoint(id="a", url=url)) as (roster, prober, _):
            await until(lambda: old.asked)
            roster.apply([Endpoint(id="b", url=other)], now=1)
            prober.follow()
            await until(lambda: roster["b"].models)
            asked = len(old.asked)
            await until(lambda: len(new.asked) > 5)

            assert len(old.asked) <= asked + 1


async def test_a_new_interval_holds_from_the_next_probe_on() -> None:
    engine = Engine()
    async with serving(engine) as url:
        async with probing(Endpoint(id="a", url=url)) as (_, prober, _):
            await until(lambda: engine.asked)
            prober.update(SETTINGS.model_copy(update={"interval_s": 60.0, "path": "other"}))
            await until(lambda: "/other" in engine.asked)
            await asyncio.sleep(0.1)

            assert engine.asked.count("/other") == 1


async def test_closing_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    async with serving(Engine(hang_s=30)) as url:
        async with probing(*(Endpoint(id=f"e{n}", url=url) for n in range(20))):
            await asyncio.sleep(0.05)
            assert len(asyncio.all_tasks()) > len(before) + 15
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before


async def test_an_error_in_a_visit_does_not_end_the_rounds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    visits = 0

    async def visit(_endpoint: Endpoint, _session: object) -> None:
        nonlocal visits
        visits += 1
        raise RuntimeError("strange")

    rounds = Rounds(visit, interval_s=0.01, rng=random.Random(1))
    rounds.follow([Endpoint(id="a", url="http://a:1")])
    await until(lambda: visits >= 3)
    await rounds.close()
    await rounds.close()

    assert "visiting a failed" in caplog.text


async def test_polls_report_what_the_engine_measures() -> None:
    engine, reports = Engine(), list[tuple[str, EngineReport, float]]()
    poller = Poller(
        lambda *report: reports.append(report),
        interval_s=0.02,
        rng=random.Random(1),
        clock=lambda: 42.0,
    )
    async with serving(engine) as url:
        poller.follow([Endpoint(id="a", url=url, engine=EngineType.SIMULATOR)])
        await until(lambda: reports)
        engine.metrics = engine.metrics.replace("10", "11")
        await until(lambda: reports[-1][1].progressed)
        engine.metrics = engine.metrics.replace("11", "1")
        await until(lambda: reports[-1][1].restarted)
        await poller.close()

    instance, report, now = reports[0]
    assert (instance, now) == ("a", 42.0)
    assert report.running == 1
    assert poller.failures == 0


async def test_a_poll_that_fails_is_counted_and_tried_again() -> None:
    engine, reports = Engine(status=503), list[str]()
    poller = Poller(
        lambda instance, *_: reports.append(instance),
        interval_s=0.02,
        timeout_s=0.1,
        rng=random.Random(1),
    )
    async with serving(engine) as url:
        poller.follow([Endpoint(id="a", url=url)])
        await until(lambda: poller.failures >= 2)
        assert not reports

        engine.status = 200
        await until(lambda: reports)
        engine.metrics = "nothing of use"
        failures = poller.failures
        await until(lambda: poller.failures > failures)
        poller.follow([])
        await poller.close()


async def test_an_answer_without_end_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_router.engines.fetch.MAX_BYTES", 1000)
    engine = Engine(metrics="vllm:num_requests_running 1\n" * 1000)
    poller = Poller(lambda *_: pytest.fail("read"), interval_s=0.02, rng=random.Random(1))
    async with serving(engine) as url:
        poller.follow([Endpoint(id="a", url=url)])
        await until(lambda: poller.failures >= 2)
        await poller.close()
