"""From a policy's routing settings to the strategies that place its requests."""

from steelyard_router.config import Policy, Workload
from steelyard_router.errors import ConfigError
from steelyard_router.scheduling.request import Weights
from steelyard_router.scheduling.strategy import Settings, Strategy, build


def strategy_for(workload: Workload) -> Strategy:
    """Raises ConfigError for a name that is not a strategy."""
    routing, weights = workload.routing, workload.weights
    settings = Settings(
        p_exponent=_share(routing.p_token_exponent_percent),
        b_exponent=_share(routing.batch_size_exponent_percent),
        offset=float(routing.p_token_offset),
        weights=None
        if weights is None
        else Weights(
            weights.ttft_percent / 100, weights.tpot_percent / 100, weights.e2e_percent / 100
        ),
    )
    try:
        return build(routing.strategy, settings)
    except ValueError as error:
        raise ConfigError(f"policy.workloads[{workload.name}].routing.strategy: {error}") from error


def strategies_for(policy: Policy) -> dict[str, Strategy]:
    """By workload name."""
    return {workload.name: strategy_for(workload) for workload in policy.workloads}


def _share(percent: int | None) -> float | None:
    return None if percent is None else percent / 100
