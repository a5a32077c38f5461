"""Schedulers by name: what a router does with requests that its instances have no room for.

With `none` nothing waits in front of the instances. Every other one puts a pool there, around one
of the router's own strategies. A name may carry constants, as a policy's may.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from steelyard_simulator.replay import registry
from steelyard_simulator.replay.name import parse_name
from steelyard_simulator.replay.policy import Options, Policy
from steelyard_simulator.replay.pooled import ORDERS, pooled
from steelyard_simulator.replay.scheduled import STRATEGY_NAMES

NONE: Final = "none"

Make = Callable[[str, Options], Policy]
"""From the name of a strategy, one of STRATEGY_NAMES. The seed and all constants, the policy's and
the scheduler's own, are in the options."""

SCHEDULERS: Final[Mapping[str, Make]] = MappingProxyType({name: pooled(name) for name in ORDERS})
"""All but NONE. Their policies hold requests (policy.HoldingPolicy)."""


class SchedulerNameError(ValueError):
    """The message lists the names there are, or says what cannot go together."""


def names() -> tuple[str, ...]:
    return (NONE, *SCHEDULERS)


def parse(name: str) -> tuple[str, dict[str, float]]:
    """A known name without its constants, and those. Raises SchedulerNameError."""
    return parse_name(name, "scheduler", names(), SchedulerNameError)


def check(scheduler: str, policy: str) -> None:
    """Raises SchedulerNameError or PolicyNameError for names that cannot be built together."""
    bare, _ = parse(scheduler)
    strategy, _ = registry.parse(policy)
    if bare != NONE and strategy not in STRATEGY_NAMES:
        raise SchedulerNameError(
            f"scheduler {bare!r} works with the router's own policies, not with {strategy!r}; "
            f"these are {', '.join(STRATEGY_NAMES)}"
        )


def build(scheduler: str, policy: str, *, seed: int, options: Options) -> Policy:
    """A policy with a state of its own. Raises as check() does."""
    check(scheduler, policy)
    bare, own = parse(scheduler)
    if bare == NONE:
        return registry.build_policy(policy, seed=seed, options=options)
    strategy, parameters = registry.parse(policy)
    merged = {**options.parameters, **parameters, **own}
    return SCHEDULERS[bare](strategy, replace(options, seed=seed, parameters=merged))
