"""The fleet: what requests get, what routers are told, what instances may do meanwhile."""

from collections import Counter
from itertools import pairwise

import pytest
from support.fleet_case import BLOCK, Diary, fleet, policy, request

from steelyard_simulator.engine.profile import profile
from steelyard_simulator.replay.change import Change, ChangeKind
from steelyard_simulator.replay.fleet import Settings
from steelyard_simulator.replay.scheduled import SchedulerPolicy
from steelyard_simulator.replay.source import ClosedLoop

OURS = ("default", "multiplicative", "least-request", "round-robin")


def changes(*texts: str) -> Settings:
    return Settings(changes=tuple(Change.parse(text) for text in texts))


def test_latencies_are_those_of_the_engine() -> None:
    (outcome,) = fleet([request(5.0, tokens=100, output=11)], [Diary()]).run()

    assert outcome.at_s == 5.0
    assert outcome.ttft_s == pytest.approx(0.01 + 100 * 1e-4)
    assert outcome.tpot_s == pytest.approx(0.01)
    assert outcome.e2e_s == pytest.approx(0.02 + 10 * 0.01)


def test_a_slower_instance_takes_that_much_longer() -> None:
    played = fleet([request(0.0)], [Diary()], slowness=[3.0])

    (outcome,) = played.run()

    assert outcome.ttft_s == pytest.approx(3 * 0.02)


def test_a_router_hears_of_first_byte_and_end_when_they_happen() -> None:
    diary = Diary()

    fleet([request(1.0, output=11)], [diary]).run()

    assert diary.events == [
        ("place", (0, "i00"), 1.0),
        ("first_byte", 0, pytest.approx(1.02)),
        ("finished", (0, 11, 0), pytest.approx(1.12)),
    ]


def test_growth_is_told_in_steps_of_many_tokens_to_the_router_whose_request_it_is() -> None:
    mine, others = Diary(), Diary()
    requests = [request(0.0, output=200), *(request(0.1 * n, output=1) for n in range(1, 20))]

    fleet(requests, [mine, others]).run()

    grown = [what[1] for what, _ in mine.told("progress") if isinstance(what, tuple)]
    assert grown
    assert all(after - before >= 32 for before, after in zip([1, *grown], grown, strict=False))
    assert not others.told("progress")


def test_a_policy_that_does_not_want_growth_is_not_told() -> None:
    diary = Diary(wants_progress=False)

    fleet([request(0.0, output=200), request(1.5)], [diary]).run()

    assert not diary.told("progress")


def test_routers_take_turns_and_see_their_own_requests_only() -> None:
    routers = [Diary(), Diary()]

    fleet([request(n / 10) for n in range(6)], routers).run()

    assert [[one.id for one in router.arrivals] for router in routers] == [[0, 2, 4], [1, 3, 5]]
    assert [len(router.told("finished")) for router in routers] == [3, 3]


def test_expected_output_follows_the_replies_that_this_router_has_seen() -> None:
    routers = [Diary(), Diary()]
    requests = [request(10.0 * n, output=20 if n % 2 else 2) for n in range(6)]

    fleet(requests, routers).run()

    assert [one.expected_output_tokens for one in routers[0].arrivals][1:] == [2.0, 2.0]
    assert [one.view.expected_output_tokens for one in routers[1].arrivals][1:] == [20.0, 20.0]


def test_a_shared_beginning_is_cached_where_it_was_served_and_nowhere_else() -> None:
    first, here, there = (request(float(n), tokens=1100, blocks=[1, 2, 3]) for n in range(3))
    diary = Diary(pick=lambda ready, arrival: ready[arrival.id == 2])

    outcomes = fleet([first, here, there], [diary]).run()

    assert [one.cached_tokens for one in outcomes] == [0, 2 * BLOCK, 0]


@pytest.mark.parametrize("name", OURS)
def test_every_lease_of_the_scheduler_is_released(name: str) -> None:
    ours = policy(name)
    assert isinstance(ours, SchedulerPolicy)
    requests = [request(n / 50, tokens=1500, blocks=[n % 3, 10 + n]) for n in range(200)]

    outcomes = fleet(requests, [ours], settings=changes("fail@1:0", "join@2:0")).run()

    assert len(outcomes) == 200
    assert ours.scheduler.leases_held == 0


@pytest.mark.parametrize("name", OURS)
def test_a_burst_of_equal_prompts_spreads_over_idle_instances(name: str) -> None:
    burst = [request(0.0, tokens=32_000, output=50, blocks=range(62))] * 1000
    reference = profile("reference")

    outcomes = fleet(burst, [policy(name)], instances=8, profile=reference).run()

    counts = Counter(one.instance for one in outcomes)
    assert len(counts) == 8
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_same_run_gives_the_same_outcomes() -> None:
    requests = [
        request(n / 20, tokens=500 + 37 * n % 3000, blocks=[n % 5, 100 + n]) for n in range(300)
    ]

    def play() -> list[object]:
        routers = [policy("default"), policy("default")]
        return list(fleet(requests, routers, settings=changes("restart@5:1")).run())

    assert play() == play()


