"""What a policy does while it is edited, and what becomes of two for one service."""

import asyncio
import statistics
import time

from scene.cluster import Cluster
from scene.event import events
from scene.figure import Figures
from scene.manifest import condition, is_true, policy, simulated
from scene.ready import await_ready, await_reason
from scene.router import await_revision, lives, router_pods
from scene.traffic import Answer, all_begun, client

EDITS = 20
STREAMS = 4


async def test_policy_edit_is_live(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    kubectl.apply(simulated("chat", replicas=2, routers=2), policy("slo", "chat"))
    await_ready(kubectl, "chat", within_s=60)
    await_ready(kubectl, "slo", kind="slopolicy", within_s=60)
    before, routers = lives(kubectl, "chat"), router_pods(kubectl, "chat")
    assert len(routers) == 2
    async with client(cluster.url("chat-router"), "chat") as to:
        answers = [Answer() for _ in range(STREAMS)]
        streams = [
            asyncio.create_task(to.stream(f"long {i}", max_tokens=4000, answer=answer))
            for i, answer in enumerate(answers)
        ]
        await all_begun(answers)
        delays_s = [await asyncio.to_thread(edit, cluster, number) for number in range(EDITS)]
        assert not any(stream.done() for stream in streams), "the streams were to outlive the edits"
        await asyncio.gather(*streams)
    ordered = sorted(delays_s)
    p95_s = ordered[int(0.95 * EDITS) - 1]
    figures.note(edits=EDITS, p50_s=statistics.median(ordered), p95_s=p95_s, max_s=ordered[-1])
    assert p95_s <= 5
    assert lives(kubectl, "chat") == before
    assert [answer.error for answer in answers] == [None] * STREAMS
    await_ready(kubectl, "slo", kind="slopolicy", within_s=10)
    ancestor = kubectl.get("slopolicy", "slo")["status"]["ancestors"][0]
    assert ancestor["programmedReplicas"] == "2/2"


def edit(cluster: Cluster, number: int) -> float:
    """Seconds from the edit until every router replica follows it."""
    routers = router_pods(cluster.kubectl, "chat")
    old = {router.status()["revision"] for router in routers}
    begun = time.monotonic()
    cluster.kubectl.apply(policy("slo", "chat", ttft_ms=600 + number))
    while True:
        revisions = [router.status()["revision"] for router in routers]
        if len(set(revisions)) == 1 and not old & set(revisions):
            return time.monotonic() - begun
        assert time.monotonic() < begun + 30, "the edit is not in force after 30 s"


def test_policy_conflict(cluster: Cluster) -> None:
    kubectl = cluster.kubectl
    kubectl.apply(simulated("chat"))
    kubectl.apply(policy("first", "chat"))
    time.sleep(1.1)  # creationTimestamp has whole seconds, and the oldest is to win
    kubectl.apply(policy("second", "chat", ttft_ms=900), policy("nowhere", "missing"))
    await_ready(kubectl, "chat", within_s=60)
    await_ready(kubectl, "first", kind="slopolicy", within_s=30)
    loser = await_reason(kubectl, "slopolicy", "second", "Accepted", "Conflicted", within_s=10)
    assert "first" in condition(loser, "Accepted")["message"]
    assert condition(loser, "Accepted")["status"] == "False"
    await_reason(kubectl, "slopolicy", "nowhere", "Accepted", "TargetNotFound", within_s=10)
    assert any(event["reason"] == "PolicyConflicted" for event in events(kubectl, "second"))
    revision = router_pods(kubectl, "chat")[0].status()["revision"]
    kubectl("delete", "slopolicy", "first")
    await_ready(kubectl, "second", kind="slopolicy", within_s=30)
    routers = router_pods(kubectl, "chat")
    assert routers[0].status()["revision"] != revision
    kubectl.apply(policy("second", "chat", ttft_ms=900, mode="DryRun"))
    taken_back = kubectl.until(
        "slopolicy", "second", lambda item: is_true(item, "Accepted"), within_s=20, what="Accepted"
    )
    ancestor = taken_back["status"]["ancestors"][0]
    await_revision(routers, ancestor["revision"], within_s=10)
    assert routers[0].status()["shadow"]["name"] == "second"
