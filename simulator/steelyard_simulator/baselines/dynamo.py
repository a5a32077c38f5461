"""NVIDIA Dynamo's KV router: uncached prefill blocks plus decode blocks.

Source: dynamo lib/kv-router/src/scheduling/selector/default.rs and its documentation:

    cost = prefill_load_scale * max(0, raw prefill blocks - credit * overlap blocks)
           + decode blocks + w_req * active requests

raw prefill blocks = (prompt tokens of this request + uncached prompt tokens placed there without
a first token) / block size; decode blocks = different blocks of all requests there, this one's
included (shared ones once), until they end. Least cost, of equal ones any; temperature 0.

Knows: its own requests (prefill until the first token, blocks to the end), caches by engine events
without predict-on-route, as by default. Constants (Dynamo's defaults): scale 1, credit 1 without
decay, w_req 0, output blocks not tracked. Blocks are the trace's; the formula does not change with
their size. Parameters: scale, credit, requests.
"""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from steelyard_router.scheduling.request import HASH_BYTES
from steelyard_simulator.baselines.baseline import Baseline
from steelyard_simulator.baselines.choice import any_least
from steelyard_simulator.baselines.instance import Claim, Instance
from steelyard_simulator.baselines.prefix import EngineEvents, Prefixes
from steelyard_simulator.replay.policy import Arrival, Options


class Dynamo(Baseline):
    """cost = uncached prefill blocks + active blocks"""

    name: ClassVar[str] = "dynamo"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.scale = options.parameter("scale", 1.0)
        self.credit = options.parameter("credit", 1.0)
        self.per_request = options.parameter("requests", 0.0)
        self._active: dict[Instance, Counter[bytes]] = {}
        """Blocks of the requests there, with how many of them have each."""

    def knowledge(self) -> Prefixes:
        return EngineEvents()

    def joined(self, instance: Instance) -> None:
        self._active[instance] = Counter()

    def left(self, instance: Instance) -> None:
        del self._active[instance]

    def placed(self, claim: Claim, now: float) -> None:
        del now
        self._active[claim.instance].update(_blocks(claim.arrival))

    def released(self, claim: Claim) -> None:
        if (active := self._active.get(claim.instance)) is None:
            return
        for block in _blocks(claim.arrival):
            active[block] -= 1
            if not active[block]:
                del active[block]

    def choose(self, arrival: Arrival, hits: Sequence[int], now: float) -> int:
        del now
        blocks, size = _blocks(arrival), arrival.block_tokens
        costs = []
        for instance, hit in zip(self.fleet, hits, strict=True):
            raw = (instance.queued_tokens + arrival.prompt_tokens) / size
            prefill = self.scale * max(0.0, raw - self.credit * -(-hit // size))
            active = self._active[instance]
            decode = len(active) + sum(block not in active for block in blocks)
            costs.append(prefill + decode + self.per_request * instance.requests)
        return any_least(costs, self.rng)


def _blocks(arrival: Arrival) -> list[bytes]:
    return [
        arrival.blocks[at : at + HASH_BYTES] for at in range(0, len(arrival.blocks), HASH_BYTES)
    ]
