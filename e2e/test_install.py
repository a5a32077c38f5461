"""A chart and two objects give a served model; so does a router before somebody else's engines."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import openai
from scene.cluster import Cluster
from scene.figure import Figures
from scene.manifest import external, own_engines, policy, simulated
from scene.ready import await_ready
from scene.router import await_engines
from scene.traffic import client, converse, hit_ratio

QUICKSTART = Path(__file__).parents[1] / "examples" / "quickstart.yaml"

SESSIONS, TURNS = 40, 5


def ask(url: str, model: str) -> str | None:
    """One chat with the client that most people use."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as ai:
        answer = ai.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Say hello."}], max_tokens=16
        )
    return answer.choices[0].message.content


def await_all(cluster: Cluster, names: Iterable[str]) -> None:
    for name in names:
        await_ready(cluster.kubectl, name, within_s=60)
        await_engines(cluster.kubectl, name, 3, within_s=30)


async def compare(cluster: Cluster, figures: Figures, models: Mapping[str, str]) -> None:
    """200 requests each, by prefix and by turns: the hit ratios by the engines' own usage."""
    ratios = {}
    for service, model in models.items():
        async with client(cluster.url(f"{service}-router"), model) as to:
            answers = await converse(to, sessions=SESSIONS, turns=TURNS, salt=service)
        assert [answer.error for answer in answers if answer.error] == []
        assert len({answer.engine for answer in answers}) == 3
        ratios[service] = hit_ratio(answers)
    prefix, turns = ratios.values()
    figures.note(requests=SESSIONS * TURNS, hit_ratio=prefix, round_robin_hit_ratio=turns)
    assert prefix >= 1.5 * turns


async def test_install_and_chat(cluster: Cluster, figures: Figures) -> None:
    begun = time.monotonic()
    cluster.kubectl.apply(QUICKSTART)
    for item in cluster.kubectl.list("llmservices"):
        name = item["metadata"]["name"]
        service = await_ready(cluster.kubectl, name, within_s=60)
        figures.note(ready_s=time.monotonic() - begun)
        assert service["status"]["url"].startswith(f"http://{name}-router.{cluster.namespace}")
        assert ask(cluster.url(f"{name}-router"), service["status"]["model"])
    cluster.kubectl.apply(
        simulated("prefix", replicas=3),
        simulated("turns", replicas=3),
        policy("turns", "turns", routing={"strategy": "RoundRobin"}),
    )
    await_all(cluster, ("prefix", "turns"))
    await_ready(cluster.kubectl, "turns", kind="slopolicy", within_s=60)
    await compare(cluster, figures, {"prefix": "prefix", "turns": "turns"})


async def test_external_engine(cluster: Cluster, figures: Figures) -> None:
    deployment, service = own_engines("mine", replicas=3, image=cluster.image)
    cluster.kubectl.apply(deployment, service)
    cluster.kubectl("rollout", "status", "deployment/mine", "--timeout=60s")
    begun = time.monotonic()
    cluster.kubectl.apply(
        external("front", service="mine", port="api"),
        external("turns", service="mine", port="api"),
        policy("turns", "turns", routing={"strategy": "RoundRobin"}),
    )
    await_all(cluster, ("front", "turns"))
    figures.note(ready_s=time.monotonic() - begun)
    await_ready(cluster.kubectl, "turns", kind="slopolicy", within_s=60)
    assert ask(cluster.url("front-router"), "llama")
    await compare(cluster, figures, {"front": "llama", "turns": "llama"})
    assert cluster.kubectl.get("deployment", "mine")["metadata"]["generation"] == 1
