"""One router of the fleet: its policy, and what it has learned about replies."""

from steelyard_router.analysis.history import OutputHistory
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.policy import Arrival, Policy


class RouterView:
    """Requests get their expected output from the replies that this router has seen."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._history = OutputHistory()

    def arrival(
        self,
        number: int,
        request: TraceRequest,
        blocks: bytes,
        *,
        now: float,
        block_tokens: int,
        slo: SLO,
        weights: Weights,
    ) -> Arrival:
        expected = self._history.expected(request.workload, None)
        return Arrival(
            id=number,
            at_s=now,
            workload=request.workload,
            prompt_tokens=request.input_tokens,
            output_tokens=request.output_tokens,
            expected_output_tokens=expected,
            blocks=blocks,
            block_tokens=block_tokens,
            session=request.session,
            slo=slo,
            weights=weights,
            view=RequestView(
                workload=request.workload,
                blocks=blocks,
                block_tokens=float(block_tokens),
                prompt_tokens=request.input_tokens,
                expected_output_tokens=expected,
                slo=slo,
                weights=weights,
                session=request.session,
            ),
        )

    def finished(self, arrival: Arrival, now: float, cached_tokens: int) -> None:
        """The usage report at the end of a reply."""
        self._history.learn(arrival.workload, arrival.output_tokens)
        self.policy.finished(
            arrival.id, now, output_tokens=arrival.output_tokens, cached_tokens=cached_tokens
        )
