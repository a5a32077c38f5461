"""What an order needs to know of a request that waits: when it came, what it takes and is owed.

Times are seconds on one clock, `now_s` among them; targets count from the arrival. All here is
predicted, and an order is only as good as that.
"""

from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class Job:
    """Never changed; not frozen, because that takes three times as long to make.

    A target that is None asks for nothing, so a job without any always counts as served well.
    A higher priority is strict: an order puts all of a class before any of a lower one.
    """

    key: str
    arrived_s: float
    prefill_s: float
    """To compute its prompt where it would run."""
    output_tokens: float
    """Expected; at least 1."""
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    priority: int = 0
    attained_tokens: float = 0.0
    """What its session has been given so far."""
    most_output_tokens: float = 0.0
    """Few such replies have more; no less than what is expected. How long it may wait goes by this:
    to count on the mean is to be late half of the time."""
    steps: float = field(init=False)
    """From its first token to its last."""
    deadline_s: float = field(init=False)
    """When the first of its targets falls due; inf if none is a time."""
    begin_by_s: float = field(init=False)
    """Computing its prompt must begin by then, or the first token is late;"""
    empty_by_s: float = field(init=False)
    """and by then, less the time of its steps, or the last one is."""
    most_steps: float = field(init=False)
    """As many as it may have."""

    def __post_init__(self) -> None:
        first_s = inf if self.ttft_s is None else self.arrived_s + self.ttft_s
        last_s = inf if self.e2e_s is None else self.arrived_s + self.e2e_s
        self.steps = self.output_tokens - 1.0
        self.most_steps = max(self.output_tokens, self.most_output_tokens) - 1.0
        self.deadline_s = min(first_s, last_s)
        self.begin_by_s = first_s - self.prefill_s
        self.empty_by_s = last_s - self.prefill_s

    def on(self, prefill_s: float) -> "Job":
        """The same where its prompt takes that long."""
        targets = (self.ttft_s, self.tpot_s, self.e2e_s)
        own = (self.key, self.arrived_s, prefill_s, self.output_tokens)
        rest = (self.priority, self.attained_tokens, self.most_output_tokens)
        return Job(*own, *targets, *rest)

    def service_s(self, token_s: float) -> float:
        """From its start to its last token, if no prompt is before its own."""
        return self.prefill_s + self.steps * token_s

    def latest_start_s(self, token_s: float) -> float:
        """If computing its prompt begins after that, a target is missed; inf if none is a time. The
        time per token depends on where it runs rather than on when, so it is not asked about here.
        """
        begin_s, last_s = self.begin_by_s, self.empty_by_s - self.most_steps * token_s
        return begin_s if begin_s < last_s else last_s

    def slack_s(self, now_s: float, token_s: float) -> float:
        """How much longer it may wait then; less than nothing if it is too late."""
        return self.latest_start_s(token_s) - now_s
