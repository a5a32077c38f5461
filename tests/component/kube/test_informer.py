"""The informer against faults of its server: what it holds becomes true again each time."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from support.fake_kube import FakeKube, fake_kube
from support.patience import until

from steelyard_router.kube.client import Kube
from steelyard_router.kube.informer import Informer
from steelyard_router.kube.resource import CONFIG_MAP, Object

MAPS = "/api/v1/namespaces/ns/configmaps"


def config_map(name: str, value: str = "1") -> Object:
    return {"metadata": {"name": name, "namespace": "ns"}, "data": {"k": value}}


class Held:
    """What an informer has told, last of all."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.times = 0

    def changed(self, objects: Mapping[str, Object]) -> None:
        self.names = set(objects)
        self.times += 1


@pytest.fixture
async def server() -> AsyncIterator[FakeKube]:
    async with fake_kube() as found:
        yield found


@contextlib.asynccontextmanager
async def informed(
    server: FakeKube, folder: Path, *, resync_s: float = 300.0
) -> AsyncIterator[tuple[Informer, Held]]:
    held = Held()
    kubeconfig = str(server.kubeconfig(folder))
    async with await Kube.connect(kubeconfig=kubeconfig, user_agent="a-test") as kube:
        informer = Informer(
            kube, CONFIG_MAP, "ns", held.changed, rng=random.Random(1), resync_s=resync_s
        )
        running = asyncio.create_task(informer.run())
        try:
            await asyncio.wait_for(informer.synced.wait(), 10)
            yield informer, held
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_it_holds_what_is_there_and_follows_what_changes(
    server: FakeKube, tmp_path: Path
) -> None:
    server.put(MAPS, config_map("a"))
    async with informed(server, tmp_path) as (informer, held):
        assert held.names == {"ns/a"}
        await until(lambda: server.watched)
        server.put(MAPS, config_map("b"))
        await until(lambda: held.names == {"ns/a", "ns/b"})
        server.put(MAPS, config_map("a", "2"))
        await until(lambda: informer.objects["ns/a"]["data"] == {"k": "2"})
        server.remove(MAPS, "a")
        await until(lambda: held.names == {"ns/b"})


async def test_nothing_there_is_told_once(server: FakeKube, tmp_path: Path) -> None:
    async with informed(server, tmp_path) as (_, held):
        assert (held.names, held.times) == (set(), 1)


async def test_a_deletion_in_a_gap_is_noticed_by_the_list_that_follows(
    server: FakeKube, tmp_path: Path
) -> None:
    server.put(MAPS, config_map("a"))
    server.put(MAPS, config_map("b"))
    async with informed(server, tmp_path) as (_, held):
        await until(lambda: server.watched)
        server.forgets = True
        server.hang_up()
        server.remove(MAPS, "a", silently=True)
        await until(lambda: held.names == {"ns/b"})
        server.forgets = False
        await until(lambda: server.watched)
        server.put(MAPS, config_map("c"))
        await until(lambda: held.names == {"ns/b", "ns/c"})


async def test_a_server_that_always_says_gone_is_not_asked_without_end(
    server: FakeKube, tmp_path: Path
) -> None:
    server.forgets = True
    async with informed(server, tmp_path):
        before = len(server.requests)
        await asyncio.sleep(1.0)
        assert len(server.requests) - before < 50


async def test_a_watch_that_hangs_up_goes_on_where_it_was(server: FakeKube, tmp_path: Path) -> None:
    async with informed(server, tmp_path) as (_, held):
        for number in range(5):
            await until(lambda: server.watched)
            server.hang_up()
            server.put(MAPS, config_map(f"m{number}"))
        await until(lambda: len(held.names) == 5)


async def test_while_the_server_is_away_what_was_known_stays(
    server: FakeKube, tmp_path: Path
) -> None:
    server.put(MAPS, config_map("a"))
    async with informed(server, tmp_path) as (informer, held):
        await server.down()
        await until(lambda: informer.error is not None)
        assert held.names == {"ns/a"}
        server.remove(MAPS, "a")
        server.put(MAPS, config_map("b"))
        await server.up()
        await until(lambda: held.names == {"ns/b"}, 30)
        assert informer.error is None


async def test_errors_of_the_server_pass(server: FakeKube, tmp_path: Path) -> None:
    async with informed(server, tmp_path) as (informer, held):
        server.breaks = True
        server.hang_up()
        await until(lambda: informer.error is not None)
        server.breaks = False
        server.put(MAPS, config_map("a"))
        await until(lambda: held.names == {"ns/a"}, 30)


async def test_a_change_that_no_watch_tells_is_found_by_the_resync(
    server: FakeKube, tmp_path: Path
) -> None:
    server.put(MAPS, config_map("a"))
    async with informed(server, tmp_path, resync_s=0.5) as (_, held):
        await until(lambda: server.watched)
        server.remove(MAPS, "a", silently=True)
        await until(lambda: held.names == set())
