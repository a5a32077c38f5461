"""An operator that is killed: the next one finishes what it was doing and repeats no Event."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from support.api_server import ApiServer
from support.process import ENTRY
from support.running_operator import AGENT, SETTINGS, Place, eventually, nobody, place

from steelyard_operator.cluster.apply import Applier
from steelyard_operator.cluster.key import ObjectKey, policy_key, service_key
from steelyard_operator.cluster.means import Means
from steelyard_operator.cluster.metric import Metrics
from steelyard_operator.cluster.policy import PolicyReconcile
from steelyard_operator.cluster.publish import Publisher
from steelyard_operator.cluster.service import ServiceReconcile
from steelyard_router.kube.client import Kube
from steelyard_router.kube.event import EventWriter
from steelyard_router.kube.resource import EVENT, LLM_SERVICE, SLO_POLICY, Object, Resource

MOST = 40

log = logging.getLogger(__name__)


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


class MortalKube(Kube):
    """Dies instead of making its write number `last` (from 0)."""

    last: int | None = None
    writes = 0

    def _write(self) -> None:
        if self.writes == self.last:
            raise Killed
        self.writes += 1

    async def apply(
        self, body: Object, *, manager: str, subresource: str = "", dry_run: bool = False
    ) -> Object:
        self._write()
        return await super().apply(body, manager=manager, subresource=subresource, dry_run=dry_run)

    async def create(self, body: Object) -> Object:
        self._write()
        return await super().create(body)

    async def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> Object:
        self._write()
        return await super().merge(resource, namespace, name, patch, subresource=subresource)

    async def delete(
        self, resource: Resource, namespace: str | None, name: str, *, uid: str | None = None
    ) -> bool:
        self._write()
        return await super().delete(resource, namespace, name, uid=uid)


async def work(server: ApiServer, key: ObjectKey, last: int | None = None) -> int:
    """A fresh operator's reconcile of one object, killed before write `last`; how many it made."""
    kube = await MortalKube.connect(kubeconfig=str(server.kubeconfig), user_agent=AGENT)
    async with kube:
        kube.last = last
        events = EventWriter(
            kube, component=AGENT, instance="test", wall=time.time, clock=time.monotonic
        )
        means = Means(
            kube=kube,
            applier=Applier(kube),
            publisher=Publisher(kube, events),
            ask=nobody,
            settings=SETTINGS,
            metrics=Metrics(),
            now=lambda: datetime.now(UTC),
            follow=lambda _namespace, _name: None,
            gone=lambda _key: None,
        )
        reconcile = ServiceReconcile(means) if key.kind == "LLMService" else PolicyReconcile(means)
        await reconcile(key)
        return kube.writes


@pytest.fixture
async def user(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


async def posted(user: Place, name: str) -> dict[str, int]:
    """The operator's Events on an object: count by reason."""
    listing = await user.kube.list(EVENT, user.namespace, fields=f"involvedObject.name={name}")
    return {
        item["reason"]: item["count"]
        for item in listing.items
        if item["source"].get("component") == AGENT
    }


async def test_a_service_is_finished_from_every_write_on_and_no_event_is_posted_twice(
    api_server: ApiServer, user: Place
) -> None:
    await user.service("whole")
    writes = await work(api_server, service_key(user.namespace, "whole"))
    expected = {(kind, name.replace("whole", "")) for kind, name in await user.children("whole")}
    events = await posted(user, "whole")
    assert writes == len(expected) + len(events) + 1
    assert len(events) >= 1

    for last in range(writes):
        name = f"cut{last}"
        await user.service(name)
        key = service_key(user.namespace, name)
        with pytest.raises(Killed):
            await work(api_server, key, last)

        await work(api_server, key)

        made = {(kind, full.replace(name, "")) for kind, full in await user.children(name)}
        assert made == expected
        assert await posted(user, name) == events
        assert await user.condition(LLM_SERVICE, name, "Ready")
    log.info("killed before each of %d writes", writes)


async def test_a_policy_is_finished_from_every_write_on_and_no_event_is_posted_twice(
    api_server: ApiServer, user: Place
) -> None:
    await user.service("chat")
    await work(api_server, service_key(user.namespace, "chat"))
    await user.policy("whole", "chat")
    writes = await work(api_server, policy_key(user.namespace, "whole"))
    events = await posted(user, "whole")
    await user.kube.delete(SLO_POLICY, user.namespace, "whole")
    assert 2 <= writes <= MOST

    for last in range(writes):
        name = f"cut{last}"
        await user.policy(name, "chat")
        key = policy_key(user.namespace, name)
        with pytest.raises(Killed):
            await work(api_server, key, last)

        await work(api_server, key)

        assert await posted(user, name) == events
        assert await user.condition(SLO_POLICY, name, "Accepted")
        await user.kube.delete(SLO_POLICY, user.namespace, name)


async def test_a_change_is_finished_from_every_write_on(api_server: ApiServer, user: Place) -> None:
    """An edit that changes, adds and removes children."""
    changes = {"replicas": 3, "restartToken": "2", "networkPolicy": "Enabled"}
    for last in range(MOST):
        name = f"cut{last}"
        key = service_key(user.namespace, name)
        await user.service(name, replicas=1)
        await work(api_server, key)
        await user.service(name, **changes)
        try:
            await work(api_server, key, last)
        except Killed:
            await work(api_server, key)
            children = await user.children(name)
            assert children["Deployment", f"{name}-engine"]["spec"]["replicas"] == 3
            assert ("NetworkPolicy", f"{name}-router") in children
        else:
            assert last > 3
            return
    pytest.fail("it never comes to an end")


async def test_a_killed_process_leaves_nothing_that_the_next_one_does_not_finish(
    api_server: ApiServer, user: Place
) -> None:
    arguments = (
        "operator", "--kubeconfig", str(api_server.kubeconfig), "--namespace", user.namespace,
        "--port", "0", "--host", "127.0.0.1", "--image", "steelyard:test",
    )  # fmt: skip

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", ENTRY, *arguments, stderr=asyncio.subprocess.DEVNULL
        )

    for number in range(20):
        await user.service(f"chat{number}")
    first = await start()

    async def begun() -> bool:
        return len(await user.children("chat0")) > 0

    await eventually(begun, 60.0)
    os.kill(first.pid, signal.SIGKILL)
    await first.wait()
    made = [len(await user.children(f"chat{number}")) for number in range(20)]
    log.info("children of 20 services at the kill: %s", made)

    second = await start()
    try:

        async def finished() -> bool:
            ready = [
                await user.condition(LLM_SERVICE, f"chat{number}", "Ready") for number in range(20)
            ]
            return all(ready) and {
                len(await user.children(f"chat{number}")) for number in range(20)
            } == {9}

        took_s = await eventually(finished, 60.0)
        log.info("finished %.1f s after the next one was started", took_s)
        for number in range(20):
            assert set((await posted(user, f"chat{number}")).values()) == {1}
        began = time.monotonic()
        second.send_signal(signal.SIGTERM)
        assert await second.wait() == 0
        assert time.monotonic() - began < 10
    finally:
        if second.returncode is None:
            second.kill()
            await second.wait()
