"""A new configuration takes effect whole and live; a bad one changes nothing."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from support.patience import until
from support.routing import config_for, running
from support.scripted import STREAM_HEAD, Received, ScriptedEngine, chunk, engines, event

from steelyard_router.app import Router
from steelyard_router.discovery.file import load_config
from steelyard_router.errors import ConfigError


def _policy(strategy: str) -> dict[str, Any]:
    return {"workloads": [{"name": "w", "default": True, "routing": {"strategy": strategy}}]}


async def test_an_edit_of_the_file_is_in_force_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "router.yaml"
    async with engines(2) as (one, two):
        path.write_text(config_for([one]).model_dump_json())
        loop = asyncio.get_running_loop()
        router = Router(load_config(path), time=loop.time, rng=random.Random(1))
        async with router.serving(path) as (port, _), aiohttp.ClientSession() as client:
            path.write_text(config_for([two], policy=_policy("LeastRequest")).model_dump_json())
            await until(lambda: router.runtime.roster.get("e1") is not None)
            async with client.get(f"http://127.0.0.1:{port}/x") as response:
                assert response.headers["x-steelyard-instance"] == "e1"
            assert router.runtime.active.rules.strategies["w"].name == "LeastRequest"


async def test_a_broken_file_leaves_the_last_good_configuration_in_force(tmp_path: Path) -> None:
    path = tmp_path / "router.yaml"
    async with engines(1) as (engine,):
        path.write_text(config_for([engine]).model_dump_json())
        loop = asyncio.get_running_loop()
        router = Router(load_config(path), time=loop.time, rng=random.Random(1))
        revision = router.config.revision
        async with router.serving(path) as (port, _), aiohttp.ClientSession() as client:
            path.write_text("service:\n  endpoints:\n  - id: e0\n    url: ftp://nowhere\n")
            await until(lambda: router.snapshot(loop.time()).config_error is not None)

            snapshot = router.snapshot(loop.time())
            assert snapshot.ready
            assert snapshot.revision == revision
            assert "router.yaml:4" in (snapshot.config_error or "")
            assert "url" in (snapshot.config_error or "")
            async with client.get(f"http://127.0.0.1:{port}/x") as response:
                assert response.status == 200


@pytest.mark.parametrize(
    ("text", "line", "names"),
    [
        ("service:\n  endpoints: 7\n", 2, "endpoints"),
        (
            "policy:\n  workloads:\n  - {name: a, default: true, routing: {stratgy: Auto}}\n",
            3,
            "stratgy",
        ),
        ("listen:\n  port: 99999\n", 2, "port"),
        ("service: {endpoints: [\n", 2, ""),
    ],
)
def test_a_bad_file_is_refused_with_line_and_field(
    tmp_path: Path, text: str, line: int, names: str
) -> None:
    path = tmp_path / "router.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert f"router.yaml:{line}" in str(caught.value)
    assert names in str(caught.value)


async def test_a_thousand_reloads_under_load_cost_no_request() -> None:
    async with engines(2) as pair:
        configs = [
            config_for(pair, policy=_policy(name)) for name in ("RoundRobin", "Multiplicative")
        ]
        async with running(configs[0]) as proxy:
            stop = False

            async def load() -> list[int]:
                statuses: list[int] = []
                while not stop:
                    statuses.append((await proxy.chat(stream=len(statuses) % 2 == 0))[0])
                return statuses

            clients = [asyncio.ensure_future(load()) for _ in range(4)]
            for number in range(1000):
                proxy.router.reload(configs[number % 2])
                await asyncio.sleep(0)
            stop = True
            statuses = [status for client in clients for status in await client]

            assert set(statuses) == {200}
            await proxy.settled()


async def test_a_removed_endpoint_finishes_its_streams_and_leaves_nothing_behind() -> None:
    release = asyncio.Event()

    async def behave(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("first")))
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with engines(2, behave=behave) as pair, running(config_for(pair)) as proxy:
        streams = [asyncio.ensure_future(proxy.chat("y" * 5000, stream=True)) for _ in range(6)]
        await until(lambda: sum(len(engine.requests) for engine in pair) == 6)
        proxy.router.reload(config_for(pair[:1]))
        states = {view["id"]: view["state"] for view in (await proxy.status())["instances"]}
        assert states["e1"] == "draining"
        release.set()
        assert {(await stream)[0] for stream in streams} == {200}
        await asyncio.sleep(0.6)

        assert [view["id"] for view in (await proxy.status())["instances"]] == ["e0"]
        proxy.router.reload(config_for(pair[1:]))
        await asyncio.sleep(0.6)
        assert (await proxy.status())["index"]["blocks"] == 0


async def test_no_prompt_text_is_logged_or_exported(caplog: pytest.LogCaptureFixture) -> None:
    canary = "canary-7f3a"
    async with engines(1) as (engine,):
        config = config_for([engine], debug={"decisions": 10}, policy=_policy("Multiplicative"))
        with caplog.at_level("DEBUG"):
            async with running(config) as proxy:
                await proxy.chat(canary * 100)
                await proxy.client.post(
                    proxy.url + "/v1/completions", data=json.dumps({"prompt": [canary]})[:-2]
                )
                exported = ""
                for page in ("/status", "/metrics", "/debug/decisions"):
                    async with proxy.client.get(proxy.admin + page) as response:
                        assert response.status == 200
                        exported += await response.text()

        assert canary not in exported
        assert canary not in caplog.text
