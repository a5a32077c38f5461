"""SGLang's cache-aware router: longest history match above a threshold, else the least loaded.

Source: sglang-router 0.3.2, src/policies/cache_aware.rs and tree.rs:

- Imbalanced, that is most - least requests > 64 and most > 1.5 * least: the least loaded.
- Else one tree of all prompts by where they were sent. If more than 0.3 of this prompt matches it
  (whoever sent what), the instance that the deepest matching node names; else the least loaded.
- A node names the instance whose prompt made it, while that one still holds it; else any holder,
  the first one here. (vllm-router 0.1.17, its fork, takes the least loaded holder: `spread=1`. It
  matches token ids only: prompts that come as text are placed by load alone there.)

Least loaded: the first of the equal ones in order of joining. Wherever a request goes, its prompt
is added to the tree for that instance. An instance's part is evicted, least recently used first,
down to 2^26 characters: every minute there, at once here; with 4 characters a token that is
16.8 million tokens, far more than its engine's cache holds.

Knows: its own requests in flight, prompts by its own placing. It matches characters, here the
trace's blocks. Parameters: threshold 0.3, absolute 64, relative 1.5, characters 2^26,
spread 0.
"""

from collections.abc import Sequence
from typing import ClassVar

from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import first_least
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import Prefixes, RoutingHistory
from steelyard_simulator.replay.policy import Arrival, Options

CHARACTERS_PER_TOKEN = 4
TREE_CHARACTERS = 1 << 26


class SglangCacheAware(Baseline):
    """owner of the longest match if that is above 0.3 of the prompt, else the least loaded"""

    name: ClassVar[str] = "sglang-cache-aware"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.threshold = options.parameter("threshold", 0.3)
        self.absolute = options.parameter("absolute", 64)
        self.relative = options.parameter("relative", 1.5)
        self.spread = bool(options.parameter("spread", 0))
        self._makers: dict[bytes, Instance] = {}
        """Whose prompt was the first to have a block: it made the node in which the block lies."""

    def knowledge(self) -> Prefixes:
        characters = self.options.parameter("characters", TREE_CHARACTERS)
        return RoutingHistory(int(characters) // CHARACTERS_PER_TOKEN)

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        loads = [instance.requests for instance in self.fleet]
        most, least = max(loads), min(loads)
        if most - least > self.absolute and most > self.relative * least:
            return first_least(loads)
        longest = max(hits)
        if longest <= self.threshold * arrival.prompt_tokens:
            return first_least(loads)
        holders = [row for row, hit in enumerate(hits) if hit == longest]
        if self.spread:
            return min(holders, key=loads.__getitem__)
        deepest = _block(arrival, -(-longest // arrival.block_tokens) - 1)
        maker = self._makers.get(deepest)
        return next((row for row in holders if self.fleet[row] is maker), holders[0])

    def placed(self, claim: Claim, now: float) -> None:
        del now
        arrival, makers = claim.arrival, self._makers
        for position in range(len(arrival.blocks) // HASH_BYTES):
            makers.setdefault(_block(arrival, position), claim.instance)

    def left(self, instance: Instance) -> None:
        self._makers = {key: made for key, made in self._makers.items() if made is not instance}


def _block(arrival: Arrival, position: int) -> bytes:
    return arrival.blocks[position * HASH_BYTES : (position + 1) * HASH_BYTES]
