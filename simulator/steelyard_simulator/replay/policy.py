"""What a fleet asks of whatever places requests, and all that it may tell it.

A policy is one router's view. It learns what a router can see and nothing else: who is there, what
was asked, the first byte and the end of what it placed itself, and metrics as old as the polling
makes them. The true output length of a request is on the arrival for oracles that say so in their
name; everybody else leaves it alone.

A policy that `holds` may keep a request in front of the instances and say later where it goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeGuard

from steelyard_router.scheduling.request import SLO, RequestView, Weights
from steelyard_simulator.engine.profile import Profile, profile


@dataclass(slots=True)
class Arrival:
    """A request as a router gets it.

    `blocks` are the chained 8-byte hashes of RequestView, one per whole block of the trace,
    `block_tokens` what each stands for. `expected_output_tokens` is what this router expects from
    the workload's replies so far; None where it has no idea.
    """

    id: int
    at_s: float
    workload: str
    prompt_tokens: int
    output_tokens: int
    """The truth: for oracles only."""
    expected_output_tokens: float | None
    blocks: bytes
    block_tokens: int
    session: str | None
    slo: SLO
    weights: Weights
    view: RequestView
    """The same as the router's scheduler takes it."""


class Polled(NamedTuple):
    """An engine's metrics as they were at `at_s`; the policy may hear of them later."""

    running: int
    waiting: int
    kv_usage: float
    at_s: float


class Placement(NamedTuple):
    """What becomes of a request that was held; `instance` is None where the router refuses it."""

    arrival_id: int
    instance: str | None


@dataclass(frozen=True, slots=True)
class Options:
    """What a policy may be built from. `profile` and `slowness` describe the fleet; only a system
    that is calibrated in reality may read them, and it says so.
    """

    seed: int = 0
    profile: Profile = field(default_factory=lambda: profile("reference"))
    slowness: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Factor on the profile's times by instance, where it is not 1."""
    router: int = 0
    """Which of `routers` views this is."""
    routers: int = 1
    parameters: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Constants given with the name, as in `linear:kv=0.7`."""

    def parameter(self, name: str, default: float) -> float:
        return self.parameters.get(name, default)


class Policy(Protocol):
    """One object per router view. `now` never goes back."""

    holds: bool
    """Whether it is a HoldingPolicy; only then may place() give None."""
    wants_progress: bool
    """Whether progress() is to be called at all."""
    poll_interval_s: float | None
    """How often this system hears of its engines; 0: of all of them before each placement; None: as
    the run says."""

    def join(
        self, instance: str, *, cache_tokens: int, block_tokens: int, speed_hint: float | None
    ) -> None:
        """An instance has come, with an empty cache. `speed_hint`: its speed over the profile's, if
        the operator of the fleet has said it."""
        ...

    def leave(self, instance: str) -> None:
        """Nothing new may go there. What is running there still ends by finished() or failed()."""
        ...

    def place(self, arrival: Arrival, now: float) -> str | None:
        """Decides and counts, in one step; None: it is held until dispatch() names it. At least one
        instance is there. The same arrival comes again after failed(), if its first byte had not
        come and the fleet tries it elsewhere."""
        ...

    def first_byte(self, arrival_id: int, now: float) -> None: ...

    def progress(self, arrival_id: int, output_tokens: int, now: float) -> None:
        """So many tokens have come in total; told every now and then."""
        ...

    def finished(
        self, arrival_id: int, now: float, *, output_tokens: int, cached_tokens: int | None
    ) -> None:
        """The reply is complete; `cached_tokens` is None where the engine does not report it."""
        ...

    def failed(self, arrival_id: int, now: float) -> None:
        """Its connection broke: the instance is gone, or its cache is. Of a request that is held:
        its client has given up."""
        ...

    def polled(self, instance: str, metrics: Polled) -> None: ...


class HoldingPolicy(Policy, Protocol):
    """A policy with a pool in front of its instances.

    It is asked once for each instant at which it was told anything, after all that it is told then;
    an arrival counts as told.
    """

    @property
    def next_s(self) -> float | None:
        """When to ask at the latest, even if nothing happens; read after each dispatch()."""
        ...

    def dispatch(self, now: float) -> Sequence[Placement]:
        """What goes now, in this order, decided and counted; each was held. The instances are
        there."""
        ...


def holding(policy: Policy) -> TypeGuard[HoldingPolicy]:
    return policy.holds
