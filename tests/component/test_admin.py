import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families as parse_text
from support.observed import (
    NOW,
    MadeUp,
    config_of,
    instance_of,
    observer_of,
    parse_openmetrics,
    served,
)

from steelyard_router.observability.admin import make_admin_app
from steelyard_router.observability.exposition import SLICE_SAMPLES
from steelyard_router.observability.snapshot import RouterSnapshot
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy.multiplicative import Multiplicative

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@contextlib.asynccontextmanager
async def admin(source: MadeUp, **settings: float) -> AsyncIterator[aiohttp.ClientSession]:
    app = make_admin_app(source, clock=lambda: NOW, wall=lambda: 1_700_000_000.0, **settings)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        async with aiohttp.ClientSession(f"http://{host}:{port}") as client:
            yield client
    finally:
        await runner.cleanup()


@pytest.fixture
def source() -> MadeUp:
    return MadeUp(observer_of("chat", "code"))


def busy(source: MadeUp, *, instances: int = 40) -> MadeUp:
    """As many series as a middling fleet has."""
    names = [f"engine-{number}" for number in range(instances)]
    source.now = RouterSnapshot(revision="1", instances=tuple(map(instance_of, names)))
    for name in names:
        for workload in ("chat", "code"):
            source.observer.finished(served(workload, name), NOW)
    return source


async def ask(client: aiohttp.ClientSession, path: str) -> tuple[int, dict[str, Any]]:
    async with client.get(path) as response:
        assert response.content_type == "application/json"
        return response.status, await response.json()


async def test_a_plain_scrape_gets_the_text_format(source: MadeUp) -> None:
    async with admin(busy(source)) as client, client.get("/metrics") as response:
        text = await response.text()

    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert {"steelyard_requests", "process_cpu_seconds"} < {
        family.name for family in parse_text(text)
    }


async def test_a_scrape_that_prefers_openmetrics_gets_it_compressed(source: MadeUp) -> None:
    async with (
        admin(busy(source)) as client,
        client.get("/metrics", headers={"Accept": OPENMETRICS}) as response,
    ):
        text = await response.text()

    assert response.headers["Content-Type"].startswith(OPENMETRICS)
    assert response.headers["Content-Encoding"] in {"gzip", "deflate"}
    assert text.endswith("# EOF\n")
    assert "steelyard_requests" in {family.name for family in parse_openmetrics(text)}


async def test_a_large_scrape_lets_the_event_loop_turn(source: MadeUp) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with admin(busy(source)) as client:
        counting = asyncio.create_task(count())
        async with client.get("/metrics") as response:
            lines = (await response.text()).count("\n")
        counting.cancel()

    assert turns >= lines / SLICE_SAMPLES


async def test_a_scrape_that_takes_too_long_is_cut_off(
    source: MadeUp, caplog: pytest.LogCaptureFixture
) -> None:
    async with admin(busy(source, instances=200), scrape_timeout_s=0.005) as client:
        with pytest.raises(aiohttp.ClientError):
            async with client.get("/metrics") as response:
                await response.read()

        assert (await ask(client, "/healthz"))[0] == 200
    assert [record.message for record in caplog.records] == [
        "a scrape of /metrics took over 0.005 s: cut off"
    ]


async def test_a_living_process_is_healthy_whatever_its_state(source: MadeUp) -> None:
    source.now = RouterSnapshot(revision=None, draining=True)
    async with admin(source) as client:
        assert await ask(client, "/healthz") == (200, {"status": "ok"})


async def test_readiness_follows_the_state_of_the_router(source: MadeUp) -> None:
    async with admin(source) as client:
        assert await ask(client, "/readyz") == (200, {"status": "ready"})

        source.now = RouterSnapshot(revision="1", instances=(instance_of("a", limit=0.0),))
        code, body = await ask(client, "/readyz")

    assert code == 503
    assert body["error"]["code"] == "not_ready"
    assert "none of the 1 endpoints is usable" in body["error"]["message"]


async def test_status_and_metrics_tell_the_same(source: MadeUp) -> None:
    async with admin(busy(source)) as client:
        _, status = await ask(client, "/status")
        async with client.get("/metrics") as response:
            text = await response.text()

    counted = sum(
        sample.value
        for family in parse_text(text)
        if family.name == "steelyard_requests"
        for sample in family.samples
    )
    assert status["totals"]["requests"] == counted == 80
    assert len(status["instances"]) == 40


async def test_decisions_are_off_and_the_answer_tells_how_to_get_them(source: MadeUp) -> None:
    async with admin(source) as client:
        code, body = await ask(client, "/debug/decisions")

    assert (code, body["error"]["code"]) == (404, "decisions_off")
    assert "debug: {decisions: 1000}" in body["error"]["message"]


async def test_decisions_can_be_switched_on_by_a_reload(source: MadeUp) -> None:
    scheduler, view = Scheduler(index_bytes=1_000_000), RequestView(workload="chat")
    scheduler.join("a")
    source.observer.update(config_of("chat", decisions=10), NOW)
    for number in range(3):
        decision = scheduler.choose(view, Multiplicative(), NOW, explain=source.observer.explains)
        source.observer.decided(f"r{number}", view, decision, NOW)
    async with admin(source) as client:
        _, every = await ask(client, "/debug/decisions")
        _, newest = await ask(client, "/debug/decisions?n=1")

    assert [row["request_id"] for row in every["decisions"]] == ["r2", "r1", "r0"]
    assert newest["decisions"] == every["decisions"][:1]
    assert newest["decisions"][0]["candidates"][0]["instance"] == "a"


@pytest.mark.parametrize("n", ["0", "-1", "many", "1e3", "", "9" * 5000, "٣"])
async def test_a_wrong_number_of_decisions_is_refused(n: str) -> None:
    source = MadeUp(observer_of("chat", decisions=10))
    async with (
        admin(source) as client,
        client.get("/debug/decisions", params={"n": n}) as response,
    ):
        body = await response.json()

    assert (response.status, body["error"]["param"]) == (400, "n")


async def test_unknown_paths_and_methods_get_json_errors(source: MadeUp) -> None:
    async with admin(source) as client:
        code, body = await ask(client, "/nothing")
        async with client.post("/status") as response:
            refused = await response.json()

    assert code == 404
    assert "/nothing" in body["error"]["message"]
    assert (response.status, response.headers["Allow"]) == (405, "GET,HEAD")
    assert set(refused["error"]) == {"message", "type", "param", "code"}
