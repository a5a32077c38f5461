"""Slots, the queue and what is left behind by those who give up."""

import asyncio
import random

import pytest

from steelyard_router import config
from steelyard_router.errors import Overloaded
from steelyard_router.proxy.admission import Admission, Ticket

CHAT = config.Workload(name="chat")
URGENT = config.Workload(name="urgent", priority=10)
BATCH = config.Workload(name="batch", max_concurrent=1)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limits(concurrent: int = 1, queue: int = 100, queue_wait_s: float = 30) -> config.Limits:
    return config.Limits(concurrent=concurrent, queue=queue, queue_wait_s=queue_wait_s)


async def turn() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def taken(admission: Admission, workload: config.Workload = CHAT) -> Ticket:
    ticket = admission.try_enter(workload)
    assert ticket is not None
    return ticket


def test_entering_needs_no_event_loop_while_there_is_room() -> None:
    admission = Admission(limits(concurrent=2))

    tickets = [admission.try_enter(CHAT) for _ in range(3)]

    assert [ticket is not None for ticket in tickets] == [True, True, False]
    assert admission.running == 2


async def test_entering_does_not_wait_while_there_is_room() -> None:
    admission = Admission(limits())
    (await admission.enter(CHAT)).release()

    assert admission.waiting_of("nobody") == admission.running_of("nobody") == 0


def test_a_workloads_own_limit_leaves_the_others_alone() -> None:
    admission = Admission(limits(concurrent=10))
    taken(admission, BATCH)

    assert admission.try_enter(BATCH) is None
    assert admission.try_enter(CHAT) is not None
    assert admission.running_of("batch") == 1


def test_releasing_twice_gives_back_one_slot() -> None:
    admission = Admission(limits(concurrent=2))
    first, _second = taken(admission), taken(admission)
    first.release()
    first.release()

    assert admission.running == 1
    assert admission.running_of("chat") == 1


async def test_waiters_enter_in_the_order_of_their_arrival() -> None:
    admission, order = Admission(limits()), []
    holder = taken(admission)

    async def request(name: str) -> None:
        ticket = await admission.enter(CHAT)
        order.append(name)
        ticket.release()

    tasks = [asyncio.create_task(request(name)) for name in "abcd"]
    await turn()
    assert admission.waiting == admission.waiting_of("chat") == 4
    holder.release()
    await asyncio.gather(*tasks)

    assert order == list("abcd")
    assert (admission.running, admission.waiting) == (0, 0)


async def test_higher_priority_enters_first() -> None:
    admission, order = Admission(limits()), []
    holder = taken(admission)

    async def request(workload: config.Workload) -> None:
        ticket = await admission.enter(workload)
        order.append(workload.name)
        ticket.release()

    tasks = [asyncio.create_task(request(w)) for w in (CHAT, BATCH, URGENT, CHAT, URGENT)]
    await turn()
    holder.release()
    await asyncio.gather(*tasks)

    assert order == ["urgent", "urgent", "chat", "batch", "chat"]


async def test_a_workload_at_its_limit_does_not_hold_up_those_behind_it() -> None:
    admission = Admission(limits(concurrent=2))
    batch, chat = taken(admission, BATCH), taken(admission)
    blocked = asyncio.create_task(admission.enter(BATCH))
    behind = asyncio.create_task(admission.enter(CHAT))
    await turn()
    chat.release()
    await turn()

    assert behind.done()
    assert not blocked.done()

    batch.release()

    (await blocked).release()
    (await behind).release()


async def test_a_newcomer_does_not_overtake_a_waiter() -> None:
    admission = Admission(limits())
    holder = taken(admission)
    waiter = asyncio.create_task(admission.enter(CHAT))
    await turn()
    holder.release()

    assert admission.try_enter(CHAT) is None

    (await waiter).release()


async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    admission = Admission(limits(queue=1))
    holder = taken(admission)
    waiter = asyncio.create_task(admission.enter(CHAT))
    await turn()

    with pytest.raises(Overloaded, match="queue of 1 requests is full") as caught:
        await admission.enter(CHAT)

    assert caught.value.status == 429
    assert caught.value.retry_after_s is not None
    assert caught.value.retry_after_s >= 1
    assert admission.waiting == 1
    holder.release()
    (await waiter).release()


