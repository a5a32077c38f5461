"""Somebody else who wants our children otherwise, and never gives in."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from support.api_server import ApiServer
from support.running_operator import Place, eventually, operator, place, sample

from steelyard_operator.plan.child import Settings
from steelyard_router.kube.resource import DEPLOYMENT, LLM_SERVICE


@pytest.fixture
async def user(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


async def test_two_operators_of_different_versions_do_not_wear_out_the_cluster(
    api_server: ApiServer, user: Place
) -> None:
    """Each would roll the other's routers back, as fast as the API server takes it."""
    other = Settings(image="steelyard:other")
    async with operator(api_server) as one, operator(api_server, settings=other):
        await user.service("chat")

        async def told() -> bool:
            moving = await user.condition(LLM_SERVICE, "chat", "Reconciling")
            return "keeps changing" in str(moving.get("message"))

        await eventually(told, 25.0)
        before = await user.get(DEPLOYMENT, "chat-router") or {}
        await asyncio.sleep(10.0)
        after = await user.get(DEPLOYMENT, "chat-router") or {}

        assert after["metadata"]["generation"] - before["metadata"]["generation"] <= 3
        assert sample(one.metrics, "drift_corrected_total", kind="Deployment") < 15
