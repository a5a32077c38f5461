"""From a policy's settings of queue, batch and scheduler to what the pool is made of."""

from math import inf
from random import Random

from steelyard_router.config import (
    Limits,
    OwnQueue,
    Policy,
    Queue,
    SchedulerMode,
    SchedulerSettings,
)
from steelyard_router.errors import ConfigError
from steelyard_router.scheduling import order
from steelyard_router.scheduling.order import Order, Schedule
from steelyard_router.scheduling.room import ENDLESS, Room
from steelyard_router.scheduling.waiting import WaitLimit


def order_of(settings: SchedulerSettings, rng: Random) -> Order:
    """Raises ConfigError for a name that is not an order."""
    annealing = settings.annealing
    schedule = Schedule(
        acceptance=annealing.acceptance_percent / 100,
        cooling=annealing.cooling_percent / 100,
        iterations=annealing.iterations,
    )
    try:
        return order.build(settings.order, rng, schedule=schedule)
    except ValueError as error:
        raise ConfigError(f"policy.scheduler.order: {error}") from error


def room_of(policy: Policy) -> Room:
    """When an instance has room, by that policy; without any bound where nobody is to wait."""
    if policy.scheduler.mode is SchedulerMode.DISABLED:
        return ENDLESS
    batch = policy.batch
    return Room(
        sequences=batch.max_sequences or inf,
        of_workload={
            workload.name: workload.max_sequences_per_instance
            for workload in policy.workloads
            if workload.max_sequences_per_instance is not None
        },
        queued_s=(batch.queued_prefill_ms or inf) / 1000,
        kv_share=batch.kv_percent / 100,
        dear=batch.harm_percent / 100,
    )


def wait_limits_of(policy: Policy, limits: Limits) -> dict[str, WaitLimit]:
    """By workload name: what a workload's own queue leaves out is as in the policy's, and what that
    leaves out as in the process's.
    """
    return {each.name: _wait_limit(each.queue, policy.queue, limits) for each in policy.workloads}


def _wait_limit(own: OwnQueue, shared: Queue, limits: Limits) -> WaitLimit:
    max_wait_s = own.max_wait_s or shared.max_wait_s or limits.queue_wait_s
    return WaitLimit(float(max_wait_s), own.on_timeout or shared.on_timeout)
