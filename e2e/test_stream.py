"""What becomes of requests when the pods below them go."""

import asyncio
import time

from scene.cluster import Cluster
from scene.figure import Figures
from scene.manifest import simulated
from scene.ready import await_ready
from scene.router import await_engines, pods
from scene.traffic import Answer, Client, all_begun, client

LOAD_S = 25
STREAMS, STREAM_TOKENS = 12, 8000
"""8,000 tokens take over a minute on the simulated engine."""


async def keep_asking(to: Client, until: float, number: int) -> list[Answer]:
    answers = []
    while time.monotonic() < until:
        answers.append(await to.stream(f"{number} {time.monotonic_ns()}", max_tokens=40))
    return answers


async def test_engine_deleted_under_load(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    kubectl.apply(simulated("chat", replicas=3, args=["--abrupt"]))
    await_ready(kubectl, "chat", within_s=60)
    await_engines(kubectl, "chat", 3, within_s=30)
    victims = [pod["metadata"]["name"] for pod in pods(kubectl, "chat", "engine")]
    async with client(cluster.url("chat-router"), "chat") as to:
        until = time.monotonic() + LOAD_S
        load = asyncio.gather(*(keep_asking(to, until, number) for number in range(16)))
        await asyncio.sleep(4)
        # Once as `kubectl delete` does, once as a node that dies: with no time to say so.
        await asyncio.to_thread(kubectl, "delete", "pod", victims[0], "--wait=false")
        await asyncio.sleep(6)
        await asyncio.to_thread(kubectl, "delete", "pod", victims[1], "--grace-period=0", "--force")
        answers = [answer for batch in await load for answer in batch]
    engines = {answer.engine for answer in answers}
    failed = [answer.error for answer in answers if answer.error and not answer.begun]
    broken = sum(bool(answer.error) and answer.begun for answer in answers)
    figures.note(requests=len(answers), failed_before_first_byte=len(failed), broken_later=broken)
    assert {victims[0], victims[1]} < engines
    assert len(engines) > 3, "the new pods got requests too"
    assert failed == []


async def test_scale_with_open_streams(cluster: Cluster, figures: Figures) -> None:
    kubectl = cluster.kubectl
    kubectl.apply(simulated("chat", replicas=3, args=["--abrupt"], grace_s=150))
    await_ready(kubectl, "chat", within_s=60)
    await_engines(kubectl, "chat", 3, within_s=30)
    async with client(cluster.url("chat-router"), "chat") as to:
        begun = time.monotonic()
        answers = [Answer() for _ in range(STREAMS)]
        streams = [
            asyncio.create_task(to.stream(f"s{i}", max_tokens=STREAM_TOKENS, answer=answer))
            for i, answer in enumerate(answers)
        ]
        await all_begun(answers)
        assert len({answer.engine for answer in answers}) == 3
        await asyncio.to_thread(kubectl, "scale", "llmservice/chat", "--replicas=1")
        await asyncio.sleep(15)
        late = await to.stream("late", max_tokens=20)
        left = [pod["metadata"]["name"] for pod in pods(kubectl, "chat", "engine")]
        assert len(left) == 1
        assert late.engine == left[0]
        await asyncio.to_thread(kubectl, "scale", "llmservice/chat", "--replicas=3")
        await asyncio.gather(*streams)
        lasted_s = time.monotonic() - begun
    figures.note(
        streams=STREAMS,
        lasted_s=lasted_s,
        broken=sum(answer.error is not None for answer in answers),
    )
    assert lasted_s >= 60
    assert [answer.error for answer in answers] == [None] * STREAMS
    await_ready(kubectl, "chat", within_s=60)
