"""Alerts on a real API server: Events, the Lease, and what `kubectl describe` makes of them."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from support.api_server import ApiServer
from support.patience import until

from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.window import Windows
from steelyard_router.cluster.alert import ClusterAlerts
from steelyard_router.config import RouterConfig
from steelyard_router.kube.client import Kube
from steelyard_router.kube.event import Event, EventWriter, Posting, Subject
from steelyard_router.kube.lease import Election
from steelyard_router.kube.resource import CONFIG_MAP, EVENT, LEASE, Object

SERVICE: Object = {
    "apiVersion": "steelyard.io/v1alpha1",
    "kind": "LLMService",
    "metadata": {"name": "llama"},
    "spec": {"engine": {"type": "Simulator"}},
}
POLICY: Object = {
    "apiVersion": "steelyard.io/v1alpha1",
    "kind": "SLOPolicy",
    "metadata": {"name": "gold"},
    "spec": {"targetRefs": [{"name": "llama"}], "workloads": [{"name": "chat", "default": True}]},
}
ALERT = {
    "name": "score-p95",
    "metric": "Score",
    "threshold": 1000,
    "window_s": 60,
    "for_s": 0,
    "min_samples": 10,
}


class Site:
    """One namespace with a service, a policy, and a connection."""

    def __init__(self, server: ApiServer, kube: Kube) -> None:
        server.apply(SERVICE, POLICY)
        self.server = server
        self.kube = kube
        self.uids = {
            kind: str(server.get(kind, name)["metadata"]["uid"])
            for kind, name in (("LLMService", "llama"), ("SLOPolicy", "gold"))
        }
        self.policy = self._subject("SLOPolicy", "gold")
        self.service = self._subject("LLMService", "llama")

    def writer(self, instance: str = "pod-1") -> EventWriter:
        return EventWriter(
            self.kube,
            component="steelyard-router",
            instance=instance,
            wall=time.time,
            clock=time.monotonic,
        )

    def occurrence(self, number: int, **changes: Any) -> Event:
        event = Event(
            involved=self.policy,
            reason="SLOAlertFiring",
            message=f"p95 Score {number:,} > 1,000",
            type="Warning",
            action="Alert",
            occurrence=f"{number:06d}",
            related=self.service,
        )
        return replace(event, **changes)

    def election(self, name: str, owner: Subject | None = None) -> Election:
        owner = owner or self.service
        reference = {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
        return Election(
            self.kube,
            self.server.namespace,
            "llama-router",
            identity=name,
            owner=reference,
            labels={"steelyard.io/service": "llama"},
            clock=time.monotonic,
            wall=time.time,
            rng=random.Random(1),
        )

    def config(self, *alerts: dict[str, Any]) -> RouterConfig:
        place = {
            "namespace": self.server.namespace,
            "config_map": "llama-router",
            "router_service": "llama-router",
            "lease": "llama-router",
            "service": {"name": "llama", "uid": self.uids["LLMService"]},
        }
        return RouterConfig.model_validate(
            {
                "service": {"name": "llama"},
                "policy": {
                    "workloads": [{"name": "chat", "default": True}],
                    "alerts": list(alerts),
                },
                "kubernetes": place,
                "policy_ref": {"name": "gold", "uid": self.uids["SLOPolicy"]},
            }
        )

    async def describe(self, kind: str, name: str) -> list[str]:
        """The lines below Events."""
        text = await asyncio.to_thread(self.server.kubectl, "describe", kind, name)
        return text.partition("Events:")[2].splitlines()

    async def events(self) -> list[Object]:
        return list((await self.kube.list(EVENT, self.server.namespace)).items)

    def _subject(self, kind: str, name: str) -> Subject:
        place = self.server.namespace
        return Subject("steelyard.io/v1alpha1", kind, place, name, self.uids[kind])


@pytest.fixture
async def site(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Site]:
    kubeconfig = str(api_server.kubeconfig)
    async with await Kube.connect(kubeconfig=kubeconfig, user_agent="steelyard-test") as kube:
        yield Site(api_server, kube)


async def test_describe_shows_the_count_and_the_newest_message(site: Site) -> None:
    writer = site.writer()
    for number in (1100, 1200, 1300):
        assert await writer.post(site.occurrence(number))
    assert not await writer.post(site.occurrence(1300))

    (line,) = [text for text in await site.describe("slopolicy", "gold") if "SLOAlert" in text]
    assert line.split()[:2] == ["Warning", "SLOAlertFiring"]
    assert "(x3 over " in line
    assert line.endswith("p95 Score 1,300 > 1,000")
    assert " steelyard-router " in line


async def test_an_event_is_found_by_its_object_and_says_what_it_is_related_to(site: Site) -> None:
    await site.writer().post(site.occurrence(1))
    listing = await site.kube.list(
        EVENT, site.server.namespace, fields=f"involvedObject.uid={site.policy.uid}"
    )

    (event,) = listing.items
    assert event["related"]["uid"] == site.service.uid
    assert event["action"] == "Alert"
    assert await site.kube.get(EVENT, site.server.namespace, site.occurrence(1).name)


async def test_racing_writers_count_each_occurrence_once(site: Site) -> None:
    writers = [site.writer(f"pod-{n}") for n in range(3)]
    for number in range(5):
        postings = await asyncio.gather(*(w.write(site.occurrence(number)) for w in writers))
        assert sorted(postings) == [Posting.KNOWN, Posting.KNOWN, Posting.POSTED]

    assert [event["count"] for event in await site.events()] == [5]


async def test_the_longest_message_and_the_longest_name_are_taken(site: Site) -> None:
    long = replace(site.policy, name=".".join(["a" * 63] * 3 + ["b" * 61]))
    message = "\u4e2d" * 3000

    assert await site.writer().post(site.occurrence(1, involved=long, message=message))
    assert await site.writer().post(site.occurrence(2, involved=long, message=message))


async def test_a_related_object_can_change(site: Site) -> None:
    await site.writer().post(site.occurrence(1))
    await site.writer().post(site.occurrence(2, related=None, type="Normal"))

    (event,) = await site.events()
    assert (event.get("related"), event["type"], event["count"]) == (None, "Normal", 2)


async def test_one_of_two_gets_the_lease_and_gives_it_back(site: Site) -> None:
    one, other = site.election("pod-1"), site.election("pod-2")
    await asyncio.gather(one.step(), other.step())
    await asyncio.gather(one.step(), other.step())
    assert [one.holder, other.holder].count(True) == 1
    holder, waiting = (one, other) if one.holder else (other, one)
    for _ in range(3):
        await holder.step()
    await holder.release()
    await waiting.step()

    assert (holder.holder, waiting.holder) == (False, True)
    lease = await site.kube.get(LEASE, site.server.namespace, "llama-router")
    assert lease is not None
    assert lease["spec"]["leaseTransitions"] == 2


async def test_the_lease_goes_with_its_owner(site: Site) -> None:
    """Another kind stands in: collectors take half a minute to learn of one that is new."""
    place = site.server.namespace
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "owner", "namespace": place},
    }
    owner = await site.kube.create(body)
    subject = Subject("v1", "ConfigMap", place, "owner", owner["metadata"]["uid"])
    await site.election("pod-1", subject).step()
    assert await site.kube.get(LEASE, place, "llama-router")

    await site.kube.delete(CONFIG_MAP, place, "owner")
    async with asyncio.timeout(60):
        while await site.kube.get(LEASE, place, "llama-router"):
            await asyncio.sleep(0.2)


class Replica:
    """One router's alerts, with requests of one score."""

    def __init__(self, site: Site, name: str, *, score: float) -> None:
        config = site.config(ALERT)
        windows = Windows(config.policy)
        for _ in range(100):
            windows.record("chat", "Score", score, time.monotonic())
        self.alerts = ClusterAlerts(
            site.kube,
            config,
            lambda now: Measured.of(config.policy, windows, now),
            identity=name,
            address=None,
            clock=time.monotonic,
            wall=time.time,
            rng=random.Random(name),
        )

    @property
    def state(self) -> object:
        return self.alerts.holder and self.alerts.states()[0]["state"]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Replica"]:
        task = asyncio.create_task(self.alerts.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_firing_outlives_its_router_and_is_described_once(site: Site) -> None:
    async with Replica(site, "pod-1", score=5000.0).running() as first:
        await until(lambda: first.alerts.posted.total() == 2, within_s=40)
    async with Replica(site, "pod-2", score=5000.0).running() as second:
        await until(lambda: second.state == "Firing", within_s=40)
        await until(lambda: not second.alerts.reporter.waiting)
        assert second.alerts.posted.total() == 0
    async with Replica(site, "pod-3", score=10.0).running() as third:
        await until(lambda: third.alerts.posted.total() == 2, within_s=40)

    for kind, name in (("slopolicy", "gold"), ("llmservice", "llama")):
        lines = [text.split(maxsplit=4) for text in await site.describe(kind, name)]
        told = {words[1]: words for words in lines if len(words) == 5 and "SLO" in words[1]}
        assert told["SLOAlertFiring"][0] == "Warning"
        assert told["SLOAlertResolved"][0] == "Normal"
        assert "p95 Score 5,0" in told["SLOAlertFiring"][4]
        assert "<= clearing bound 900" in told["SLOAlertResolved"][4]
    assert [event["count"] for event in await site.events()] == [1, 1, 1, 1]
