"""How one request ended, as its client saw it."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """`ttft_s` is None where no byte came, `e2e_s` where the end did not. Both count from the
    arrival, tries on lost instances included; so does `open_s`, until it was over in whatever
    way."""

    number: int
    workload: str
    instance: str | None
    at_s: float
    ttft_s: float | None
    e2e_s: float | None
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    open_s: float = 0.0
    wait_s: float = 0.0
    """Of it, held by its router, placed nowhere."""
    rejected: bool = False
    """Its router has refused it."""

    @property
    def tpot_s(self) -> float | None:
        """Between the first token and the last; a reply of one has none."""
        if self.ttft_s is None or self.e2e_s is None or self.output_tokens < 2:
            return None
        return (self.e2e_s - self.ttft_s) / (self.output_tokens - 1)
