"""Which of the policy's workloads a request belongs to.

The first workload, in the policy's order, whose every given condition holds; otherwise the default
one. A client may name the workload in a header; an unknown name counts as none, so that a policy
that drops a workload breaks no client.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard_router.config import Match, Targets, WeightPercents, Workload
from steelyard_router.scheduling.request import SLO, Weights

WORKLOAD_HEADER = "x-steelyard-workload"


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """A workload with its targets in the scheduler's units, computed once per configuration."""

    workload: Workload
    slo: SLO
    weights: Weights
    headers: tuple[tuple[str, str], ...]
    models: frozenset[str]
    paths: tuple[str, ...]

    @classmethod
    def of(cls, workload: Workload) -> "ServiceClass":
        match = workload.match
        return cls(
            workload=workload,
            slo=_slo(workload.slo),
            weights=_weights(workload.weights or WeightPercents()),
            headers=tuple((name.lower(), value) for name, value in match.headers.items()),
            models=frozenset(match.models),
            paths=match.paths,
        )

    def takes(
        self, path: str, headers: Mapping[str, str], model: str | None, prompt_tokens: int
    ) -> bool:
        match = self.workload.match
        return (
            (not self.models or model in self.models)
            and (not self.paths or path.startswith(self.paths))
            and all(headers.get(name) == value for name, value in self.headers)
            and (match.prompt_tokens_min is None or prompt_tokens >= match.prompt_tokens_min)
            and (match.prompt_tokens_max is None or prompt_tokens <= match.prompt_tokens_max)
        )


class WorkloadTable:
    """The policy's workloads, ready to be matched."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        classes = [ServiceClass.of(workload) for workload in workloads]
        self._named = {known.workload.name: known for known in classes}
        self._matching = [known for known in classes if known.workload.match != Match()]
        self._default = next(known for known in classes if known.workload.default)

    def find(
        self, path: str, headers: Mapping[str, str], *, model: str | None, prompt_tokens: int
    ) -> ServiceClass:
        named = headers.get(WORKLOAD_HEADER)
        if named is not None and named in self._named:
            return self._named[named]
        for known in self._matching:
            if known.takes(path, headers, model, prompt_tokens):
                return known
        return self._default


def _slo(targets: Targets) -> SLO:
    return SLO(
        ttft_s=targets.ttft_ms and targets.ttft_ms / 1000,
        tpot_s=targets.tpot_ms and targets.tpot_ms / 1000,
        e2e_s=targets.e2e_ms and targets.e2e_ms / 1000,
    )


def _weights(percents: WeightPercents) -> Weights:
    return Weights(
        ttft=percents.ttft_percent / 100,
        tpot=percents.tpot_percent / 100,
        e2e=percents.e2e_percent / 100,
    )
