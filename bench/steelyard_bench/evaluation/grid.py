"""Which runs make the evaluation. The full grid is meant for 25 minutes on two quiet cores.

Loads: the rates of `conversation`, `toolagent` and `claude-code` reach from half of what a fleet of
16 can do to where queues grow. The rates of traces without prompts in common, of `small-agents` and
of the other profiles are about 70 % of that at which queues began to grow with Multiplicative.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from steelyard_bench.evaluation.cell import Cell, Group, Task
from steelyard_router.scheduling.request import SLO
from steelyard_router.scheduling.strategy import STRATEGIES
from steelyard_simulator.baselines import REGISTRY
from steelyard_simulator.replay.distorted import TERMS
from steelyard_simulator.replay.scheduled import kebab

SEEDS: Final = 5
FEW: Final = 2
"""Seeds of policies that are far off, or much like another one."""
DEFAULT: Final = kebab(STRATEGIES[0].name)
"""What `default` stands for; it runs under its own name."""
LEARNED: Final = "adaptive"
"""The one of ours that prices placements by what steps were seen to cost."""
PRODUCT: Final = "multiplicative"
SUBJECTS: Final = tuple(dict.fromkeys((DEFAULT, LEARNED)))
"""What is held against everything else, and against the bars."""
OURS: Final = tuple(dict.fromkeys((*SUBJECTS, PRODUCT, "marginal-delay")))
SIMPLE: Final = ("least-request", "round-robin")
STRONG: Final = ("vllm", "lpwl", "smetric", "least-ttft")
"""Baselines that come near ours in both means, and what bars are read against: all seeds."""
VARIANTS: Final = ("linear:kv=0.4", "linear:kv=0.55")
"""Beside `linear`, whose weight of a hit is 0.7: the sweep."""
WRONG_BY: Final = (2.0, 0.5)
DRAWN: Final = (LEARNED, PRODUCT, "vllm", "sglang-cache-aware", "llm-d-affinity", "smetric")
"""In pictures with one line a policy."""
SIZED: Final = (*OURS, "vllm", "sglang-cache-aware", "llm-d-affinity", "smetric", "lpwl")
MAIN: Final[tuple[tuple[str, float], ...]] = (
    ("conversation", 3),
    ("conversation", 4),
    ("conversation", 5),
    ("toolagent", 2.5),
    ("toolagent", 3.2),
    ("claude-code", 1),
    ("azure-conversation", 22),
    ("azure-code", 14),
    ("servegen", 2.3),
    ("small-agents", 1),
)
CUT_S: Final = {"azure-conversation": 1800.0, "servegen": 200.0}
"""Seconds of a trace that are enough."""
CAPACITY_S: Final = 1800.0
"""Seconds of a trace that fleets are sized by."""
CURVES: Final = ("conversation-x4", "toolagent-x2.5")
ROBUST: Final = "conversation-x4"
"""The cell beside which wrong coefficients, late metrics and several routers are read."""


def full(seeds: int = SEEDS) -> list[Cell]:
    """All cells; no policy gets more seeds than that."""
    return [
        *_main(seeds),
        *_mixed(seeds),
        *_wrong(min(seeds, 3)),
        *_profile(min(seeds, FEW)),
        *_sweep(),
        *_burst(),
        *_capacity(),
    ]


def quick() -> list[Cell]:
    """Shows that it runs and what the page looks like; measures little."""
    policies = dict.fromkeys((*SUBJECTS, PRODUCT, "vllm"), 1)
    return [
        Cell(
            "conversation-x4",
            Group.MAIN,
            "conversation",
            policies,
            4,
            duration_s=600,
            curves=True,
        ),
        Cell("azure-code-x14", Group.MAIN, "azure-code", policies, 14, duration_s=600),
        Cell(
            "conversation-x2.5-mixed",
            Group.MIXED,
            "conversation",
            policies,
            2.5,
            slow=((8, 2.5),),
            duration_s=600,
        ),
    ]


def tasks(cells: Iterable[Cell]) -> Iterator[Task]:
    """Cell by cell, so that a process reads a trace once; paired over the policies by seed."""
    for cell in cells:
        for policy, seeds in cell.seeds.items():
            yield from (Task(cell, policy, seed) for seed in range(1, seeds + 1))


def every_policy(seeds: int) -> dict[str, int]:
    """Ours, then the others, with as many seeds as each gets."""
    few = {name: min(seeds, FEW) for name in (*SIMPLE, *sorted(REGISTRY), *VARIANTS)}
    return dict.fromkeys(OURS, seeds) | few | dict.fromkeys(STRONG, seeds)


def _main(seeds: int) -> Iterator[Cell]:
    for source, rate in MAIN:
        name = f"{source}-x{rate:g}"
        yield Cell(
            name,
            Group.MAIN,
            source,
            every_policy(seeds),
            rate,
            duration_s=CUT_S.get(source),
            curves=name in CURVES,
        )


def _mixed(seeds: int) -> Iterator[Cell]:
    policies = dict.fromkeys((*OURS, "vllm", "least-ttft"), seeds) | {"vllm": 1, "least-ttft": 1}
    for rate in (1.8, 2.5):
        yield Cell(
            f"conversation-x{rate:g}-mixed",
            Group.MIXED,
            "conversation",
            policies,
            rate,
            slow=((8, 2.5),),
        )


def _wrong(seeds: int) -> Iterator[Cell]:
    """Fleets as in ROBUST that know less, or something wrong."""
    distorted = [f"{LEARNED}:{term}={by:g}" for term in TERMS for by in WRONG_BY]
    name, source, rate = ROBUST, "conversation", 4.0
    yield Cell(f"{name}-wrong", Group.WRONG, source, dict.fromkeys(distorted, seeds), rate)
    both = dict.fromkeys((LEARNED, PRODUCT), seeds)
    yield Cell(f"{name}-late", Group.WRONG, source, both, rate, metrics_delay_s=1.0)
    yield Cell(f"{name}-routers", Group.WRONG, source, both, rate, routers=4)


def _profile(seeds: int) -> Iterator[Cell]:
    policies = dict.fromkeys((*OURS, *STRONG, "sglang-cache-aware", "llm-d-affinity"), seeds)
    for profile, rate in (("h100-8b", 3.5), ("a100-30b", 1.3)):
        name = f"conversation-x{rate:g}-{profile}"
        yield Cell(name, Group.PROFILE, "conversation", policies, rate, profile=profile)


def _sweep() -> Iterator[Cell]:
    """The rates that MAIN does not have, for the picture."""
    for rate in (1.0, 2.0, 6.0):
        name = f"conversation-x{rate:g}"
        yield Cell(name, Group.SWEEP, "conversation", dict.fromkeys(DRAWN, 1), rate)


def _burst() -> Iterator[Cell]:
    yield Cell("burst", Group.BURST, "burst", dict.fromkeys(OURS, 1), instances=8)


def _capacity() -> Iterator[Cell]:
    """Targets that 95 % can meet: 6 % of the conversation's prompts take over 2 s on an idle
    engine that has cached nothing of them, 2 % over 5 s."""
    for source, rate, slo in (
        ("conversation", 4.0, SLO(ttft_s=5.0, tpot_s=0.05)),
        ("toolagent", 2.5, SLO(ttft_s=2.0, tpot_s=0.05)),
    ):
        name = f"{source}-x{rate:g}-capacity"
        seeds = dict.fromkeys(SIZED, 1)
        yield Cell(
            name,
            Group.CAPACITY,
            source,
            seeds,
            rate,
            duration_s=CAPACITY_S,
            slo=slo,
            told=True,
        )


def shown(cells: Sequence[Cell], group: Group) -> list[Cell]:
    return [cell for cell in cells if cell.group is group]
