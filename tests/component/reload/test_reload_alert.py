"""Each field of an alert, changed while streams run and wait: what is judged from then on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from support.leaf import leaves
from support.live_policy import Case, Tree, World, check, policy
from support.patience import until

from steelyard_router.config import Alert

Act = Callable[[World], AbstractAsyncContextManager[None]]
NEVER = 10**9


def alert(**fields: object) -> Tree:
    """One that fires as soon as one of the load has ended, but for what is given."""
    plain = {"name": "a", "metric": "E2E", "threshold": 1, "for_s": 0, "min_samples": 1}
    return policy(alerts=[plain | fields])


def turns(old: str, new: str) -> Act:
    """From one state to another."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        await live.alerts(old)
        yield
        await live.alerts(new)

    return act


def shows(field: str, old: object, new: object) -> Act:
    """What is said of it, and it fires by it."""

    @asynccontextmanager
    async def act(live: World) -> AsyncIterator[None]:
        await live.alerts("Firing")
        assert (await live.alert())[field] == old
        yield
        assert (await live.alert())[field] == new
        await live.alerts("Firing")

    return act


@asynccontextmanager
async def renamed(live: World) -> AsyncIterator[None]:
    await live.alerts("Firing")
    assert await live.alert("b") == {}
    yield
    await live.alerts("Firing", "b")
    assert await live.alert("a") == {}


@asynccontextmanager
async def of_one(live: World) -> AsyncIterator[None]:
    assert await live.alert(workload="w") != {}
    yield
    assert await live.alert(workload="w") == {}
    await live.alerts("Firing")


@asynccontextmanager
async def relative(live: World) -> AsyncIterator[None]:
    """There is no threshold until the usual level is known."""
    await live.alerts("OK")
    assert (await live.alert())["threshold"] == NEVER
    yield
    await until_value(live, lambda value: value > 0, workload="load")
    row = await live.alert()
    assert (row["threshold"], row["state"]) == (None, "NoData")


@asynccontextmanager
async def remembers(live: World) -> AsyncIterator[None]:
    """For as long as is asked for now."""
    await until(lambda: measured(live, 60) > 0)
    assert measured(live, 120) == 0
    yield
    await until(lambda: measured(live, 120) > 0)
    assert measured(live, 60) == 0


def measured(live: World, window_s: float) -> int:
    windows = live.router.observer.windows
    return windows.snapshot("E2E", "load", window_s, live.router.runtime.time()).count


@asynccontextmanager
async def clears(live: World) -> AsyncIterator[None]:
    """Where the median falls to a fourth of the threshold: above one bound, below the other."""
    await scores(live, "high", 1)
    await live.alerts("Firing", workload="w")
    await scores(live, "low", 2)
    await until_value(live, lambda value: value < 500)
    assert (await live.alert(workload="w"))["state"] == "Firing"
    yield
    await live.alerts("OK", workload="w")
    await scores(live, "higher", 2)
    await live.alerts("Firing", workload="w")
    await scores(live, "lower", 3)
    await live.alerts("OK", workload="w")


async def scores(live: World, name: str, many: int) -> None:
    """So many more requests, of 2,000 words where it says high, else of 200."""
    for number in range(many):
        await live.decided(f"{name}{number}", words=2000 if "high" in name else 200)


async def until_value(live: World, holds: Callable[[float], bool], *, workload: str = "w") -> None:
    async with asyncio.timeout(20):
        while not holds((await live.alert(workload=workload))["value"] or 0):
            await asyncio.sleep(0.01)


@asynccontextmanager
async def repeats(live: World) -> AsyncIterator[None]:
    with firing() as told:
        await until(lambda: told)
        yield
        await until(lambda: len(told) > 2)


@contextmanager
def firing() -> Iterator[list[str]]:
    """What the log says of alerts that fire."""
    told: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "SLOAlertFiring" in (message := record.getMessage()):
                told.append(message)

    logger, handler = logging.getLogger("steelyard.router"), Heard()
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


SCORE: Tree = {"metric": "Score", "threshold": 1000, "percentile": 50, "workloads": ["w"]}

CASES: dict[str, Case] = {
    "name": Case(alert(), alert(name="b"), renamed),
    "metric": Case(alert(), alert(metric="TTFT"), shows("metric", "E2E", "TTFT")),
    "percentile": Case(alert(), alert(percentile=50), shows("percentile", 95, 50)),
    "threshold": Case(alert(threshold=NEVER), alert(), turns("OK", "Firing")),
    "baseline_percent": Case(
        alert(threshold=NEVER), alert(threshold=None, baseline_percent=150), relative
    ),
    "window_s": Case(alert(window_s=60), alert(window_s=120), remembers),
    "for_s": Case(alert(for_s=3600), alert(), turns("Pending", "Firing")),
    "clear_percent": Case(
        alert(**SCORE, clear_percent=10), alert(**SCORE, clear_percent=100), clears
    ),
    "min_samples": Case(alert(min_samples=NEVER), alert(), turns("NoData", "Firing")),
    "repeat_s": Case(alert(), alert(repeat_s=1), repeats),
    "severity": Case(alert(), alert(severity="Normal"), shows("severity", "Warning", "Normal")),
    "workloads": Case(alert(), alert(workloads=["load"]), of_one),
}


def test_every_field_of_an_alert_has_a_case_here() -> None:
    assert set(leaves(Alert)) == set(CASES)


@pytest.mark.parametrize("field", CASES)
async def test_a_change_of_the_field_acts_at_once_and_breaks_nothing(
    field: str, tmp_path: Path
) -> None:
    await check(CASES[field], tmp_path / "router.json")
