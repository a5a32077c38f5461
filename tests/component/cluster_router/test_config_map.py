"""A policy edit reaches the router by the API at once; the mounted files are the fall-back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.cluster_router import (
    CONFIG_MAPS,
    EVENTS,
    cluster_config,
    cluster_router,
    config_map,
    until,
)
from support.fake_kube import fake_kube
from support.scripted import engines

from steelyard_router.config import RouterConfig


def edited(number: int) -> RouterConfig:
    workloads = [{"name": "chat", "default": True, "slo": {"ttft_ms": 100 + number}}]
    return cluster_config(policy={"workloads": workloads}, policy_ref={"name": "p", "uid": "u"})


BAD = {"service.yaml": "service:\n  nam: x\n"}


def bad_map() -> dict[str, Any]:
    return config_map(edited(0)) | {"data": BAD}


async def test_an_edit_of_the_config_map_is_in_force_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(1) as fleet,
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=fleet) as site,
    ):
        for number in range(5):
            site.configure(edited(number))
            await site.until_revision(edited(number))

        status = await site.proxy.status()
        assert status["policy_ref"] == {"name": "p", "uid": "u"}
        assert status["config_error"] is None
        assert await site.states() == {"e0": "ready"}  # found ones stay over a reload
        assert (await site.proxy.chat())[0] == 200


async def test_mounted_files_that_come_later_do_not_roll_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        site.configure(edited(1))
        await site.until_revision(edited(1))
        site.configure(edited(2))
        await site.until_revision(edited(2))

        seen = {edited(2).revision}
        for trailing in (edited(1), edited(2)):
            site.mount(trailing)
            for _ in range(60):
                seen.add((await site.proxy.status())["revision"])
                await asyncio.sleep(0.02)

        assert seen == {edited(2).revision}


async def test_without_the_api_the_mounted_files_are_followed_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        site.configure(edited(1))
        await site.until_revision(edited(1))
        await kube.down()
        site.mount(edited(2))
        await site.until_revision(edited(2))

        site.configure(edited(3))
        await kube.up()
        await site.until_revision(edited(3))


async def test_a_router_that_starts_without_the_api_runs_on_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube:
        await kube.down()
        async with cluster_router(kube, tmp_path, monkeypatch, config=edited(1)) as site:
            status = await site.proxy.status()
            assert status["revision"] == edited(1).revision
            assert status["unserved_reason"].startswith(
                "the endpoints of Service chat-engine are not known: "
            )
            site.mount(edited(2))
            await site.until_revision(edited(2))

            site.configure(edited(3))
            await kube.up()
            await site.until_revision(edited(3))


async def test_a_bad_config_map_is_refused_shown_and_told_as_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        site.configure(edited(1))
        await site.until_revision(edited(1))

        kube.put(CONFIG_MAPS, bad_map())
        status = await until(site.proxy.status, lambda found: found["config_error"])
        assert status["revision"] == edited(1).revision
        assert status["config_error"].startswith(
            "ConfigMap team/chat-router/service.yaml:2: service.nam: unknown field"
        )
        found = await until(_reload_events(kube.objects), bool)
        assert found[0]["involvedObject"]["uid"] == "uid-of-chat"
        assert found[0]["type"] == "Warning"
        assert "service.yaml:2: service.nam" in found[0]["message"]

        site.configure(edited(1))
        status = await until(site.proxy.status, lambda found: found["config_error"] is None)
        assert status["revision"] == edited(1).revision


def _reload_events(objects: dict[str, dict[str, Any]]) -> Any:
    async def ask() -> list[dict[str, Any]]:
        events = objects.get(EVENTS, {}).values()
        return [event for event in events if event["reason"] == "ConfigReloadFailed"]

    return ask


async def test_a_config_map_that_is_deleted_changes_nothing_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        site.configure(edited(1))
        await site.until_revision(edited(1))

        kube.remove(CONFIG_MAPS, "chat-router")
        status = await until(site.proxy.status, lambda found: found["config_error"])
        assert "ConfigMap team/chat-router does not exist" in status["config_error"]
        assert status["revision"] == edited(1).revision

        site.configure(edited(2))
        await site.until_revision(edited(2))
        assert (await site.proxy.status())["config_error"] is None


async def test_other_config_maps_are_none_of_its_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        site.configure(edited(1))
        await site.until_revision(edited(1))
        other = config_map(edited(2))
        other["metadata"]["name"] = "other"
        kube.put(CONFIG_MAPS, other)
        kube.put(CONFIG_MAPS, config_map(edited(3)))

        await site.until_revision(edited(3))


async def test_what_cannot_be_followed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_kube() as kube, cluster_router(kube, tmp_path, monkeypatch) as site:
        place = edited(1).kubernetes
        assert place is not None
        moved = place.model_copy(update={"lease": "other", "engine_port": 9000})
        changed = edited(1).model_copy(update={"kubernetes": moved})
        site.configure(changed)
        await site.until_revision(changed)

        assert "changes of kubernetes.lease take effect at the next start" in caplog.text
        assert "engine_port" not in caplog.text


async def test_another_port_of_the_engines_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        engines(1) as (one,),
        fake_kube() as kube,
        cluster_router(kube, tmp_path, monkeypatch, engines=[one]) as site,
    ):
        await site.until_states(e0="ready")
        place = edited(1).kubernetes
        assert place is not None
        for port, states in (("web", {}), (one.port, {"e0": "ready"})):
            moved = place.model_copy(update={"engine_port": port})
            site.configure(edited(1).model_copy(update={"kubernetes": moved}))
            await site.until_states(**states)
