"""A configuration that was not taken over is told in an Event, once the server takes one."""

import asyncio

import pytest
from support.memory_kube import MemoryKube
from support.virtual import in_virtual_time

from steelyard_router.cluster.refusal import RefusalTeller
from steelyard_router.config import Kubernetes, ObjectRef
from steelyard_router.errors import ConfigError
from steelyard_router.kube.error import KubeError
from steelyard_router.kube.event import EventWriter

SETTINGS = Kubernetes(
    namespace="ns",
    config_map="chat-router",
    router_service="chat-router",
    lease="chat-router",
    service=ObjectRef(name="chat", uid="u1"),
)


def posted(error: KubeError) -> int:
    """Events that are there after `error` has ended."""

    async def scenario() -> int:
        def now() -> float:
            return asyncio.get_running_loop().time()

        kube = MemoryKube(now)
        writer = EventWriter(kube, component="r", instance="p", wall=now, clock=now)
        teller = RefusalTeller(writer, SETTINGS, wall=now)
        running = asyncio.create_task(teller.run())
        kube.refuse = error
        teller.tell(ConfigError("policy.yaml:3: no"))
        await asyncio.sleep(60)
        kube.refuse = None
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return len(kube.occurrences)

    return in_virtual_time(scenario())


@pytest.mark.parametrize("status", [0, 401, 409, 429, 500])
def test_what_passes_is_waited_for(status: int) -> None:
    assert posted(KubeError(status, "Oops", "not now")) == 1


@pytest.mark.parametrize("status", [403, 422])
def test_a_refusal_for_good_is_taken_for_one(status: int) -> None:
    assert posted(KubeError(status, "Oops", "never")) == 0
