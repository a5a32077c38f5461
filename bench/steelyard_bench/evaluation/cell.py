"""What is compared: a load on a fleet, the policies that place it, and the seeds of their runs."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from steelyard_router.scheduling.request import SLO
from steelyard_simulator.load.selection import Window
from steelyard_simulator.replay.scenario import Hardware, Load, Scenario, Sight


class Group(StrEnum):
    """Which part of the page a cell belongs to."""

    MAIN = "main"
    MIXED = "mixed"
    PROFILE = "profile"
    WRONG = "wrong"
    SWEEP = "sweep"
    BURST = "burst"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Cell:
    """`seeds` by policy. The reports' attainment is against `slo`; policies are told of it only
    where `told` says so."""

    name: str
    group: Group
    source: str
    seeds: dict[str, int]
    rate: float = 1.0
    instances: int = 16
    profile: str = "reference"
    slow: tuple[tuple[int, float], ...] = ()
    routers: int = 1
    metrics_delay_s: float = 0.0
    duration_s: float | None = None
    slo: SLO = field(default_factory=lambda: SLO(ttft_s=2.0, tpot_s=0.05))
    told: bool = False
    curves: bool = False
    """Whether the page draws its distributions."""

    def scenario(self, instances: int | None = None) -> Scenario:
        return Scenario(
            hardware=Hardware(instances or self.instances, self.profile, self.slow),
            load=Load(window=Window(duration_s=self.duration_s), rate_scale=self.rate),
            sight=Sight(routers=self.routers, metrics_delay_s=self.metrics_delay_s),
            slo=self.slo if self.told else SLO(),
        )

    def describe(self) -> dict[str, object]:
        """All that a run's figures depend on, but the policy, the seed and the code."""
        fields = asdict(self)
        for left_out in ("name", "group", "seeds", "curves"):
            del fields[left_out]
        return fields


@dataclass(frozen=True, slots=True)
class Task:
    """One run; in a cell of CAPACITY one search."""

    cell: Cell
    policy: str
    seed: int

    @property
    def id(self) -> str:
        return f"{self.cell.name}/{self.policy}/{self.seed}"

    @property
    def search(self) -> bool:
        return self.cell.group is Group.CAPACITY
