"""What a policy on trial would have said: its workloads' requests, how its targets were met, where
it would have chosen otherwise, and the states of its alerts.

The times are those that were measured under the policy in force. So attainment and alerts tell how
the new targets fit what the service does now, and agreement tells how much the new routing would
change; neither predicts what would happen then. Nothing here is acted on: no Event, no log line.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from steelyard_router.alerts.book import AlertBook
from steelyard_router.alerts.window import Windows
from steelyard_router.config import ObjectRef, Policy, RouterConfig, Targets
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.promise import attainment, feed

TARGETS = ("ttft", "tpot", "e2e")


@dataclass(slots=True)
class Tally:
    """How often something held, of how often it could be told."""

    held: int = 0
    told: int = 0

    def add(self, *, holds: bool) -> None:
        self.told += 1
        self.held += holds

    @property
    def percent(self) -> float | None:
        return round(100 * self.held / self.told, 2) if self.told else None


@dataclass(slots=True)
class ShadowWorkload:
    """One workload of the policy on trial, since the trial began."""

    targets: Targets
    requests: int = 0
    met: Tally = field(default_factory=Tally)
    """All of its targets at once."""
    by_target: dict[str, Tally] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> bool | None:
        """Whether the request met the targets, as far as that can be told."""
        self.requests += 1
        for name, target_ms in self._given():
            taken_s: float | None = getattr(outcome, f"{name}_s")
            if taken_s is not None:
                tally = self.by_target.setdefault(name, Tally())
                tally.add(holds=taken_s * 1000 <= target_ms)
        held = attainment(outcome, self.targets)
        if held is not None:
            self.met.add(holds=held)
        return held

    def _given(self) -> Iterator[tuple[str, int]]:
        for name in TARGETS:
            target_ms: int | None = getattr(self.targets, f"{name}_ms")
            if target_ms is not None:
                yield name, target_ms


class ShadowBook:
    """One trial: of one policy, from `now` on."""

    def __init__(self, policy: Policy, ref: ObjectRef | None, service: str, now: float) -> None:
        self.policy = policy
        self.ref = ref
        self.since = now
        self.agreement = Tally()
        """Of all placements, those that it would have made too."""
        self.windows = Windows(policy)
        self.workloads = {each.name: ShadowWorkload(each.slo) for each in policy.workloads}
        self._alerts = AlertBook(policy, service)

    @classmethod
    def of(cls, config: RouterConfig, now: float, before: Self | None) -> Self | None:
        """The trial that a configuration asks for; the one that runs goes on if it is the same."""
        if config.shadow is None:
            return None
        if before is not None and (before.policy, before.ref) == (config.shadow, config.shadow_ref):
            return before
        return cls(config.shadow, config.shadow_ref, config.service.name, now)

    def add(self, outcome: Outcome, now: float) -> None:
        """Count a request that has ended; one that was seen before the trial began is left out."""
        name = outcome.trial_workload
        workload = self.workloads.get(name) if name is not None else None
        if name is None or workload is None:
            return
        if outcome.trial_agrees is not None:
            self.agreement.add(holds=outcome.trial_agrees)
        held = workload.add(outcome)
        feed(self.windows, name, outcome, held=held, now=now)

    def judge(self, now: float) -> None:
        """Step the alerts, every second or so."""
        self._alerts.evaluate(now, self.windows)

    def alerts(self) -> list[dict[str, object]]:
        """As AlertBook.states."""
        return self._alerts.states()
