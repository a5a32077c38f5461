"""One router of the fleet: its policy, and what it has learned about replies.

All that a policy is told goes through its view, so that one which holds requests is asked again
whenever it may have changed its mind.
"""

from collections.abc import Callable

from steelyard_router.analysis.history import OutputHistory
from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_simulator.load.trace import TraceRequest
from steelyard_simulator.replay.policy import Arrival, Policy, Polled


def _nothing_waits(now: float) -> None:
    del now


class RouterView:
    """Requests get their expected output from the replies that this router has seen."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.stir: Callable[[float], None] = _nothing_waits
        """Called after something was told; of use where the policy holds requests."""
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
        expected = self._history.expected(request.workload, request.input_tokens, None)
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
                most_output_tokens=self._history.most(request.workload, request.input_tokens, None),
                slo=slo,
                weights=weights,
                session=request.session,
            ),
        )

    def join(
        self, instance: str, now: float, *, cache_tokens: int, block_tokens: int, hint: float | None
    ) -> None:
        self.policy.join(
            instance, cache_tokens=cache_tokens, block_tokens=block_tokens, speed_hint=hint
        )
        self.stir(now)

    def leave(self, instance: str, now: float) -> None:
        self.policy.leave(instance)
        self.stir(now)

    def place(self, arrival: Arrival, now: float) -> str | None:
        chosen = self.policy.place(arrival, now)
        self.stir(now)
        return chosen

    def first_byte(self, arrival: Arrival, now: float) -> None:
        self.policy.first_byte(arrival.id, now)
        self.stir(now)

    def progress(self, arrival: Arrival, output_tokens: int, now: float) -> None:
        self.policy.progress(arrival.id, output_tokens, now)
        self.stir(now)

    def failed(self, arrival: Arrival, now: float) -> None:
        self.policy.failed(arrival.id, now)
        self.stir(now)

    def polled(self, instance: str, metrics: Polled, now: float) -> None:
        self.policy.polled(instance, metrics)
        self.stir(now)

    def finished(self, arrival: Arrival, now: float, cached_tokens: int) -> None:
        """The usage report at the end of a reply."""
        self._history.learn(arrival.workload, arrival.prompt_tokens, arrival.output_tokens)
        self.policy.finished(
            arrival.id, now, output_tokens=arrival.output_tokens, cached_tokens=cached_tokens
        )
        self.stir(now)
