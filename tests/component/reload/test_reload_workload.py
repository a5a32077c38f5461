"""Each field of a workload, changed while streams run and wait: what it does from then on."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.leaf import leaves
from support.live_policy import LOAD, Case, Tree, World, check, goes_beside, policy
from support.live_queue import queue_cases

from steelyard_router.config import Workload

Act = Callable[[World], AbstractAsyncContextManager[None]]
Cost = Callable[[float, float, float], float]
"""Of one candidate, by Q, P and B."""


OTHER = {"x-steelyard-workload": "other"}
ONE: Tree = {"max_sequences_per_instance": 1}
PRODUCT = {"p_token_exponent_percent": 100, "batch_size_exponent_percent": 100}
ALONE: Tree = {"batch": {"max_sequences": 1}, "scheduler": {"order": "FCFS"}}


def other(**match: object) -> Tree:
    return policy(None, {"name": "other", "match": match})


def routed(**routing: object) -> Tree:
    return policy({"routing": {"strategy": "Multiplicative", **routing}})


def weighed(target: str, percent: int) -> Tree:
    return policy(
        {
            "slo": {f"{target}_ms": 60_000},
            "weights": {f"{target}_percent": percent},
            "routing": {"strategy": "MarginalDelay"},
        }
    )


def product(q: float, p: float, b: float) -> float:
    return (q + p) * (b + 1)


def moves(old: str, new: str, **request: Any) -> Act:
    """A request of that kind is one of another workload."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        assert (await live.decided("before", **request))["workload"] == old
        yield
        assert (await live.decided("after", **request))["workload"] == new

    return act


def costs(old: Cost, new: Cost) -> Act:
    """What a placement beside another request is priced at; also that of one that waited."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        await live.runs("runs", words=10)
        await priced(live, "before", old)
        yield
        await priced(live, "after", new)

    return act


async def priced(live: World, name: str, cost: Cost) -> None:
    (row,) = (await live.decided(name, words=20))["candidates"]
    assert row["cost"] == pytest.approx(cost(row["q"], row["p"], row["b"]))
    assert row["b"] == 1


@asynccontextmanager
async def weighs(live: World) -> AsyncIterator[None]:
    """With nobody beside it, the one target that it has is all that a placement costs."""

    async def cost(name: str) -> float:
        (row,) = (await live.decided(name, max_tokens=10))["candidates"]
        return float(row["cost"])

    assert await cost("before") == 0
    yield
    assert await cost("after") > 0


@asynccontextmanager
async def judged(live: World) -> AsyncIterator[None]:
    """By the targets that hold when it ends, which are another's than when it came."""
    await live.runs("waited", stream=True)
    assert (await live.workload("w"))["attainment_percent"] is None
    yield
    await live.ends("waited")
    assert (await live.workload("w"))["attainment_percent"] == 100


@asynccontextmanager
async def aims(live: World) -> AsyncIterator[None]:
    assert (await live.workload("w"))["attainment_target_percent"] == 50
    yield
    assert (await live.workload("w"))["attainment_target_percent"] == 99


@asynccontextmanager
async def renamed(live: World) -> AsyncIterator[None]:
    """Those who run and wait under the old name are served."""
    await live.runs("runs")
    await live.waits("waits")
    assert await live.workload("new") == {}
    yield
    await live.ends("runs", "waits")
    assert (await live.decided("after"))["workload"] == "new"
    assert (await live.workload("new"))["requests"] == 1


@asynccontextmanager
async def overtakes(live: World) -> AsyncIterator[None]:
    """Who comes in a higher class goes before all who wait; those keep theirs."""
    await live.runs("runs")
    await live.waits("w")
    await live.waits("early", headers=OTHER)
    yield
    await live.waits("late", headers=OTHER)
    for goes_before, goes_after in pairwise(("runs", "late", "w", "early")):
        live.let(goes_before)
        await live.comes(goes_before, goes_after)


