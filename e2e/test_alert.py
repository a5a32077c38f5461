"""A load that lifts the p95 score: who sees it, how soon, and how often."""

import asyncio
import time

from onenode.kubectl import Kubectl
from scene.cluster import Cluster
from scene.event import events
from scene.figure import Figures
from scene.manifest import condition, policy, simulated
from scene.ready import await_ready
from scene.router import pods
from scene.traffic import Client, client

FOR_S, WINDOW_S = 5, 20
ALERT = {
    "name": "score-high",
    "metric": "Score",
    "threshold": 12_000,
    "windowSeconds": WINDOW_S,
    "forSeconds": FOR_S,
    "minSamples": 10,
    "repeatSeconds": 300,
}
FIRING, RESOLVED = "SLOAlertFiring", "SLOAlertResolved"


async def press(to: Client, stop: asyncio.Event, words: int) -> None:
    """Prompts that nobody has seen, four at a time, until it is told to stop."""

    async def one(number: int) -> None:
        while not stop.is_set():
            text = " ".join(f"{number}-{time.monotonic_ns()}-{i}" for i in range(words))
            await to.chat([{"role": "user", "content": text}], max_tokens=4)
            await asyncio.sleep(0.05)

    await asyncio.gather(*(one(number) for number in range(4)))


def described(kubectl: Kubectl, kind: str, name: str, reason: str) -> bool:
    return reason in kubectl("describe", kind, name)


async def until_described(cluster: Cluster, reason: str, *, within_s: float) -> float:
    """Seconds until `kubectl describe` of both objects shows the reason."""
    begun = time.monotonic()
    for kind, name in (("slopolicy", "slo"), ("llmservice", "chat")):
        while not await asyncio.to_thread(described, cluster.kubectl, kind, name, reason):
            assert time.monotonic() < begun + within_s, f"{reason} is not in describe {kind}"
            await asyncio.sleep(0.5)
    return time.monotonic() - begun


def firing_counts(kubectl: Kubectl) -> dict[str, list[int]]:
    return {
        name: [each["count"] for each in events(kubectl, name, reason=FIRING)]
        for name in ("slo", "chat")
    }


def restart_all(cluster: Cluster) -> None:
    """Operator and router start anew, and are there again."""
    cluster.restart_operator()
    old = {pod["metadata"]["name"] for pod in pods(cluster.kubectl, "chat", "router")}
    cluster.kubectl("delete", "pod", *old, "--wait=false")
    cluster.kubectl("rollout", "status", "deployment/chat-router", "--timeout=60s")
    while old & {pod["metadata"]["name"] for pod in pods(cluster.kubectl, "chat", "router")}:
        time.sleep(0.25)


async def test_alert_is_described(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    kubectl.apply(simulated("chat", replicas=1, routers=2), policy("slo", "chat", alerts=[ALERT]))
    await_ready(kubectl, "chat", within_s=60)
    await_ready(kubectl, "slo", kind="slopolicy", within_s=60)
    async with client(cluster.url("chat-router"), "chat") as to:
        stop = asyncio.Event()
        load = asyncio.create_task(press(to, stop, words=2000))
        figures.note(described_s=await until_described(cluster, FIRING, within_s=FOR_S + 15))
        once = {"slo": [1], "chat": [1]}
        assert firing_counts(kubectl) == once
        kubectl.until(
            "slopolicy",
            "slo",
            lambda item: condition(item, "AlertFiring").get("status") == "True",
            within_s=30,
            what="AlertFiring",
        )
        assert condition(kubectl.get("llmservice", "chat"), "Ready")["status"] == "True"
        await asyncio.to_thread(restart_all, cluster)
        await asyncio.sleep(WINDOW_S + FOR_S + 15)  # another holder has taken over and judged
        assert firing_counts(kubectl) == once
        stop.set()
        await load
        stop = asyncio.Event()
        calm = asyncio.create_task(press(to, stop, words=5))
        resolved_s = await until_described(cluster, RESOLVED, within_s=WINDOW_S + 30)
        figures.note(resolved_s=resolved_s)
        stop.set()
        await calm
        stop = asyncio.Event()
        load = asyncio.create_task(press(to, stop, words=2000))
        begun = time.monotonic()
        while firing_counts(kubectl) != {"slo": [2], "chat": [2]}:
            assert time.monotonic() < begun + WINDOW_S + FOR_S + 20, firing_counts(kubectl)
            await asyncio.sleep(0.5)
        stop.set()
        await load
