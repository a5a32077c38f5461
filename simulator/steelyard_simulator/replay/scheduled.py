"""The router's own Scheduler as a policy of the fleet: the same classes, the same leases, called in
the same places as proxy/exchange and proxy/attempt call them.
"""

from collections.abc import Callable, Mapping
from typing import Final, Self

from steelyard_router.scheduling.lease import Lease, Phase
from steelyard_router.scheduling.predictor import Predictor
from steelyard_router.scheduling.scheduler import Decision, Scheduler
from steelyard_router.scheduling.strategy import AUTO, STRATEGIES, Settings, Strategy, build
from steelyard_simulator.replay.distorted import Distorted
from steelyard_simulator.replay.policy import Arrival, Options, Polled

AUTO_NAME: Final = "default"
INDEX_BYTES: Final = 512 * 1024 * 1024
"""As in the router's configuration."""


def kebab(name: str) -> str:
    """MarginalDelay -> marginal-delay."""
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in name).lstrip("-")


STRATEGY_NAMES: Final[Mapping[str, str]] = {AUTO_NAME: AUTO} | {
    kebab(kind.name): kind.name for kind in STRATEGIES if kind.name != AUTO
}
"""Ours by the name they have on a command line."""


class SchedulerPolicy:
    """One strategy object per workload, as the router has them."""

    holds = False
    wants_progress = True
    poll_interval_s: float | None = None

    def __init__(
        self, strategy: Callable[[], Strategy], predictor: Predictor | None = None
    ) -> None:
        self.scheduler = Scheduler(index_bytes=INDEX_BYTES, predictor=predictor)
        self._make = strategy
        self._strategies: dict[str, Strategy] = {}
        self._leases: dict[int, Lease] = {}

    @classmethod
    def of(cls, name: str, options: Options) -> Self:
        """By a name in STRATEGY_NAMES; `p`, `b` and `offset` are the exponents and the offset, and
        the names of distorted.py are factors on what is learned.
        """
        parameters = options.parameters
        settings = Settings(
            p_exponent=parameters.get("p"),
            b_exponent=parameters.get("b"),
            offset=parameters.get("offset", 0.0),
        )
        return cls(lambda: build(STRATEGY_NAMES[name], settings), Distorted.of(parameters))

    def join(
        self, instance: str, *, cache_tokens: int, block_tokens: int, speed_hint: float | None
    ) -> None:
        """The router learns speeds by itself."""
        del block_tokens, speed_hint
        self.scheduler.join(instance, cache_tokens=cache_tokens)

    def leave(self, instance: str) -> None:
        self.scheduler.leave(instance)

    def strategy(self, workload: str) -> Strategy:
        strategy = self._strategies.get(workload)
        if strategy is None:
            strategy = self._strategies[workload] = self._make()
        return strategy

    def place(self, arrival: Arrival, now: float) -> str | None:
        decision = self.scheduler.choose(arrival.view, self.strategy(arrival.workload), now)
        return self.keep(arrival.id, decision)

    def keep(self, arrival_id: int, decision: Decision) -> str:
        """Its lease, until it ends; gives the instance."""
        self._leases[arrival_id] = decision.lease
        return decision.instance

    def first_byte(self, arrival_id: int, now: float) -> None:
        self._leases[arrival_id].first_byte(now)

    def progress(self, arrival_id: int, output_tokens: int, now: float) -> None:
        self._leases[arrival_id].progress(output_tokens, now)

    def finished(
        self, arrival_id: int, now: float, *, output_tokens: int, cached_tokens: int | None
    ) -> None:
        del output_tokens
        lease = self._leases.pop(arrival_id)
        if cached_tokens is not None:
            lease.correct(cached_tokens, prompt_tokens=lease.prompt_tokens)
        lease.release(now)

    def failed(self, arrival_id: int, now: float) -> None:
        lease = self._leases.pop(arrival_id)
        lease.release(now, served=lease.phase is Phase.DECODE)

    def polled(self, instance: str, metrics: Polled) -> None:
        self.scheduler.observe(
            instance,
            running=metrics.running,
            waiting=metrics.waiting,
            now=metrics.at_s,
            kv_usage=metrics.kv_usage,
        )
