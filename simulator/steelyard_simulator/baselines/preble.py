"""Preble: follow a prefix that covers most of the prompt, else the least work of three minutes.

Source: Preble (arXiv 2407.00023) as re-implemented in the LMetric artifact (docs/preble-design.md):

- Exploit: if the best match is more than 0.5 of the prompt, the instances with the longest match;
  of these the one with the fewest requests in the window.
- Explore: least sum, over the requests sent there in the last 180 s, of prefill seconds of their
  uncached tokens + decode seconds. Equal ones: the first.

The paper's explore cost has two more terms. What this request would compute there is added here
(`own=0` takes it out, as the artifact does); what it would evict is not, and neither are the
rebalancing of instances that run hot and the copying of hot prefixes, which no port has. Decode
seconds of a request are output tokens * seconds a token: 45 * 0.15 are AIBrix's constants for a
7B model on a V100, and would outweigh every prefill of a faster engine; here the workload's
expected output (45 before it is known) at the engine's lone decode step.

Knows: its own placing, caches by engine events, and the engine's profile: Preble's cost model is a
regression on offline profiling. Parameters: threshold 0.5, window_s 180, own 1.
"""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import first_least
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import EngineEvents, Prefixes
from steelyard_simulator.baselines.rollout import Part, prefill_s
from steelyard_simulator.replay.policy import Arrival, Options

OUTPUT_TOKENS = 45


class _Window:
    """Seconds of work sent to one instance lately."""

    def __init__(self) -> None:
        self._entries: deque[tuple[float, float]] = deque()
        self.work_s = 0.0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, at_s: float, work_s: float) -> None:
        self._entries.append((at_s, work_s))
        self.work_s += work_s

    def expire(self, before_s: float) -> None:
        while self._entries and self._entries[0][0] < before_s:
            self.work_s -= self._entries.popleft()[1]


class Preble(Baseline):
    """longest match above half of the prompt, else least work in the window"""

    name: ClassVar[str] = "preble"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.threshold = options.parameter("threshold", 0.5)
        self.window_s = options.parameter("window_s", 180.0)
        self.own = options.parameter("own", 1.0)
        self._windows: dict[Instance, _Window] = {}

    def knowledge(self) -> Prefixes:
        return EngineEvents()

    def joined(self, instance: Instance) -> None:
        self._windows[instance] = _Window()

    def left(self, instance: Instance) -> None:
        del self._windows[instance]

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        windows = [self._windows[instance] for instance in self.fleet]
        for window in windows:
            window.expire(now - self.window_s)
        longest = max(hits)
        if longest > self.threshold * arrival.prompt_tokens:
            holders = [row for row, hit in enumerate(hits) if hit == longest]
            return min(holders, key=lambda row: len(windows[row]))
        return first_least(
            [
                window.work_s + self.own * self._prefill_s(instance, arrival.prompt_tokens, hit)
                for instance, window, hit in zip(self.fleet, windows, hits, strict=True)
            ]
        )

    def placed(self, claim: Claim, now: float) -> None:
        arrival, profile = claim.arrival, self.options.profile
        hit = arrival.prompt_tokens - claim.uncached_tokens
        output = arrival.expected_output_tokens or OUTPUT_TOKENS
        token_s = profile.step_s(
            prefill_tokens=0, pairs=0, sequences=1, context_tokens=arrival.prompt_tokens
        )
        decode_s = output * token_s * self.options.slowness.get(claim.instance.name, 1.0)
        work_s = self._prefill_s(claim.instance, arrival.prompt_tokens, hit) + decode_s
        self._windows[claim.instance].add(now, work_s)

    def _prefill_s(self, instance: Instance, prompt_tokens: int, hit: int) -> float:
        factor = self.options.slowness.get(instance.name, 1.0)
        return factor * prefill_s(self.options.profile, [Part(prompt_tokens - hit, hit)])
