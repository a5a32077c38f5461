"""What a reconcile remembers of an object goes with the object."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from support.memory_kube import MemoryKube

from steelyard_operator.cluster.apply import Applier
from steelyard_operator.cluster.key import policy_key
from steelyard_operator.cluster.means import Means
from steelyard_operator.cluster.metric import Metrics
from steelyard_operator.cluster.policy import PolicyReconcile
from steelyard_operator.cluster.publish import Publisher, Uids
from steelyard_operator.plan.child import Settings
from steelyard_operator.plan.status import RouterReport, StatusPlan
from steelyard_router.kube.resource import Object, Resource

KEY = policy_key("ns", "gold")
PLACE = ("slopolicies", "ns", "gold")


class Remembering(Publisher):
    """Knows of whom it has written, and not been told to forget."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    async def publish(self, resource: Resource, body: Object, plan: StatusPlan, uids: Uids) -> bool:
        self.known.add(body["metadata"]["uid"])
        return True

    def forget(self, uid: str) -> None:
        self.known.discard(uid)


async def nobody(_: Iterable[Object]) -> tuple[RouterReport, ...]:
    return ()


def means(kube: MemoryKube, publisher: Publisher) -> Means:
    return Means(
        kube=kube,
        applier=Applier(kube),
        publisher=publisher,
        ask=nobody,
        settings=Settings(),
        metrics=Metrics(),
        now=lambda: datetime.now(UTC),
        follow=lambda *_: None,
        gone=lambda _: None,
    )


def policy(uid: str) -> Object:
    workload = {"name": "all", "default": True}
    return {
        "apiVersion": "steelyard.io/v1alpha1",
        "kind": "SLOPolicy",
        "metadata": {"name": "gold", "namespace": "ns", "uid": uid, "generation": 1},
        "spec": {"targetRefs": [{"name": "chat"}], "workloads": [workload]},
    }


async def test_of_a_policy_made_again_unheard_and_then_deleted_nothing_is_left() -> None:
    kube, publisher = MemoryKube(asyncio.get_running_loop().time), Remembering()
    reconcile = PolicyReconcile(means(kube, publisher))
    for uid in ("one", "two"):
        kube.objects[PLACE] = policy(uid)
        await reconcile(KEY)
        assert publisher.known == {uid}
    del kube.objects[PLACE]
    await reconcile(KEY)

    assert publisher.known == set()
