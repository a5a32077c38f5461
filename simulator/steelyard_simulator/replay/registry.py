"""Policies by name: ours first, then every baseline. A name may carry constants."""

from dataclasses import replace

from steelyard_simulator.baselines import REGISTRY
from steelyard_simulator.replay.name import parse_name
from steelyard_simulator.replay.policy import Options, Policy
from steelyard_simulator.replay.scheduled import STRATEGY_NAMES, SchedulerPolicy


class PolicyNameError(ValueError):
    """The message lists the names there are, or says what is wrong with a constant."""


def names() -> tuple[str, ...]:
    """All of them, ours first; one of ours hides a baseline of the same name."""
    return (*STRATEGY_NAMES, *(name for name in sorted(REGISTRY) if name not in STRATEGY_NAMES))


def build_policy(name: str, *, seed: int, options: Options) -> Policy:
    """A policy with a state of its own. Raises PolicyNameError."""
    bare, parameters = parse(name)
    options = replace(options, seed=seed, parameters={**options.parameters, **parameters})
    if bare in STRATEGY_NAMES:
        return SchedulerPolicy.of(bare, options)
    return REGISTRY[bare](options)


def parse(name: str) -> tuple[str, dict[str, float]]:
    """A known name without its constants, and those. Raises PolicyNameError."""
    return parse_name(name, "policy", names(), PolicyNameError)
