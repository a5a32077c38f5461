"""What learning from one observation costs, and what one prediction does, in processor time.

A cost is the median over several rounds, each the mean of many calls: another process's burst is
not a property of ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from statistics import median
from time import process_time
from typing import Final

from steelyard_bench.collector import as_the_router_sets_it
from steelyard_bench.predictor.truth import costs_of
from steelyard_router.scheduling.forecast import forecast
from steelyard_router.scheduling.predictor import Observation, OnlinePredictor
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import LeastRequest
from steelyard_simulator.engine.profile import profile

ENGINE: Final = costs_of(profile("reference"))
INSTANCES: Final = 16
RUNNING: Final = 40
"""Requests on the instance that is asked about,"""
WAITING: Final = 3
"""and prompts in its line."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one call."""

    what: str
    us: float


def costs(rounds: int, calls: int, told: Callable[[float], None]) -> list[Cost]:
    with as_the_router_sets_it():
        update = _timed(_update(calls), rounds, calls, lambda share: told(share / 2))
        predict = _timed(_predict(calls), rounds, calls, lambda share: told(0.5 + share / 2))
    return [Cost("update", update), Cost("prediction", predict)]


def _timed(
    run: Callable[[], None], rounds: int, calls: int, told: Callable[[float], None]
) -> float:
    taken = []
    for number in range(rounds):
        begun_s = process_time()
        run()
        taken.append(process_time() - begun_s)
        told((number + 1) / rounds)
    return 1e6 * median(taken) / calls


def _update(calls: int) -> Callable[[], None]:
    """A fleet of equals that has been learned."""
    predictor, rng = OnlinePredictor(), Random(1)
    names = [f"i{number}" for number in range(INSTANCES)]
    for name in names:
        predictor.join(name)
    seen = [(rng.choice(names), _observation(rng)) for _ in range(calls)]

    def run() -> None:
        observe = predictor.observe
        for name, one in seen:
            observe(name, one)

    run()
    return run


def _observation(rng: Random) -> Observation:
    """As of about 32 steps among which some prompts were computed."""
    steps, sequences = rng.uniform(16, 48), rng.uniform(1, 60)
    tokens = rng.choice([0.0, rng.uniform(200, 6000)])
    work = (steps, tokens, tokens * 800, steps * sequences, steps * sequences * 1200)
    seconds = sum(amount * cost for amount, cost in zip(work, ENGINE, strict=True))
    return Observation(seconds * rng.lognormvariate(0, 0.05), *work)


def _predict(calls: int) -> Callable[[], None]:
    """For an instance that decodes and has prompts in line, some of them just come."""
    scheduler, strategy = Scheduler(index_bytes=10**7), LeastRequest()
    scheduler.join("i0", cache_tokens=10**6)
    request, now = RequestView(prompt_tokens=1200, expected_output_tokens=180.0), 0.0
    leases = []
    for number in range(RUNNING + WAITING):
        now += 0.02
        leases.append(scheduler.choose(request, strategy, now).lease)
        if number < RUNNING:
            leases[-1].first_byte(now + 0.01)
    account = leases[0].account

    def run() -> None:
        for _ in range(calls):
            forecast(request, account, ENGINE, 1200.0, now)

    return run
