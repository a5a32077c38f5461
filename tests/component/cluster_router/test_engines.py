"""A router finds its engines by EndpointSlices, whatever the API server does meanwhile."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from support.cluster_router import SLICES, cluster_config, cluster_router, slice_for, until
from support.fake_kube import fake_kube
from support.scripted import STREAM_HEAD, Received, ScriptedEngine, chunk, engines, event


async def test_engines_come_and_go_with_the_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(2) as (one, two),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch) as site,
    ):
        reason = "Service chat-engine has no endpoint"
        status = await until(site.proxy.status, lambda found: found["unserved_reason"] == reason)
        assert (status["replica"], status["shadow"]) == ("chat-router-0", None)

        site.engine(one)
        await site.until_states(e0="ready")
        site.engine(two)
        await site.until_states(e0="ready", e1="ready")
        answers = [await site.proxy.chat(str(n)) for n in range(4)]
        assert {status for status, _ in answers} == {200}
        assert one.requests
        assert two.requests

        site.engine_gone(one)
        await site.until_states(e1="ready")
        assert (await site.proxy.chat())[0] == 200


async def test_found_engines_are_no_part_of_the_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = cluster_config()
    async with (
        engines(1) as (one,),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, config=config, engines=[one]) as site,
    ):
        await site.until_states(e0="ready")

        assert (await site.proxy.status())["revision"] == config.revision


async def test_a_terminating_engine_gets_nothing_new_and_its_streams_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = asyncio.Event()

    async def stream(_: ScriptedEngine, __: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + chunk(event("first")))
        await writer.drain()
        await release.wait()
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with (
        engines(2) as (old, new),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[old]) as site,
    ):
        old.behave = stream
        await site.until_states(e0="ready")
        running = asyncio.ensure_future(site.proxy.chat(stream=True))
        await until(site.proxy.status, lambda found: found["leases_held"] == 1)

        site.engine(new)
        site.engine(old, ready=False, serving=True, terminating=True)
        await site.until_states(e0="draining", e1="ready")
        for number in range(5):
            assert (await site.proxy.chat(str(number)))[0] == 200
        assert len(old.requests) == 1

        release.set()
        status, body = await running
        assert status == 200
        assert body.endswith(b"[DONE]\n\n")
        await site.until_states(e1="ready")


async def test_when_none_is_ready_those_that_answer_our_probes_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(3) as (one, two, dead),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[one]) as site,
    ):
        dead.healthy = False
        await site.until_states(e0="ready")
        site.engine(two, ready=False)
        site.engine(dead, ready=False)
        await site.until_states(e0="ready", e1="not_ready", e2="unhealthy")

        site.engine(one, ready=False)
        await site.until_states(e0="last_resort", e1="last_resort", e2="unhealthy")
        for number in range(6):
            assert (await site.proxy.chat(str(number)))[0] == 200
        assert not dead.requests

        site.engine(one)
        await site.until_states(e0="ready", e1="not_ready", e2="unhealthy")


async def test_an_api_server_that_is_away_takes_no_engine_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(2) as (one, two),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[one]) as site,
    ):
        await site.until_states(e0="ready")
        await kube.down()
        kube.put(SLICES, slice_for(two))
        kube.remove(SLICES, "chat-engine-e0", silently=True)
        for number in range(20):
            assert (await site.proxy.chat(str(number)))[0] == 200
            await asyncio.sleep(0.02)
        assert await site.states() == {"e0": "ready"}

        await kube.up()
        await site.until_states(e1="ready")


async def test_an_api_server_that_answers_with_errors_takes_no_engine_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(2) as (one, two),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[one]) as site,
    ):
        await site.until_states(e0="ready")
        kube.breaks = True
        kube.hang_up()
        await until_asked(kube.requests, times=3)
        assert (await site.proxy.chat())[0] == 200

        kube.put(SLICES, slice_for(two))
        kube.breaks = False
        await site.until_states(e0="ready", e1="ready")


async def until_asked(requests: list[str], *, times: int) -> None:
    seen = len(requests)
    async with asyncio.timeout(10):
        while sum(SLICES in request for request in requests[seen:]) < times:
            await asyncio.sleep(0.01)


async def test_a_watch_that_hangs_up_or_forgets_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(3) as (one, two, three),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[one]) as site,
    ):
        await site.until_states(e0="ready")
        kube.hang_up()
        site.engine(two)
        await site.until_states(e0="ready", e1="ready")

        kube.forgets = True
        kube.hang_up()
        kube.remove(SLICES, "chat-engine-e0", silently=True)
        site.engine(three)
        await site.until_states(e1="ready", e2="ready")
        kube.forgets = False
        site.engine_gone(two)
        await site.until_states(e2="ready")


async def test_a_port_that_no_slice_has_is_told_in_status_and_to_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(1) as (one,),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch) as site,
    ):
        item = slice_for(one)
        item["ports"][0]["name"] = "web"
        kube.put(SLICES, item)

        status = await until(
            site.proxy.status, lambda found: "none with port http" in found["unserved_reason"]
        )
        assert f"web ({one.port})" in status["unserved_reason"]
        assert (await site.proxy.chat())[0] == 503
        async with aiohttp.ClientSession() as client:
            async with client.get(site.proxy.admin + "/readyz") as response:
                assert response.status == 200
