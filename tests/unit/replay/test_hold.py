"""Policies that hold requests: when they are asked, and what becomes of what they hold."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.fleet_case import Diary, Keeper, fleet, request

from steelyard_simulator.replay.change import Change, ChangeKind
from steelyard_simulator.replay.fleet import Settings
from steelyard_simulator.replay.hold import PATIENCE_S, TICK_S

TTFT_S = 0.02
E2E_S = 0.02 + 10 * 0.01
"""Of a request alone on an instance, as fleet_case makes them."""


def changes(*texts: str) -> tuple[Change, ...]:
    return tuple(Change.parse(text) for text in texts)


def test_a_held_request_starts_when_its_policy_lets_it_go_and_its_latency_counts_the_wait() -> None:
    first, second = fleet([request(1.0), request(1.05)], [Keeper()]).run()

    assert first.wait_s == 0.0
    assert second.wait_s == pytest.approx(E2E_S - 0.05)
    assert second.ttft_s == pytest.approx(second.wait_s + TTFT_S)
    assert second.e2e_s == pytest.approx(second.wait_s + E2E_S)


def test_it_is_asked_after_an_arrival_a_first_byte_an_end_and_a_poll() -> None:
    keeper = Keeper()

    fleet([request(1.0), request(2.0)], [keeper], settings=Settings(poll_interval_s=0.75)).run()

    polls = {seen.at_s for _, seen in keeper.metrics}
    told = {0.0, 1.0, 1.0 + TTFT_S, 1.0 + E2E_S, 2.0, 2.0 + TTFT_S} | polls
    assert polls
    assert keeper.asked == pytest.approx(sorted(told))


def test_it_is_asked_when_instances_come_and_go() -> None:
    keeper = Keeper()
    world = Settings(poll_interval_s=1e6, changes=changes("leave@1:0", "join@2:0"))

    fleet([request(3.0)], [keeper], settings=world).run()

    assert keeper.asked[:4] == [0.0, 1.0, 2.0, 3.0]


def test_it_is_asked_when_it_hears_of_growth_because_another_router_looks() -> None:
    keeper = Keeper()
    requests = [request(0.0, output=200), request(1.0)]

    fleet(requests, [keeper, Diary()], settings=Settings(poll_interval_s=1e6)).run()

    assert [at_s for _, at_s in keeper.told("progress")] == [1.0]
    assert 1.0 in keeper.asked


def test_it_is_asked_once_for_an_instant_after_all_that_happens_then() -> None:
    keeper = Keeper(room=5)

    outcomes = fleet([request(1.0)] * 5, [keeper], settings=Settings(poll_interval_s=1e6)).run()

    assert keeper.asked == sorted({*keeper.asked})
    assert keeper.asked[:2] == [0.0, 1.0]
    assert {one.wait_s for one in outcomes} == {0.0}


def test_it_is_asked_when_it_said_so_though_nothing_happens() -> None:
    keeper = Keeper(room=0, max_wait_s=7.0)

    (outcome,) = fleet([request(1.0)], [keeper], settings=Settings(poll_interval_s=1e6)).run()

    assert keeper.asked == [0.0, 1.0, 8.0]
    assert outcome.rejected


def test_a_refused_request_was_never_answered() -> None:
    keeper = Keeper(room=0, max_wait_s=7.0)

    (outcome,) = fleet([request(1.0)], [keeper]).run()

    assert outcome.rejected
    assert (outcome.ttft_s, outcome.e2e_s, outcome.instance) == (None, None, None)
    assert outcome.open_s == outcome.wait_s == pytest.approx(7.0)


def test_what_a_policy_forgets_is_given_up_by_its_client() -> None:
    keeper = Keeper(room=0)

    (outcome,) = fleet([request(1.0)], [keeper], settings=Settings(poll_interval_s=1e6)).run()

    assert outcome.wait_s == pytest.approx(PATIENCE_S)
    assert not outcome.rejected
    assert keeper.told("failed") == [(0, 1.0 + PATIENCE_S)]
    assert not keeper.waiting


@dataclass
class Hasty(Keeper):
    """Wants to be asked again at once, always."""

    @property
    def next_s(self) -> float | None:
        return self.asked[-1]


def test_time_goes_on_though_a_policy_wants_to_be_asked_now() -> None:
    hasty = Hasty()

    fleet([request(0.0)], [hasty], settings=Settings(poll_interval_s=1e6)).run()

    assert all(after - before >= 0.99 * TICK_S for before, after in pairwise(hasty.asked[:10]))
    assert len(hasty.asked) <= E2E_S / TICK_S + 5


class TestChanges:
    def test_what_loses_its_instance_before_the_first_byte_is_held_again(self) -> None:
        keeper = Keeper()

        outcomes = fleet(
            [request(0.0), request(0.001)],
            [keeper],
            settings=Settings(changes=changes("fail@0.01:0")),
        ).run()

        assert [one.id for one in keeper.arrivals if one.id == 0] == [0, 0]
        placed = [what for what, _ in keeper.told("place")]
        assert placed == [(0, "i00"), (1, "i01"), (0, "i01")]
        assert [one.number for one in outcomes] == [1, 0]
        assert outcomes[1].wait_s == pytest.approx(0.01 + E2E_S - 0.01)

    def test_what_was_held_twice_has_waited_for_both(self) -> None:
        keeper = Keeper()
        settings = Settings(changes=changes("fail@0.13:1"))
        requests = [request(0.0), request(0.1), request(0.11)]
        keeper.pick = lambda ready, arrival: ready[-1 if arrival.id == 1 else 0]

        outcomes = {one.number: one for one in fleet(requests, [keeper], settings=settings).run()}

        assert [what for what, _ in keeper.told("place")][1:] == [
            (1, "i01"),
            (2, "i00"),
            (1, "i00"),
        ]
        assert outcomes[1].wait_s == pytest.approx((E2E_S - 0.1) + E2E_S)

    def test_what_is_held_while_the_last_instance_is_away_goes_to_the_next_one(self) -> None:
        keeper = Keeper()
        played = fleet(
            [request(0.0), request(0.05)],
            [keeper],
            instances=1,
            settings=Settings(changes=changes("leave@0.06:0", "join@5:0")),
        )

        _, second = played.run()

        assert second.e2e_s is not None
        assert second.at_s + second.wait_s == pytest.approx(5.0)

    def test_a_request_is_given_up_after_three_tries_held_or_not(self) -> None:
        keeper = Keeper()
        settings = Settings(changes=changes("fail@0.01:0", "fail@0.02:1", "fail@0.03:2"))

        (outcome,) = fleet([request(0.0)], [keeper], instances=4, settings=settings).run()

        assert len(keeper.told("place")) == 3
        assert outcome.e2e_s is None
        assert not outcome.rejected


def test_routers_that_hold_and_routers_that_do_not_live_side_by_side() -> None:
    keeper, diary = Keeper(), Diary()
    requests = [request(n / 100) for n in range(8)]

    outcomes = fleet(requests, [keeper, diary]).run()

    waits = {one.number: one.wait_s for one in outcomes}
    assert [waits[n] for n in (1, 3, 5, 7)] == [0.0] * 4
    assert all(waits[n] > 0 for n in (2, 4, 6))


ARRIVALS = st.lists(
    st.tuples(st.floats(0, 3), st.integers(1, 3000), st.integers(1, 80)), min_size=1, max_size=25
)
CHANGES = st.lists(
    st.builds(
        Change,
        st.floats(0, 4),
        st.sampled_from(list(ChangeKind)),
        st.integers(0, 3),
    ),
    max_size=5,
)


@given(arrivals=ARRIVALS, made=CHANGES)
@settings(max_examples=60, deadline=None)
def test_a_policy_that_holds_nothing_back_gives_what_one_that_does_not_hold_gives(
    arrivals: list[tuple[float, int, int]], made: list[Change]
) -> None:
    """Where no two things happen at one instant: one that holds is asked last of all in it, so that
    it may miss an instance that leaves then.
    """
    times = [each[0] for each in arrivals] + [change.at_s for change in made]
    assume(len(set(times)) == len(times))
    requests = [request(*each) for each in sorted(arrivals)]
    world = Settings(changes=tuple(made))

    held = fleet(requests, [Keeper(room=1000)], settings=world).run()
    placed = fleet(requests, [Diary()], settings=world).run()

    assert sorted(held) == sorted(placed)


@given(
    arrivals=ARRIVALS,
    made=CHANGES,
    room=st.integers(0, 6),
    max_wait_s=st.floats(0, 5),
    routers=st.integers(1, 2),
)
@settings(max_examples=60, deadline=None)
def test_every_request_ends_once_and_nothing_is_left_with_the_policy(
    arrivals: list[tuple[float, int, int]],
    made: list[Change],
    room: int,
    max_wait_s: float,
    routers: int,
) -> None:
    requests = [request(*each) for each in sorted(arrivals)]
    keepers = [Keeper(room=room, max_wait_s=max_wait_s) for _ in range(routers)]

    outcomes = fleet(requests, keepers, settings=Settings(changes=tuple(made))).run()

    assert sorted(one.number for one in outcomes) == list(range(len(requests)))
    for one in outcomes:
        assert 0 <= one.wait_s <= one.open_s + 1e-9
        assert not (one.rejected and one.e2e_s is not None)
    for keeper in keepers:
        assert not keeper.waiting
        assert not keeper.running
        assert all(before < after for before, after in pairwise(keeper.asked))
