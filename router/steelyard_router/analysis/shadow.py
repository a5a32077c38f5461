"""A request as a policy on trial sees it: the same prompt, another workload, targets and strategy.

Made beside the analysis in force and never instead of it; where there is no policy on trial, nobody
asks.
"""

from collections.abc import Mapping
from dataclasses import replace

from steelyard_router.analysis import hint
from steelyard_router.analysis.analyzer import Analysis
from steelyard_router.analysis.workload import WorkloadTable
from steelyard_router.config import ClientHints, Policy
from steelyard_router.scheduling.room import Room
from steelyard_router.scheduling.strategy import Strategy
from steelyard_router.scheduling.trial import Trial


class Shadow:
    """One policy on trial, compiled; `strategies` by workload name."""

    def __init__(
        self,
        policy: Policy,
        strategies: Mapping[str, Strategy],
        hints: ClientHints,
        room: Room | None = None,
    ) -> None:
        self._workloads = WorkloadTable(policy.workloads)
        self._strategies = strategies
        self._hints = hints
        self._room = room

    def trial(self, path: str, headers: Mapping[str, str], analysis: Analysis) -> Trial:
        """The request of `analysis` under this policy."""
        view = analysis.view
        placed = self._workloads.find(
            path, headers, model=analysis.model, prompt_tokens=view.prompt_tokens
        )
        workload = placed.workload
        slo, priority = hint.apply(headers, placed.slo, workload.priority, self._hints)
        return Trial(
            replace(
                view, workload=workload.name, slo=slo, weights=placed.weights, priority=priority
            ),
            self._strategies[workload.name],
            workload.routing.max_p_tokens,
            self._room,
        )
