"""What a client saw of one request, in seconds of the wall clock; summary.py may scale them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """`at_s` is when it was sent, from the start of the replay, and `lag_s` how much later than
    planned.

    TTFT is the time to the first byte of the body; TPOT the time from there to the end, over the
    output tokens after the first. Both and E2E are None where `error` is set. `status` is 0 without
    an answer.
    """

    at_s: float
    lag_s: float
    input_tokens: int
    output_tokens: int
    status: int = 0
    error: str | None = None
    instance: str | None = None
    session: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    def to_dict(self, time_scale: float = 1.0) -> dict[str, object]:
        """One line of the per-request file; latencies times `time_scale`."""

        def ms(seconds: float | None) -> float | None:
            return None if seconds is None else round(seconds * time_scale * 1000, 3)

        return {
            "t_s": round(self.at_s, 4),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "ttft_ms": ms(self.ttft_s),
            "tpot_ms": ms(self.tpot_s),
            "e2e_ms": ms(self.e2e_s),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "status": self.status,
            "error": self.error,
            "instance": self.instance,
            "session": self.session,
            "lag_ms": round(self.lag_s * 1000, 3),
        }
