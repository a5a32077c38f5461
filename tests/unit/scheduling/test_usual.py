"""What is usual for a workload: a mean that single requests do not move, learned from replies."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import LeastRequest
from steelyard_router.scheduling.usual import KEPT, LEAST_S, MEMORY, PRIOR, UsualLatency


def test_before_anything_is_known_there_is_a_prior_for_every_workload() -> None:
    usual = UsualLatency()
    usual.learn_ttft("chat", 9.0)

    assert usual.of("batch") == PRIOR
    assert usual.of("chat").ttft_s > PRIOR.ttft_s
    assert usual.of("chat").tpot_s == pytest.approx(PRIOR.tpot_s)


def test_it_becomes_what_every_request_has_and_follows_a_change() -> None:
    usual = UsualLatency()
    for ttft_s, tpot_s in ((2.0, 0.08), (0.1, 0.01)):
        for _ in range(6 * MEMORY):
            usual.learn_ttft("chat", ttft_s)
            usual.learn_tpot("chat", tpot_s)
        assert usual.of("chat") == pytest.approx((ttft_s, tpot_s), rel=0.03)


def test_one_minute_among_hundreds_of_usual_requests_hardly_moves_it() -> None:
    usual, seen = UsualLatency(), [0.2] * 400 + [60.0]
    for seconds in seen:
        usual.learn_ttft("chat", seconds)

    assert fmean(seen) > 0.34
    assert usual.of("chat").ttft_s == pytest.approx(0.2, rel=0.1)


def test_what_a_third_of_the_requests_have_is_not_ignored_as_a_median_would() -> None:
    usual = UsualLatency()
    for _ in range(MEMORY):
        for seconds in (0.1, 0.1, 4.0):
            usual.learn_ttft("chat", seconds)

    assert 0.5 < usual.of("chat").ttft_s < 1.4


@given(st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(0.0)), max_size=50))
def test_it_stays_above_zero_and_no_higher_than_what_was_seen(seen: list[float]) -> None:
    usual = UsualLatency()
    for seconds in seen:
        usual.learn_ttft("chat", seconds)
        usual.learn_tpot("chat", seconds)

    found = usual.of("chat")
    assert LEAST_S / 2 < found.ttft_s <= max([PRIOR.ttft_s, *seen]) * (1 + 1e-9)
    assert LEAST_S / 2 < found.tpot_s <= max([PRIOR.tpot_s, *seen]) * (1 + 1e-9)


def test_only_so_many_names_are_remembered_and_the_oldest_goes_first() -> None:
    usual = UsualLatency()
    for number in range(KEPT + 1):
        usual.learn_ttft(f"w{number}", 9.0)
        usual.learn_tpot(f"w{number}", 9.0)

    assert len(usual._known) == KEPT
    assert usual.of("w0") == PRIOR
    assert usual.of("w1") != PRIOR
    assert usual.of(f"w{KEPT}") != PRIOR


class Rig:
    """One instance, and what its router takes for usual."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(index_bytes=10**6)
        self.scheduler.join("a")

    def take(self, workload: str, now: float, *, streams: bool = True, sequences: int = 1) -> Lease:
        request = RequestView(
            workload=workload, prompt_tokens=1000, streams=streams, sequences=sequences
        )
        return self.scheduler.choose(request, LeastRequest(), now).lease

    def usual(self, workload: str) -> tuple[float, float]:
        return self.scheduler._usual.of(workload)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_streams_tell_of_their_workload_from_placement_to_first_byte_and_between_tokens(
    rig: Rig,
) -> None:
    for turn in range(3 * MEMORY):
        lease = rig.take("chat", 100.0 * turn)
        lease.first_byte(100.0 * turn + 2.0)
        lease.progress(3, 100.0 * turn + 2.1)
        lease.release(100.0 * turn + 2.1)

    assert rig.usual("chat") == pytest.approx((2.0, 0.05), rel=0.02)
    assert rig.usual("batch") == PRIOR


def test_tokens_of_several_sequences_come_side_by_side(rig: Rig) -> None:
    for turn in range(3 * MEMORY):
        lease = rig.take("chat", 100.0 * turn, sequences=4)
        lease.first_byte(100.0 * turn + 2.0)
        lease.progress(4 * 101, 100.0 * turn + 7.0)
        lease.release(100.0 * turn + 7.0)

    assert rig.usual("chat")[1] == pytest.approx(0.05, rel=0.02)


def test_answers_that_do_not_stream_or_have_one_token_or_never_began_tell_nothing(rig: Rig) -> None:
    whole, brief, never = (
        rig.take("chat", 0.0, streams=False), rig.take("batch", 0.0), rig.take("agent", 0.0),
    )  # fmt: skip
    whole.first_byte(9.0)
    whole.progress(100, 9.0)
    whole.release(9.0)
    brief.first_byte(9.0)
    brief.progress(1, 9.0)
    brief.release(20.0)
    never.release(50.0, served=False)

    assert rig.usual("chat") == PRIOR
    assert rig.usual("batch")[0] > PRIOR.ttft_s
    assert rig.usual("batch")[1] == pytest.approx(PRIOR.tpot_s)
    assert rig.usual("agent") == PRIOR


def test_an_instance_that_has_left_tells_nothing(rig: Rig) -> None:
    waits, decodes = rig.take("chat", 0.0), rig.take("batch", 0.0)
    decodes.first_byte(0.0)
    before = rig.usual("batch")

    rig.scheduler.leave("a")
    waits.first_byte(9.0)
    decodes.progress(100, 9.0)
    decodes.release(9.0)

    assert rig.usual("chat") == PRIOR
    assert rig.usual("batch") == before
