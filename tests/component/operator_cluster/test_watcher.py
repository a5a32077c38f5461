"""kopf on its thread, against a server over loopback: what it hears, and what it never does."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.kopf_server import KINDS, TOKEN, KopfServer, kopf_server
from support.patience import until

from steelyard_operator.cluster.heard import Heard
from steelyard_operator.cluster.watcher import Watcher

Object = dict[str, Any]


def body(kind: str, name: str, *, namespace: str = "ns", version: str = "11") -> Object:
    metadata = {
        "name": name, "namespace": namespace, "uid": f"u-{name}", "resourceVersion": version,
    }  # fmt: skip
    return {"kind": kind, "metadata": metadata}


@pytest.fixture
async def server() -> AsyncIterator[KopfServer]:
    async with kopf_server() as found:
        yield found


@contextlib.asynccontextmanager
async def watching(
    server: KopfServer, folder: Path, *namespaces: str
) -> AsyncIterator[tuple[Watcher, list[Heard]]]:
    events: list[Heard] = []
    watcher = Watcher(
        events.append,
        namespaces=namespaces,
        kubeconfig=str(server.kubeconfig(folder, TOKEN)),
        rng=random.Random(1),
    )
    watcher.start()
    try:
        yield watcher, events
    finally:
        began = time.monotonic()
        await watcher.stop()
        assert time.monotonic() - began < 10


def names(events: list[Heard]) -> set[str]:
    return {event.name for event in events}


async def all_watched(server: KopfServer, times: int = 1) -> None:
    await until(
        lambda: all(len(server.watches.get(kind.plural, ())) == times for kind in KINDS) or None,
        30,
    )


async def test_it_hears_what_is_there_and_what_changes(server: KopfServer, tmp_path: Path) -> None:
    server.lists["llmservices"] = [body("LLMService", "a")]
    async with watching(server, tmp_path) as (watcher, events):
        await all_watched(server)
        assert watcher.why_deaf(30) is None
        server.tell("slopolicies", "ADDED", body("SLOPolicy", "p"))
        server.tell("deployments", "MODIFIED", body("Deployment", "d"))
        server.tell("llmservices", "DELETED", body("LLMService", "b"))
        await until(lambda: names(events) == {"a", "p", "d", "b"})

    assert {event.name for event in events if event.deleted} == {"b"}


async def test_it_only_reads_and_filters_what_it_does_not_own_by_label(
    server: KopfServer, tmp_path: Path
) -> None:
    server.lists["llmservices"] = [body("LLMService", "a")]
    async with watching(server, tmp_path) as (_, events):
        await all_watched(server)
        await until(lambda: events)
        await asyncio.sleep(0.5)

    assert {request.method for request in server.requests} == {"GET"}
    asked = {request.path.rsplit("/", 1)[-1] for request in server.requests if request.query}
    assert asked == {kind.plural for kind in KINDS}
    for request in server.requests:
        plural = request.path.rsplit("/", 1)[-1]
        if request.query:
            own = plural in {"llmservices", "slopolicies"}
            assert request.query.get("labelSelector") == (None if own else "steelyard.io/service")


async def test_in_named_namespaces_it_asks_for_nothing_else(
    server: KopfServer, tmp_path: Path
) -> None:
    async with watching(server, tmp_path, "one", "two"):
        await all_watched(server, 2)

    places = {
        request.path.split("/namespaces/")[1].split("/")[0]
        if "/namespaces/" in request.path
        else None
        for request in server.requests
        if request.query
    }
    assert places == {"one", "two"}


async def test_a_right_that_is_missing_is_said_and_asked_for_again(
    server: KopfServer, tmp_path: Path
) -> None:
    server.refused.add("slopolicies")
    async with watching(server, tmp_path) as (watcher, events):
        await until(lambda: "slopolicies" in (watcher.why_deaf(30) or ""), 30)
        server.refused.clear()
        server.lists["slopolicies"] = [body("SLOPolicy", "p")]
        await until(lambda: names(events) == {"p"}, 60)
        assert watcher.why_deaf(30) is None


async def test_watches_that_hang_up_are_begun_again(server: KopfServer, tmp_path: Path) -> None:
    async with watching(server, tmp_path) as (watcher, events):
        await all_watched(server)
        asked = len(server.requests)
        server.hang_up()
        await until(lambda: len(server.requests) >= asked + len(KINDS))
        await all_watched(server)
        server.tell("llmservices", "ADDED", body("LLMService", "a"))
        await until(lambda: names(events) == {"a"})
        assert watcher.why_deaf(30) is None


async def test_what_happened_while_the_server_was_away_is_heard_of_when_it_is_back(
    server: KopfServer, tmp_path: Path
) -> None:
    async with watching(server, tmp_path) as (watcher, events):
        await all_watched(server)
        await server.down()
        await asyncio.sleep(1.0)
        server.version += 100
        server.lists["llmservices"] = [body("LLMService", "a", version="60")]
        await server.up()
        await until(lambda: "a" in names(events), 60)
        await all_watched(server)
        assert watcher.why_deaf(30) is None


async def test_it_ends_while_the_server_is_away(server: KopfServer, tmp_path: Path) -> None:
    async with watching(server, tmp_path):
        await all_watched(server)
        await server.down()
        await asyncio.sleep(0.5)


async def test_it_ends_while_it_waits_to_begin_again(server: KopfServer, tmp_path: Path) -> None:
    server.refused.update(kind.plural for kind in KINDS)
    async with watching(server, tmp_path) as (watcher, _):
        await until(lambda: watcher.why_deaf(30), 30)
        assert watcher.why_hung(30) is None


async def test_one_that_does_not_run_is_deaf(tmp_path: Path) -> None:
    watcher = Watcher(
        lambda _: None, namespaces=(), kubeconfig=str(tmp_path / "none"), rng=random.Random(1)
    )

    assert watcher.why_deaf(30) is not None
    assert watcher.why_hung(30) is not None
