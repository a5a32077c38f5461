"""The alert state machine, as scripts over explicit time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.alerts.rule import Change, Rule, State
from steelyard_router.alerts.transition import Kind, Reason
from steelyard_router.config import Alert
from steelyard_router.scheduling.histogram import Histogram

ENOUGH, FEW = 100, 5
Event = tuple[float, Kind, Reason | None]


def rule(**changes: Any) -> Rule:
    return Rule(
        Alert(
            **{
                "name": "score-p95",
                "metric": "Score",
                "threshold": 1000,
                "window_s": 60,
                "for_s": 30,
                "clear_percent": 80,
                "min_samples": 50,
                "repeat_s": 300,
                **changes,
            }
        )
    )


def window(value: float, samples: int = ENOUGH) -> Histogram:
    histogram = Histogram()
    if samples:
        histogram.record(value, samples)
    return histogram


def play(machine: Rule, *phases: tuple[float, float, float, int]) -> list[Event]:
    """Step every 5 s through phases of (from, to, value, samples), `to` left out."""
    events: list[Event] = []
    for start, end, value, samples in phases:
        now = start
        while now < end:
            if change := machine.step(now, window(value, samples)):
                events.append((now, change.kind, change.reason))
            now += 5
    return events


def test_it_starts_without_data_and_is_ok_once_there_are_samples() -> None:
    machine = rule()
    assert machine.state is State.NO_DATA

    assert play(machine, (0, 5, 500, FEW)) == []
    assert machine.state is State.NO_DATA
    assert play(machine, (5, 10, 500, ENOUGH)) == []
    assert (machine.state, machine.since) == (State.OK, 5)


def test_it_fires_after_the_breach_lasted_and_not_before() -> None:
    machine = rule()

    assert play(machine, (0, 100, 500, ENOUGH), (100, 130, 2000, ENOUGH)) == []
    assert (machine.state, machine.since) == (State.PENDING, 100)
    assert play(machine, (130, 135, 2000, ENOUGH)) == [(130, Kind.FIRED, None)]
    assert (machine.state, machine.since) == (State.FIRING, 130)


def test_without_a_waiting_time_it_fires_at_once() -> None:
    assert play(rule(for_s=0), (0, 5, 2000, ENOUGH)) == [(0, Kind.FIRED, None)]


def test_a_dip_starts_the_wait_again() -> None:
    events = play(rule(), (0, 25, 2000, ENOUGH), (25, 30, 900, ENOUGH), (30, 65, 2000, ENOUGH))

    assert events == [(60, Kind.FIRED, None)]


def test_the_threshold_itself_is_no_breach() -> None:
    ceiling, floor = rule(threshold=75), rule(threshold=75, metric="Attainment")

    assert [ceiling.breaches(value) for value in (74.9, 75, 75.1)] == [False, False, True]
    assert [floor.breaches(value) for value in (74.9, 75, 75.1)] == [True, False, False]


def test_between_the_clearing_bound_and_the_threshold_it_keeps_firing() -> None:
    machine = rule()

    events = play(
        machine,
        (0, 35, 2000, ENOUGH),
        (35, 200, 900, ENOUGH),
        (200, 205, 700, ENOUGH),
    )

    assert events == [(30, Kind.FIRED, None), (200, Kind.CLEARED, Reason.RECOVERED)]
    assert (machine.state, machine.since) == (State.OK, 200)


def test_it_repeats_while_it_fires() -> None:
    events = play(rule(), (0, 700, 2000, ENOUGH))

    assert events == [
        (30, Kind.FIRED, None),
        (330, Kind.REPEATED, None),
        (630, Kind.REPEATED, None),
    ]


def test_too_few_samples_for_a_whole_window_are_no_data() -> None:
    machine = rule()

    play(machine, (0, 50, 500, ENOUGH), (50, 110, 500, FEW))
    assert machine.state is State.OK
    play(machine, (110, 115, 500, FEW))
    assert (machine.state, machine.since, machine.value) == (State.NO_DATA, 110, None)


@pytest.mark.parametrize("samples", [FEW, 0])
def test_a_firing_alert_resolves_when_its_data_stops(samples: int) -> None:
    events = play(rule(), (0, 50, 2000, ENOUGH), (50, 300, 2000, samples))

    assert events == [(30, Kind.FIRED, None), (110, Kind.CLEARED, Reason.NO_DATA)]


def test_a_short_lack_of_samples_holds_every_state() -> None:
    firing = rule()
    events = play(firing, (0, 50, 2000, ENOUGH), (50, 100, 2000, FEW), (100, 200, 2000, ENOUGH))
    assert events == [(30, Kind.FIRED, None)]
    assert firing.state is State.FIRING

    pending = rule()
    events = play(pending, (0, 20, 2000, ENOUGH), (20, 50, 2000, FEW), (50, 55, 2000, ENOUGH))
    assert events == [(50, Kind.FIRED, None)]


def test_separate_short_lacks_of_samples_do_not_add_up() -> None:
    machine = rule()

    play(machine, (0, 50, 500, ENOUGH), (50, 100, 500, FEW), (100, 105, 500, ENOUGH))
    play(machine, (105, 160, 500, FEW))

    assert machine.state is State.OK


def test_it_fires_only_on_a_window_with_enough_samples() -> None:
    assert play(rule(), (0, 20, 2000, ENOUGH), (20, 60, 2000, FEW)) == []


def test_a_firing_alert_repeats_even_while_samples_are_few() -> None:
    events = play(rule(window_s=600), (0, 35, 2000, ENOUGH), (35, 400, 2000, FEW))

    assert events == [(30, Kind.FIRED, None), (330, Kind.REPEATED, None)]


def test_after_no_data_the_breach_must_last_again() -> None:
    events = play(rule(), (0, 50, 2000, ENOUGH), (50, 200, 2000, 0), (200, 235, 2000, ENOUGH))

    assert events[-1] == (230, Kind.FIRED, None)


def test_a_restarted_rule_knows_nothing_and_fires_after_the_full_wait() -> None:
    before = rule()
    play(before, (0, 50, 2000, ENOUGH))

    restarted = rule()

    assert restarted.state is State.NO_DATA
    assert play(restarted, (50, 100, 2000, ENOUGH)) == [(80, Kind.FIRED, None)]


def test_a_window_that_cannot_be_known_is_no_data_at_once() -> None:
    machine = rule()
    play(machine, (0, 50, 2000, ENOUGH))

    assert machine.step(50.0, None) == Change(Kind.CLEARED, Reason.NO_DATA)
    assert (machine.state, machine.value, machine.samples) == (State.NO_DATA, None, 0)
    assert machine.step(55.0, None) is None


def test_a_resumed_rule_fires_on_and_repeats_when_it_is_due() -> None:
    machine = rule()
    machine.resume(since=-500.0, notified_at=-200.0, threshold=None, now=0.0)

    assert (machine.state, machine.since) == (State.FIRING, -500)
    assert play(machine, (0, 150, 2000, ENOUGH)) == [(100, Kind.REPEATED, None)]
    assert play(machine, (150, 155, 700, ENOUGH)) == [(150, Kind.CLEARED, Reason.RECOVERED)]


def test_a_resumed_rule_whose_data_never_comes_ends_after_a_window() -> None:
    machine = rule()
    machine.resume(since=-10.0, notified_at=-10.0, threshold=None, now=0.0)

    assert play(machine, (0, 100, 2000, FEW)) == [(60, Kind.CLEARED, Reason.NO_DATA)]


def test_equal_rules_have_one_fingerprint_whatever_they_watch() -> None:
    prints = [
        machine.fingerprint
        for machine in (
            rule(),
            rule(workloads=("chat",)),
            rule(threshold=1001),
            rule(severity="Normal"),
        )
    ]

    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_attainment_is_a_floor() -> None:
    machine = rule(metric="Attainment", threshold=80, clear_percent=90)

    events = play(
        machine,
        (0, 50, 1.0, ENOUGH),
        (50, 85, 0.7, ENOUGH),
        (85, 120, 0.85, ENOUGH),
        (120, 125, 0.9, ENOUGH),
    )

    assert events == [(80, Kind.FIRED, None), (120, Kind.CLEARED, Reason.RECOVERED)]
    assert machine.clear_threshold == pytest.approx(80 / 0.9)


def test_the_clearing_bound_of_a_floor_is_at_most_everything() -> None:
    machine = rule(metric="Attainment", threshold=95, clear_percent=90, for_s=0)

    assert machine.clear_threshold == 100
    play(machine, (0, 5, 0.5, ENOUGH), (5, 10, 1.0, ENOUGH))
    assert machine.state is State.OK


def test_latencies_are_compared_in_milliseconds() -> None:
    machine = rule(metric="TTFT", threshold=500, for_s=0)

    assert play(machine, (0, 5, 0.45, ENOUGH)) == []
    assert play(machine, (5, 10, 0.55, ENOUGH)) == [(5, Kind.FIRED, None)]


class TestBaseline:
    """Bounds relative to the rule's own usual level."""

    def learned(self, **changes: Any) -> Rule:
        machine = rule(threshold=None, baseline_percent=200, **changes)
        play(machine, (0, 600, 1000, ENOUGH))
        return machine

    def test_nothing_is_judged_until_the_usual_level_is_known(self) -> None:
        machine = rule(threshold=None, baseline_percent=200)

        assert play(machine, (0, 180, 1000, ENOUGH)) == []
        assert (machine.state, machine.threshold) == (State.NO_DATA, None)
        assert machine.clear_threshold is None
        play(machine, (180, 190, 1000, ENOUGH))
        assert machine.state is State.OK
        assert machine.threshold == pytest.approx(2000, rel=0.02)

    def test_it_fires_above_the_percentage_of_the_usual_level(self) -> None:
        machine = self.learned()

        assert play(machine, (600, 700, 1900, ENOUGH)) == []
        assert [kind for _, kind, _ in play(machine, (700, 800, 4000, ENOUGH))] == [Kind.FIRED]

    def test_it_does_not_learn_from_a_breach_however_long(self) -> None:
        machine = self.learned()
        usual = machine.threshold

        play(machine, (600, 20_000, 4000, ENOUGH))

        assert machine.state is State.FIRING
        assert machine.threshold == usual

    def test_it_does_not_learn_from_windows_with_few_samples(self) -> None:
        machine = self.learned()
        usual = machine.threshold

        play(machine, (600, 20_000, 1900, FEW))

        assert machine.threshold == usual

    @pytest.mark.parametrize(
        ("changes", "value", "samples"),
        [({}, 4000, ENOUGH), ({"for_s": 50_000}, 4000, ENOUGH), ({}, 1000, FEW)],
    )
    def test_the_first_calm_sample_after_a_long_pause_weighs_no_more_than_others(
        self, changes: dict[str, Any], value: float, samples: int
    ) -> None:
        machine = self.learned(**changes)
        play(machine, (600, 20_000, value, samples), (20_000, 20_015, 1500, ENOUGH))

        assert machine.state is State.OK
        assert machine.threshold == pytest.approx(2000, rel=0.03)

    def test_resumed_it_knows_the_bound_that_it_fired_at_and_clears_below(self) -> None:
        machine = rule(threshold=None, baseline_percent=200)
        machine.resume(since=0.0, notified_at=0.0, threshold=2000.0, now=0.0)

        assert machine.threshold == 2000
        assert play(machine, (0, 60, 4000, ENOUGH), (60, 65, 1000, ENOUGH)) == [
            (60, Kind.CLEARED, Reason.RECOVERED)
        ]

    def test_it_goes_on_learning_after_it_has_cleared(self) -> None:
        machine = self.learned()
        play(machine, (600, 700, 4000, ENOUGH), (700, 4000, 1500, ENOUGH))

        assert machine.state is State.OK
        assert machine.threshold == pytest.approx(3000, rel=0.05)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 120), st.sampled_from([0.1, 500, 900, 2000]), st.booleans()),
        max_size=60,
    )
)
def test_fired_and_cleared_always_alternate(steps: list[tuple[float, float, bool]]) -> None:
    machine = rule()
    now = 0.0
    kinds = []
    for passed_s, value, enough in steps:
        now += passed_s
        change = machine.step(now, window(value, ENOUGH if enough else FEW))
        if change and change.kind is not Kind.REPEATED:
            kinds.append(change.kind)
        elif change:
            assert kinds[-1] is Kind.FIRED

    assert kinds == [Kind.FIRED, Kind.CLEARED] * (len(kinds) // 2) + [Kind.FIRED] * (len(kinds) % 2)
    assert (machine.state is State.FIRING) == (len(kinds) % 2 == 1)
