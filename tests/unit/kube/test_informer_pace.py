"""How often an informer asks a server whose watches do not last."""

import asyncio
import random
from collections.abc import AsyncGenerator

import pytest
from support.virtual import in_virtual_time

from steelyard_router.kube.client import Change, Kube, Listing
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.informer import Informer
from steelyard_router.kube.resource import CONFIG_MAP, Resource

FORBIDDEN = KubeError(403, "Forbidden", "configmaps is forbidden: cannot watch")
GONE = KubeError(410, "Expired", "too old resource version")
CUT = KubeError(0, "Unreachable", "API server: Connection reset")


class Fleeting(Kube):
    """Lists work; every watch ends after `lasts_s`: with `error`, or in order."""

    def __init__(self, error: KubeError | None, lasts_s: float) -> None:
        self.error = error
        self.lasts_s = lasts_s
        self.lists = 0
        self.watches = 0

    async def list(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        self.lists += 1
        return Listing((), "1")

    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        version: str,
        labels: str = "",
        fields: str = "",
        timeout_s: int = 240,
    ) -> AsyncGenerator[Change, None]:
        self.watches += 1
        await asyncio.sleep(self.lasts_s)
        if self.error is not None:
            raise self.error
        yield Change("BOOKMARK", {"metadata": {"resourceVersion": "2"}})


def lists_within(seconds: float, kube: Fleeting) -> int:
    async def scenario() -> None:
        rng = random.Random(1)
        informer = Informer(kube, CONFIG_MAP, "ns", lambda _: None, rng=rng, resync_s=1e9)
        running = asyncio.create_task(informer.run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    in_virtual_time(scenario())
    return kube.lists


@pytest.mark.parametrize("error", [FORBIDDEN, GONE, CUT])
def test_lists_that_work_do_not_hide_watches_that_do_not(error: KubeError) -> None:
    """A thousand routers that list five times a second would be the end of an API server."""
    assert lists_within(600, Fleeting(error, lasts_s=0.01)) < 600 / 15 * 2


@pytest.mark.parametrize("error", [GONE, CUT])
def test_a_watch_that_lived_for_a_while_is_soon_made_anew(error: KubeError) -> None:
    assert lists_within(600, Fleeting(error, lasts_s=50)) >= 600 / 51


def test_watches_that_end_at_once_in_order_are_not_begun_without_end() -> None:
    kube = Fleeting(None, lasts_s=0.01)

    assert lists_within(600, kube) == 1
    assert 500 < kube.watches <= 600
