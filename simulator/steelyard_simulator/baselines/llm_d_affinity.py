"""llm-d's optimized baseline: stay with the warm endpoints, else the fewest uncached tokens.

Source: llm-d-router, prefix-cache-affinity-filter, token-load-scorer, inflight-load-producer and
max-score-picker, composed as in llm-d's optimized-baseline guide.

- The filter keeps the endpoints that hold at least 80 % of the prompt's whole blocks; all, if none
  does. It opens to all again when the best warm one's estimated TTFT (uncached tokens in flight
  there / peak prefill throughput) is more than 18,000 ms above the best other's. No exploration.
- The scorer gives 1 - tokens / 4,194,304 (at most that many), tokens = uncached ones in flight
  there and of this request. Of equal scores any.
- Tokens in flight are uncached prompt tokens from dispatch to the first byte.

Knows: its own requests, and prompts by its own placing (LRU as large as each engine's cache). Peak
prefill throughput 15,928 tokens/s is llm-d's default (Qwen3-32B, H100 TP2). `llm-d-affinity-
calibrated` has it measured on the fleet's engine as llm-d's recipe does, by one chunk of
max_num_batched_tokens on an idle engine; `penalty_ms` and `threshold` can be given to both.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import any_most
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory, matched_share
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.replay.policy import Arrival, Options

THRESHOLD = 0.80
PENALTY_MS = 18_000.0
PEAK_TOKENS_PER_S = 15_928.0
FULL_TOKENS = 4_194_304


class LlmDAffinity(Baseline):
    """among the warm: score = 1 - uncached tokens in flight / 4,194,304"""

    name: ClassVar[str] = "llm-d-affinity"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.threshold = options.parameter("threshold", THRESHOLD)
        self.penalty_s = options.parameter("penalty_ms", PENALTY_MS) / 1000
        self.peak_tokens_per_s = options.parameter("peak", self.peak(options.profile))

    def peak(self, profile: Profile) -> float:
        del profile
        return PEAK_TOKENS_PER_S

    def knowledge(self) -> Prefixes:
        return RoutingHistory()

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        rows = self._candidates(arrival, hits)
        scores = [
            1
            - min(self.fleet[row].queued_tokens + arrival.prompt_tokens - hits[row], FULL_TOKENS)
            / FULL_TOKENS
            for row in rows
        ]
        return rows[any_most(scores, self.rng)]

    def _candidates(self, arrival: Arrival, hits: Sequence[int]) -> Sequence[int]:
        everyone = range(len(self.fleet))
        warm = [row for row in everyone if matched_share(arrival, hits[row]) >= self.threshold]
        others = [row for row in everyone if row not in warm]
        if not warm or not others:
            return everyone
        gap = min(map(self._ttft_s, warm)) - min(map(self._ttft_s, others))
        return everyone if 0 < self.penalty_s < gap else warm

    def _ttft_s(self, row: int) -> float:
        return self.fleet[row].queued_tokens / self.peak_tokens_per_s


class LlmDAffinityCalibrated(LlmDAffinity):
    """The same with peak prefill throughput measured."""

    name: ClassVar[str] = "llm-d-affinity-calibrated"

    def peak(self, profile: Profile) -> float:
        tokens = profile.max_num_batched_tokens
        return tokens / profile.step_s(
            prefill_tokens=tokens,
            pairs=tokens * (tokens + 1) // 2,
            sequences=0,
            context_tokens=0,
        )
