"""A weighted sum of hit ratio and load: what a production scheduler of the LMetric paper used.

Source: LMetric (arXiv 2603.15202), called BAILIAN there, and its artifact (docs/dsl/policies.md):

    score = kv * hit share + batch * (1 - requests / most) + tokens * (1 - tokens / most)

The highest score, of equal ones the first: the paper's experiments used such a deterministic
variant, while the artifact's sample draws at random in proportion to the score. Its code
(policies/bailian.rs) also stretches each term from 0 at the fleet's worst to 1 at its best
(`scaled=1`). Drawn at random that is harmless, but with the highest score it lets a single block
more of a long prompt decide, and everything herds to one instance; so it is not the reading here.

Knows: its own requests and tokens in flight (the artifact hears of each engine step; output tokens
arrive a quarter of a second late here), caches by engine events. Constants: kv 0.7, batch 0.15,
tokens 0.15 (`linear:kv=0.55`; the other two share what is left unless given). The paper swept kv
per trace and found 0.7 and 0.55.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import falling, first_most, rising
from steelyard_simulator.baselines.prefix import EngineEvents, Prefixes, matched_share
from steelyard_simulator.replay.policy import Arrival, Options


class Linear(Baseline):
    """score = kv * hit share + batch * (1 - B / most) + tokens * (1 - C / most)"""

    name: ClassVar[str] = "linear"
    wants_progress = True

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.kv = options.parameter("kv", 0.7)
        self.batch = options.parameter("batch", (1 - self.kv) / 2)
        self.tokens = options.parameter("tokens", 1 - self.kv - self.batch)
        self.scaled = bool(options.parameter("scaled", 0))

    def knowledge(self) -> Prefixes:
        return EngineEvents()

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        requests = [instance.requests for instance in self.fleet]
        tokens = [instance.all_tokens for instance in self.fleet]
        if self.scaled:
            columns = rising(hits, even=0.0), falling(requests, even=0.0), falling(tokens, even=0.0)
        else:
            columns = (
                [matched_share(arrival, hit) for hit in hits],
                _below_most(requests),
                _below_most(tokens),
            )
        return first_most(
            [
                self.kv * hit + self.batch * free + self.tokens * room
                for hit, free, room in zip(*columns, strict=True)
            ]
        )


def _below_most(values: Sequence[int]) -> list[float]:
    most = max(values)
    return [1 - value / most if most else 1.0 for value in values]
