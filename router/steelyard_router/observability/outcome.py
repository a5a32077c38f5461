"""What is known about a request that has ended: the one value the proxy hands to observability."""

from dataclasses import dataclass

from steelyard_router.scheduling.request import RequestView


@dataclass(frozen=True, slots=True)
class Asked:
    """What a recording needs of a request before it ends (recorder.py)."""

    at_s: float
    """When it came in, on the router's clock."""
    view: RequestView


@dataclass(slots=True)
class Outcome:
    """Filled while the request runs, reported once, on every path.

    Times are durations in seconds. `ttft_s` and `tpot_s` stay None for requests that do not stream;
    `e2e_s` stays None for requests that did not succeed. `result` is "ok", "client_gone",
    "client_error" (4xx), "upstream_error", "timeout", "overloaded" or "no_instance".
    """

    workload: str = "default"
    instance: str = ""
    result: str = "ok"
    status: int = 0
    streams: bool = False
    prompt_tokens: int = 0
    predicted_hit_tokens: int = 0
    cached_tokens: int | None = None
    output_tokens: int = 0
    score: float | None = None
    attempts: int = 0
    queue_s: float = 0.0
    overhead_s: float = 0.0
    """Time the router itself took before the first upstream byte was sent, queueing apart."""
    placed_s: float = 0.0
    """From when it came in until the instance that has answered it was chosen."""
    predicted_ttft_s: float | None = None
    """From then on, as it was predicted then;"""
    predicted_tpot_s: float | None = None
    """both None where the instance was not known well enough."""
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    trial_workload: str | None = None
    """Under the policy on trial, if there is one."""
    trial_agrees: bool | None = None
    """Whether that policy would have chosen the same instance at first."""
    asked: Asked | None = None
    """Only while somebody records."""

    @property
    def ttft_error(self) -> float | None:
        """|actual / predicted - 1|, from the choice of the instance on."""
        if self.ttft_s is None or not self.predicted_ttft_s:
            return None
        return abs((self.ttft_s - self.placed_s) / self.predicted_ttft_s - 1)

    @property
    def tpot_error(self) -> float | None:
        if self.tpot_s is None or not self.predicted_tpot_s:
            return None
        return abs(self.tpot_s / self.predicted_tpot_s - 1)