async def test_a_wait_that_lasts_too_long_ends_in_an_overload_and_leaves_the_queue() -> None:
    admission = Admission(limits(queue_wait_s=0.02))
    holder = taken(admission)

    with pytest.raises(Overloaded, match=r"waited 0\.02 s"):
        await admission.enter(CHAT)

    assert admission.waiting == 0
    holder.release()
    assert admission.running == 0


async def test_a_cancelled_waiter_leaves_nothing_behind() -> None:
    admission = Admission(limits())
    holder = taken(admission)
    waiter = asyncio.create_task(admission.enter(CHAT))
    await turn()
    waiter.cancel()
    await turn()
    assert admission.waiting == 0
    holder.release()

    assert admission.running == 0


@pytest.mark.parametrize("cancel_first", [True, False])
async def test_cancelling_a_waiter_as_it_gets_its_slot_passes_the_slot_on(
    cancel_first: bool,
) -> None:
    admission = Admission(limits())
    holder = taken(admission)
    unlucky = asyncio.create_task(admission.enter(CHAT))
    next_one = asyncio.create_task(admission.enter(CHAT))
    await turn()
    if cancel_first:
        unlucky.cancel()
        holder.release()
    else:
        holder.release()
        unlucky.cancel()
    await turn()

    assert unlucky.cancelled()
    assert next_one.done()
    (await next_one).release()
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_thousand_requests_with_random_cancellations_end_with_all_slots_free() -> None:
    rng = random.Random(7)
    admission = Admission(limits(concurrent=5, queue=2000, queue_wait_s=0.05))
    most = 0

    async def request(workload: config.Workload) -> None:
        nonlocal most
        ticket = admission.try_enter(workload) or await admission.enter(workload)
        most = max(most, admission.running)
        try:
            await asyncio.sleep(rng.uniform(0, 0.002))
        finally:
            ticket.release()

    tasks = [asyncio.create_task(request(rng.choice([CHAT, URGENT, BATCH]))) for _ in range(1000)]
    for task in rng.sample(tasks, 300):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert most == 5
    assert (admission.running, admission.waiting) == (0, 0)
    assert all(admission.running_of(name) == 0 for name in ("chat", "urgent", "batch"))


async def test_raised_limits_let_waiters_in_at_once() -> None:
    admission = Admission(limits())
    taken(admission)
    waiters = [asyncio.create_task(admission.enter(CHAT)) for _ in range(3)]
    await turn()
    admission.update(limits(concurrent=3))
    await turn()

    assert [waiter.done() for waiter in waiters] == [True, True, False]
    waiters[0].result().release()
    await asyncio.gather(*waiters)


async def test_a_reloaded_workload_limit_holds_for_those_who_wait() -> None:
    admission = Admission(limits(concurrent=10))
    taken(admission, BATCH)
    waiter = asyncio.create_task(admission.enter(BATCH))
    await turn()
    admission.update(limits(concurrent=10), [BATCH.model_copy(update={"max_concurrent": 2})])

    await asyncio.wait_for(waiter, 1)


def test_lowered_limits_let_what_runs_end_and_then_hold() -> None:
    admission = Admission(limits(concurrent=3))
    tickets = [taken(admission) for _ in range(3)]
    admission.update(limits(concurrent=1))
    tickets[0].release()
    tickets[1].release()
    assert admission.try_enter(CHAT) is None

    tickets[2].release()

    assert admission.try_enter(CHAT) is not None


async def test_workloads_that_are_gone_leave_nothing_behind() -> None:
    admission = Admission(limits(concurrent=10))
    for number in range(1000):
        taken(admission, config.Workload(name=f"w{number}")).release()
        admission.update(limits(concurrent=10))

    assert len(admission._lines) <= 1


def test_retry_after_follows_the_observed_rate() -> None:
    clock = Clock()
    admission = Admission(limits(concurrent=100), clock=clock)
    for _ in range(64):
        taken(admission).release()
        clock.now += 4

    assert admission.retry_after_s() == pytest.approx(4, rel=0.2)


def test_retry_after_is_at_least_a_second_and_bounded() -> None:
    clock = Clock()
    admission = Admission(limits(concurrent=100), clock=clock)
    for _ in range(64):
        taken(admission).release()
    assert admission.retry_after_s() == 1

    clock.now += 3600

    assert admission.retry_after_s() == 30  # nothing seen lately: as long as a wait may last