class TestMetrics:
    def test_are_polled_in_a_rhythm(self) -> None:
        diary = Diary()

        fleet([request(0.0), request(5.0)], [diary], settings=Settings(poll_interval_s=0.5)).run()

        times = [seen.at_s for name, seen in diary.metrics if name == "i00"]
        assert len(times) == pytest.approx(10, abs=1)
        assert all(after - before == pytest.approx(0.5) for before, after in pairwise(times))

    def test_are_seen_late_where_they_are(self) -> None:
        diary = Diary()
        settings = Settings(poll_interval_s=0.1, metrics_delay_s=1.0)

        fleet([request(0.0, output=50), request(2.0)], [diary], settings=settings).run()

        busy = [seen for _, seen in diary.metrics if seen.running]
        assert busy[0].at_s < 0.2
        assert diary.metrics[0][1].at_s < 0.2
        seen_by_end = max(seen.at_s for _, seen in diary.metrics)
        assert seen_by_end < 1.2

    def test_are_fresh_before_each_placement_for_a_system_that_has_them_so(self) -> None:
        diary = Diary(poll_interval_s=0)

        fleet([request(0.0), request(0.005), request(0.01)], [diary]).run()

        seen = [each.running + each.waiting for name, each in diary.metrics if name == "i00"]
        assert seen == [0, 1, 2]


class TestChanges:
    def test_what_had_no_first_byte_is_tried_elsewhere(self) -> None:
        diary = Diary()
        played = fleet([request(0.0)], [diary], settings=changes("fail@0.01:0"))

        (outcome,) = played.run()

        assert [what for what, _ in diary.told("place")] == [(0, "i00"), (0, "i01")]
        assert outcome.ttft_s == pytest.approx(0.01 + 0.02)
        assert played.retries == 1

    def test_what_had_begun_is_a_failure(self) -> None:
        diary = Diary()

        (outcome,) = fleet([request(0.0)], [diary], settings=changes("fail@0.05:0")).run()

        assert diary.told("failed") == [(0, 0.05)]
        assert outcome.ttft_s is not None
        assert outcome.e2e_s is None

    def test_without_an_instance_requests_fail_until_one_joins(self) -> None:
        settings = changes("fail@1:0", "join@3:0")

        outcomes = fleet(
            [request(0.0), request(2.0), request(4.0)], [Diary()], instances=1, settings=settings
        ).run()

        assert [one.e2e_s is not None for one in outcomes] == [True, False, True]

    def test_a_request_is_given_up_after_three_tries(self) -> None:
        diary = Diary()
        settings = changes("fail@0.01:0", "fail@0.02:1", "fail@0.03:2")

        (outcome,) = fleet([request(0.0)], [diary], instances=4, settings=settings).run()

        assert len(diary.told("place")) == 3
        assert outcome.e2e_s is None

    def test_one_that_leaves_ends_what_it_has_and_gets_nothing_new(self) -> None:
        diary = Diary()

        first, second = fleet(
            [request(0.0), request(0.05)], [diary], settings=changes("leave@0.03:0")
        ).run()

        assert (first.instance, second.instance) == ("i00", "i01")
        assert first.e2e_s is not None

    def test_a_new_one_joins(self) -> None:
        diary = Diary(pick=lambda ready, _: ready[-1])

        (outcome,) = fleet([request(2.0)], [diary], settings=changes("join@1:2")).run()

        assert outcome.instance == "i02"

    @pytest.mark.parametrize("kind", [ChangeKind.RESTART, ChangeKind.FLUSH])
    def test_the_cache_is_lost(self, kind: ChangeKind) -> None:
        requests = [request(float(n), tokens=1100, blocks=[1, 2]) for n in range(3)]

        outcomes = fleet(requests, [Diary()], instances=1, settings=changes(f"{kind}@1.5:0")).run()

        assert [one.cached_tokens for one in outcomes] == [0, 2 * BLOCK, 0]

    def test_the_speed_is_told_only_where_it_is_known(self) -> None:
        untold, told = Diary(), Diary()

        fleet([request(0.0)], [untold], slowness=[1.0, 2.0]).run()
        fleet([request(0.0)], [told], slowness=[1.0, 2.0], settings=Settings(tell_speed=True)).run()

        assert untold.hints == {"i00": None, "i01": None}
        assert told.hints == {"i00": 1.0, "i01": 0.5}


def test_a_session_goes_on_after_its_reply_and_the_pause() -> None:
    turns = [request(0.0, output=11), request(0.0, output=11, follows=0, think_s=2.0)]

    first, second = fleet(turns, [Diary()], source=ClosedLoop(turns)).run()

    assert first.e2e_s is not None
    assert second.at_s == pytest.approx(first.e2e_s + 2.0)
