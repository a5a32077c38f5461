"""A drift that a router tells of is a condition of the LLMService for as long as it lasts."""

from collections.abc import AsyncIterator, Iterable

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from support.api_server import ApiServer
from support.observed import NOW, MadeUp, observer_of
from support.running_operator import Place, eventually, operator, place, sample

from steelyard_operator.cluster.controller import Controller
from steelyard_operator.cluster.report import Ask, HttpFetch, router_reports
from steelyard_operator.plan.status import RouterReport
from steelyard_router.kube.resource import LLM_SERVICE, Object
from steelyard_router.observability.admin import make_admin_app
from steelyard_router.observability.drift import HOLD_S

POD: Object = {
    "metadata": {"name": "chat-router-1"},
    "status": {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
}


class Router:
    """What its predictor sees is made up, on a clock that stands still; the rest is a router's."""

    def __init__(self) -> None:
        self.now = NOW
        self.source = MadeUp(observer_of("chat"))

    def sees(self, pace: float, after_s: float = 0.0) -> None:
        self.now += after_s
        self.source.observer.judge_drift({"10.0.0.7:8000": pace}, self.now)


@pytest.fixture
async def user(api_server: ApiServer, crds: list[str]) -> AsyncIterator[Place]:
    async with place(api_server) as found:
        yield found


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
async def ask(router: Router) -> AsyncIterator[Ask]:
    """Whatever pods there are, that one is asked."""
    app = make_admin_app(router.source, clock=lambda: router.now)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        fetch = HttpFetch(session)

        async def asked(_: Iterable[Object]) -> tuple[RouterReport, ...]:
            return await router_reports(lambda _: fetch(str(server.make_url("/status"))), [POD])

        yield asked


async def shows(user: Place, status: str) -> Object:
    found: Object = {}

    async def holds() -> bool:
        found.update(await user.condition(LLM_SERVICE, "chat", "PredictionDrift"))
        return found.get("status") == status

    await eventually(holds)
    return found


async def looked(controller: Controller, times: int = 3) -> None:
    """Until the operator has looked at the service anew so often."""

    def count() -> float:
        return sample(controller.metrics, "reconciles_total", kind="LLMService", result="ok")

    enough = count() + times

    async def holds() -> bool:
        return count() >= enough

    await eventually(holds)


async def came_to_rest(user: Place, controller: Controller) -> None:
    """Until three looks in a row have written nothing: its pods are all there, and wait."""
    while True:
        mark = user.audit.mark()
        await looked(controller)
        if not user.writes(mark):
            return


async def test_a_drift_comes_and_goes_and_is_written_only_then(
    api_server: ApiServer, user: Place, router: Router, ask: Ask
) -> None:
    async with operator(api_server, resync_s=1.0, ask=ask) as controller:
        await user.service("chat")
        calm = await shows(user, "False")
        assert calm["reason"] == "NotDrifting"
        await came_to_rest(user, controller)
        ready = await user.condition(LLM_SERVICE, "chat", "Ready")

        router.sees(2.0)
        await looked(controller)
        assert await user.condition(LLM_SERVICE, "chat", "PredictionDrift") == calm

        router.sees(2.0, after_s=HOLD_S)
        told = await shows(user, "True")
        assert told["reason"] == "Clock"
        assert "10.0.0.7:8000" in told["message"]
        assert await user.condition(LLM_SERVICE, "chat", "Ready") == ready

        mark = user.audit.mark()
        for pace in (2.2, 2.4):
            router.sees(pace, after_s=60)
            await looked(controller)
        assert user.writes(mark) == []

        router.sees(1.0)
        assert (await shows(user, "False"))["reason"] == "NotDrifting"
