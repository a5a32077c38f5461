"""Several replicas of one router and an API server, on one virtual clock.

Each replica's duties step when they said so, as their loops would let them. Nothing else is made
up: books, Leases, Events and sums are the product's.
"""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from steelyard_router.alerts.exchange import Measured
from steelyard_router.alerts.window import Windows
from steelyard_router.cluster.alert import ClusterAlerts
from steelyard_router.cluster.replica import Replica
from steelyard_router.config import RouterConfig
from steelyard_router.kube.resource import EVENT, Object
from support.memory_kube import Client, MemoryKube

ALERT = {
    "name": "score-p95",
    "metric": "Score",
    "threshold": 1000,
    "window_s": 60,
    "for_s": 10,
    "min_samples": 50,
    "repeat_s": 300,
}
EVALUATE_S = 1.0


def config_of(
    *alerts: dict[str, Any], policy: str | None = "gold", workloads: tuple[str, ...] = ("chat",)
) -> RouterConfig:
    """A router of LLMService llama under SLOPolicy `policy`."""
    return RouterConfig.model_validate(
        {
            "service": {"name": "llama"},
            "policy": {
                "workloads": [{"name": n, "default": n == workloads[0]} for n in workloads],
                "alerts": list(alerts) if policy else [],
            },
            "kubernetes": {
                "namespace": "ai",
                "config_map": "llama-router",
                "router_service": "llama-router",
                "lease": "llama-router",
                "service": {"name": "llama", "uid": "uid-llama"},
            },
            "policy_ref": {"name": policy, "uid": f"uid-{policy}"} if policy else None,
        }
    )


@dataclass
class Pod:
    """One replica. `score` is what its requests get, `rate` how many it serves a second."""

    name: str
    alerts: ClusterAlerts
    windows: Windows
    config: RouterConfig
    connection: Client
    alive: bool = True
    ready: bool = True
    reachable: bool = True
    score: float = 100.0
    rate: int = 0
    wall_error_s: float = 0.0
    due: dict[str, float] = field(default_factory=dict)


class World:
    """`pods` are those that were ever started; the API server is `kube`."""

    def __init__(self, config: RouterConfig, *names: str, seed: int = 0) -> None:
        self.now = 1_800_000_000.0
        self.rng = random.Random(seed)
        self.config = config
        self.kube = MemoryKube(lambda: self.now)
        self.pods: dict[str, Pod] = {}
        for name in names:
            self.start(name)

    def __getitem__(self, name: str) -> Pod:
        return self.pods[name]

    @property
    def living(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.alive]

    @property
    def holder(self) -> Pod | None:
        holders = [pod for pod in self.living if pod.alerts.holder]
        assert len(holders) <= 1
        return holders[0] if holders else None

    def start(self, name: str) -> Pod:
        """A new process, with nothing in its memory and a clock of its own."""
        config, connection = self.config, self.kube.client()
        windows = Windows(config.policy)
        began = self.rng.uniform(0, 1e6)
        pod = Pod(
            name,
            ClusterAlerts(
                connection,
                config,
                lambda now: Measured.of(pod.config.policy, windows, now),
                identity=name,
                address=name,
                clock=lambda: self.now - 1_800_000_000.0 + began,
                wall=lambda: self.now + pod.wall_error_s,
                rng=self.rng,
                ask=self._ask,
            ),
            windows,
            config,
            connection,
            due=dict.fromkeys(("elect", "evaluate", "report"), self.now),
        )
        if name in self.pods:
            pod.score, pod.rate = self.pods[name].score, self.pods[name].rate
        self.pods[name] = pod
        self._list()
        return pod

    def kill(self, name: str) -> None:
        """Without a word: the Lease stays as it is."""
        self.pods[name].alive = False
        self._list()

    async def stop(self, name: str) -> None:
        """As SIGTERM does."""
        await self.pods[name].alerts.election.release()
        self.kill(name)

    def change(self, config: RouterConfig) -> None:
        """Every replica takes the new configuration over."""
        self.config = config
        for pod in self.living:
            pod.config = config
            pod.windows.replace(config.policy)
            pod.alerts.replace(config, self._clock(pod))

    def load(self, **scores: float) -> None:
        """From now on each named replica serves ten requests a second of its score, others none."""
        for pod in self.pods.values():
            pod.rate = 10 if pod.name in scores else 0
            pod.score = scores.get(pod.name, pod.score)

    async def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            await asyncio.gather(*(self._step(pod) for pod in self.living))
            self.now += EVALUATE_S

    def events(self, kind: str | None = "LLMService", name: str | None = None) -> list[Object]:
        """Of the objects of a kind, or of all, the oldest first."""
        found = [
            event
            for event in self.kube.of_kind(EVENT)
            if kind in (None, event["involvedObject"]["kind"])
            and name in (None, event["involvedObject"]["name"])
        ]
        return sorted(found, key=lambda event: str(event["firstTimestamp"]))

    def counts(self, kind: str = "LLMService", name: str | None = None) -> dict[str, int]:
        """Reason -> count."""
        return {event["reason"]: event["count"] for event in self.events(kind, name)}

    def state(self) -> object:
        """What the holder says of the first alert."""
        return self.holder and self.holder.alerts.states()[0]["state"]

    def begun(self) -> str:
        """Since when the holder's first alert is in its state, as a time of day."""
        assert self.holder is not None
        since = self.holder.alerts.states()[0]["since"]
        assert isinstance(since, float)
        moment = datetime.fromtimestamp(self.now - (self._clock(self.holder) - since), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def _step(self, pod: Pod) -> None:
        clock = self._clock(pod)
        for _ in range(pod.rate):
            pod.windows.record("chat", "Score", pod.score, clock)
        if pod.due["elect"] <= self.now:
            pod.due["elect"] = self.now + await pod.alerts.election.step()
        await pod.alerts.step()
        if pod.due["report"] <= self.now or pod.alerts.reporter.waiting:
            pod.due["report"] = self.now + await pod.alerts.reporter.step()

    def _clock(self, pod: Pod) -> float:
        return pod.alerts._station.clock()

    async def _ask(self, url: str) -> Measured:
        pod = self.pods[url.removeprefix("http://").partition(":")[0]]
        if not (pod.alive and pod.reachable):
            raise OSError("no way")
        return Measured.of(pod.config.policy, pod.windows, self._clock(pod))

    def _list(self) -> None:
        """What the EndpointSlice controller would do."""
        found = [Replica(pod.name, pod.name, pod.ready) for pod in self.living]
        for pod in self.living:
            pod.alerts.follow(found)
