"""The two fields of a queue, which a policy and each of its workloads have: who waits already is
held to them, as if it had come after the change.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from support.live_policy import Case, Tree, World
from support.patience import until


def queue_cases(policy: Callable[[Tree], Tree]) -> dict[str, Case]:
    """By field. `policy` makes one in which one request runs at once, of that queue."""
    long, short, later = {"max_wait_s": 3600}, {"max_wait_s": 1}, {"max_wait_s": 2}
    reject, degrade = {"on_timeout": "Reject"}, {"on_timeout": "Degrade"}
    return {
        "max_wait_s": Case(policy(long | reject), policy(short | reject), _refused),
        "on_timeout": Case(policy(later | reject), policy(later | degrade), _degraded),
    }


@asynccontextmanager
async def _refused(live: World) -> AsyncIterator[None]:
    await live.runs("runs")
    await live.waits("early")
    yield
    await live.ends("early", status=429)
    await live.waits("late")
    await live.ends("late", status=429)


@asynccontextmanager
async def _degraded(live: World) -> AsyncIterator[None]:
    line = live.router.runtime.line
    await live.runs("runs")
    await live.waits("late")
    yield
    await until(lambda: line._pool._list.degraded)
    await live.waits("newer")
    live.let("runs")
    await live.comes("runs", "newer")
    live.let("newer")
    await live.comes("newer", "late")
