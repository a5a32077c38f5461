"""One instance of the fleet: its engine, and the replies that stream from it."""

from collections import deque
from collections.abc import Iterator
from math import inf

from steelyard_simulator.engine.engine import Engine
from steelyard_simulator.engine.job import Job
from steelyard_simulator.engine.profile import Profile
from steelyard_simulator.replay.policy import Arrival, Polled
from steelyard_simulator.replay.view import RouterView

PROGRESS_TOKENS = 32
"""A router hears of generated tokens every so many, as in proxy/attempt."""


def instance_name(number: int) -> str:
    return f"i{number:02}"


class Stream:
    """A request on its way through the fleet, from its arrival to its end."""

    __slots__ = (
        "arrival",
        "first_s",
        "held_at",
        "instance",
        "job",
        "stalled",
        "told",
        "tries",
        "view",
        "wait_s",
    )

    def __init__(self, arrival: Arrival, job: Job, view: RouterView) -> None:
        self.arrival = arrival
        self.job = job
        self.view = view
        self.instance: Instance | None = None
        """Where it is; None before it is placed and after its end."""
        self.tries = 0
        self.first_s: float | None = None
        self.told = 0
        """Output tokens that the router has heard of."""
        self.stalled = False
        """It was preempted since then."""
        self.held_at: float | None = None
        """Since when its router holds it; None while it does not."""
        self.wait_s = 0.0
        """How long it was held before."""


class Instance:
    """`wake_s` is when the fleet looks at the engine next; inf: it has nothing to do."""

    def __init__(self, name: str, profile: Profile, slowness: float = 1.0) -> None:
        self.name = name
        self.profile = profile
        self.slowness = slowness
        self.engine = Engine(profile)
        self.streams: dict[str, Stream] = {}
        self.wake_s = inf
        self.told_s = 0.0
        """When progress was last told."""
        self._line: deque[Stream] = deque()

    def crash(self) -> list[Stream]:
        """What ran there; the engine and its cache are gone."""
        lost = list(self.streams.values())
        self.engine = Engine(self.profile)
        self.streams = {}
        self.wake_s = inf
        self._line.clear()
        return lost

    def metrics(self, now: float) -> Polled:
        engine = self.engine
        return Polled(engine.running, engine.waiting, engine.kv_usage, now)

    def follow(self, stream: Stream) -> None:
        """Its first token is out: tell of those to come."""
        stream.told = 1
        self._line.append(stream)

    def progressed(self) -> Iterator[Stream]:
        """Streams that have grown by PROGRESS_TOKENS; `told` is how many tokens they have.

        All streams that decode grow alike, so the one told longest ago is due first; only a
        preempted one falls behind, and steps out of the others' way.
        """
        line, generated, passed = self._line, self.engine.generated, 0
        while line:
            stream = line[0]
            if stream.instance is not self:
                line.popleft()
                continue
            tokens = generated(stream.job.id)
            if tokens - stream.told >= PROGRESS_TOKENS:
                stream.told = tokens
                stream.stalled = False
                line.rotate(-1)
                yield stream
            elif stream.stalled and passed < len(line):
                passed += 1
                line.rotate(-1)
            else:
                return