@asynccontextmanager
async def placed_anew(live: World) -> AsyncIterator[None]:
    """Also who waited."""
    await live.runs("runs", words=10)
    assert (await live.decision("runs"))["strategy"] == "LeastRequest"
    await live.waits("waits", words=20)
    yield
    await live.ends("runs", "waits")
    (row,) = (await live.decision("waits"))["candidates"]
    assert row["cost"] == row["q"] + row["p"]
    assert (await live.decided("after"))["strategy"] == "Multiplicative"


@asynccontextmanager
async def capped(live: World) -> AsyncIterator[None]:
    """Who waited for a prefix that nobody has goes."""
    await live.waits("waits", words=50)
    assert live.holding.names == []
    yield
    await live.comes("waits")


CASES: dict[str, Case] = {
    "name": Case(
        policy(ONE),
        {"workloads": [LOAD, {"name": "new", "default": True}]},
        renamed,
    ),
    "default": Case(
        policy(),
        {"workloads": [LOAD, {"name": "w"}, {"name": "other", "default": True}]},
        moves("w", "other"),
    ),
    "match.headers": Case(
        policy(), other(headers={"x-kind": "a"}), moves("w", "other", headers={"x-kind": "a"})
    ),
    "match.models": Case(policy(), other(models=["n"]), moves("w", "other", model="n")),
    "match.paths": Case(
        policy(),
        other(paths=["/v1/completions"]),
        moves("w", "other", path="/v1/completions", prompt="word"),
    ),
    "match.prompt_tokens_min": Case(
        policy(), other(prompt_tokens_min=100), moves("w", "other", words=200)
    ),
    "match.prompt_tokens_max": Case(policy(), other(prompt_tokens_max=50), moves("w", "other")),
    "priority": Case(
        policy(**ALONE), policy(None, {"name": "other", "priority": 1}, **ALONE), overtakes
    ),
    **{
        f"slo.{name}": Case(policy(), policy({"slo": {name: 60_000}}), judged)
        for name in ("ttft_ms", "tpot_ms", "e2e_ms")
    },
    "slo.attainment_percent": Case(
        policy({"slo": {"attainment_percent": 50}}),
        policy({"slo": {"attainment_percent": 99}}),
        aims,
    ),
    **{
        f"weights.{target}_percent": Case(weighed(target, 0), weighed(target, 60), weighs)
        for target in ("ttft", "tpot", "e2e")
    },
    "routing.strategy": Case(
        policy({**ONE, "routing": {"strategy": "LeastRequest"}}),
        policy({**ONE, "routing": {"strategy": "Multiplicative"}}),
        placed_anew,
    ),
    "routing.p_token_exponent_percent": Case(
        routed(**PRODUCT),
        routed(**PRODUCT | {"p_token_exponent_percent": 200}),
        costs(product, lambda q, p, b: (q + p) ** 2 * (b + 1)),
    ),
    "routing.batch_size_exponent_percent": Case(
        routed(**PRODUCT),
        routed(**PRODUCT | {"batch_size_exponent_percent": 200}),
        costs(product, lambda q, p, b: (q + p) * (b + 1) ** 2),
    ),
    "routing.p_token_offset": Case(
        routed(),
        routed(p_token_offset=1000),
        costs(product, lambda q, p, b: (q + p + 1000) * (b + 1)),
    ),
    "routing.max_p_tokens": Case(routed(max_p_tokens=1), routed(), capped),
    "max_concurrent": Case(
        policy({"max_concurrent": 1}), policy({"max_concurrent": 2}), goes_beside()
    ),
    "max_sequences_per_instance": Case(
        policy(ONE), policy({"max_sequences_per_instance": 2}), goes_beside()
    ),
    **{
        f"queue.{name}": case
        for name, case in queue_cases(lambda queue: policy({**ONE, "queue": queue})).items()
    },
}


def test_every_field_of_a_workload_has_a_case_here() -> None:
    assert set(leaves(Workload)) == set(CASES)


@pytest.mark.parametrize("field", CASES)
async def test_a_change_of_the_field_acts_at_once_and_breaks_nothing(
    field: str, tmp_path: Path
) -> None:
    await check(CASES[field], tmp_path / "router.json")
