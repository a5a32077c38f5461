from dataclasses import replace

import pytest
from support.fidelity_case import SMALL, measurement, request

from steelyard_bench.fidelity.placed import pairs, summary
from steelyard_bench.fidelity.slice import longer
from steelyard_bench.fidelity.virtual import play
from steelyard_simulator.load.measurement import Measurement
from steelyard_simulator.load.trace import TraceRequest

OVERHEAD_S = 0.01
PROMPTS = [
    request(
        0.3 * turn + 0.05 * number, range(100 * number, 100 * number + 3 + turn), 200 + 64 * turn
    )
    for turn in range(4)
    for number in range(6)
]


def live(requests: list[TraceRequest], speed: float) -> list[Measurement]:
    """What clients see of engines that are as the model says, `speed` times as fast."""
    return [
        measurement(
            one.at_s / speed,
            (one.ttft_s + OVERHEAD_S) / speed,
            one.cached_tokens,
            instance=one.instance,
        )
        for one in play(requests, SMALL, "round-robin", engines=2, seed=0)
        if one.ttft_s is not None
    ]


@pytest.mark.parametrize("speed", [1.0, 3.0])
def test_an_engine_as_the_model_has_it_differs_in_nothing(speed: float) -> None:
    requests = sorted(longer(PROMPTS, 4), key=lambda one: one.at_s)

    found = summary(
        pairs(requests, live(requests, speed), SMALL, overhead_s=OVERHEAD_S, speed=speed)
    )

    assert found == {"requests": 24, "same_cached": 1.0, "ttft": 0.0, "off_ms": 0.0}


def test_an_engine_that_forgets_is_found_out() -> None:
    requests = sorted(longer(PROMPTS, 4), key=lambda one: one.at_s)
    blind = [replace(one, cached_tokens=0) for one in live(requests, 1.0)]

    found = summary(pairs(requests, blind, SMALL, overhead_s=OVERHEAD_S))

    assert found["same_cached"] < 1.0
    assert found["ttft"] == 0.0


def test_a_slower_engine_is_found_out() -> None:
    requests = sorted(longer(PROMPTS, 4), key=lambda one: one.at_s)

    found = summary(pairs(requests, live(requests, 1.0), SMALL.slowed(2.0), overhead_s=OVERHEAD_S))

    assert found["ttft"] > 0.5
