"""The search for the highest rate: that it ends, and ends where it should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_simulator.load.mix import Mix
from steelyard_simulator.replay.capacity import TOLERANCE, capacity, highest
from steelyard_simulator.replay.scenario import Hardware, Scenario


@given(limit=st.floats(0.02, 1e4), first=st.floats(0.02, 1e4))
def test_the_highest_rate_that_is_enough_is_found_from_anywhere(limit: float, first: float) -> None:
    found = highest(lambda rate: 1.0 if rate <= limit else 0.0, first)

    assert limit / (1 + TOLERANCE) - 1e-9 <= found.rate_per_s <= limit
    assert found.probes[found.rate_per_s] == 1.0
    assert len(found.probes) < 80


def test_a_fleet_that_is_never_enough_has_none() -> None:
    assert highest(lambda _: 0.89, 30.0).rate_per_s == 0.0


def test_what_was_seen_is_kept_by_rate() -> None:
    found = highest(lambda rate: 1 - rate / 100, 9.0, wanted=0.9)

    assert list(found.probes) == sorted(found.probes)
    assert found.probes[9.0] == pytest.approx(0.91)


def test_twice_the_instances_take_about_twice_as_much() -> None:
    one, two = (
        capacity(
            Mix("slo", 8.0 * instances, 30.0),
            Scenario(hardware=Hardware(instances)),
            "default",
            [1],
        )
        for instances in (1, 2)
    )

    assert 1.5 < two.rate_per_s / one.rate_per_s < 3.5
