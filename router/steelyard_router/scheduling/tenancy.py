"""Fair turns among tenants: who holds more than its share lets the others of its class go first.

A share is what runs, divided by the tenants that run or wait. Nothing stands idle for it: where the
others have nobody who fits, a tenant goes on beyond its share. Requests without a tenant are one
tenant together.
"""

from collections.abc import Iterator, Mapping, Sequence

from steelyard_router.scheduling.waiting import KeyT, Waiting


def in_turn(
    waiting: Sequence[Waiting[KeyT]], running: Mapping[str, int]
) -> Iterator[Waiting[KeyT]]:
    """The same, each class by itself: first those of tenants below their share. `running` are
    sequences by tenant, and may change while turns are taken.
    """
    tenants = {_tenant(one) for one in waiting} | running.keys()
    if len(tenants) < 2:
        yield from waiting
        return
    aside: list[Waiting[KeyT]] = []
    for one in waiting:
        if aside and aside[0].job.priority != one.job.priority:
            yield from aside
            aside.clear()
        if running.get(_tenant(one), 0) * len(tenants) > sum(running.values()):
            aside.append(one)
        else:
            yield one
    yield from aside


def _tenant(one: Waiting[KeyT]) -> str:
    return one.ask.request.tenant or ""
