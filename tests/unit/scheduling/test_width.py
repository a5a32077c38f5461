"""How many sequences an engine runs at once, as its reports show it."""

from collections.abc import Iterable
from math import inf

from hypothesis import given
from hypothesis import strategies as st
from support.pool_case import PRODUCT

from steelyard_router.scheduling.fleet import CROWDED, PROBE, PROBE_S, STEADY, Member
from steelyard_router.scheduling.index import PrefixIndex
from steelyard_router.scheduling.ledger import Ledger
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler

Report = tuple[int | None, int | None]


def told(*reports: Report, member: Member | None = None, start_s: float = 0.0) -> Member:
    """After reports a second apart: how many run, how many wait."""
    if member is None:
        shelf = PrefixIndex(10**6).open(0)
        member = Member("a", 0, Ledger().open("a"), shelf, cache_tokens=1000)
    for number, (running, waiting) in enumerate(reports):
        member.report(running, waiting, start_s + number)
    return member


def test_it_is_unknown_until_requests_wait_report_after_report() -> None:
    assert told(*[(16, 1)] * (STEADY - 1)).width == inf
    assert told(*[(16, 1)] * STEADY).width == 16


@given(st.lists(st.tuples(st.integers(1, 64), st.booleans())))
def test_what_waits_for_the_end_of_a_step_now_and_then_tells_nothing(
    seen: Iterable[tuple[int, bool]],
) -> None:
    reports = [(running, waiting) for running, more in seen for waiting in (1, int(more), 0)]

    assert told(*reports).width == inf


def test_prompts_that_are_let_in_one_after_the_other_do_not_fill_it() -> None:
    assert told(*((running, 30 - running) for running in range(1, CROWDED))).width == inf


def test_who_waits_while_a_prompt_is_computed_does_not_show_that_it_is_full() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    scheduler.join("a")
    leases = [scheduler.choose(RequestView(), PRODUCT, 0.0).lease for _ in range(4)]

    def width_after(reports: int) -> float:
        for _ in range(reports):
            scheduler.observe("a", running=3, waiting=1, now=0.0)
        return scheduler.snapshot(0.0)[0].width

    for lease in leases[:2]:
        lease.first_byte(0.0)
    assert width_after(2 * CROWDED) == inf
    leases[2].first_byte(0.0)
    assert width_after(STEADY) == 3


def test_one_whose_memory_is_full_runs_as_many_as_it_did_at_most() -> None:
    assert told(*((7 + number % 3, 5) for number in range(CROWDED))).width == 9


def test_reports_that_tell_nothing_change_nothing() -> None:
    full = [(16, 1)] * (STEADY - 1)

    assert told(*full, (None, None), (16, 1)).width == 16


def test_an_idle_moment_ends_a_row() -> None:
    full = [(16, 1)] * (STEADY - 1)

    assert told(*full, (0, 0), (3, 1)).width == inf


def test_one_restarted_with_fewer_slots_is_given_fewer() -> None:
    member = told(*[(16, 4)] * 20)

    told(*[(0, 0)], *[(8, 12)] * STEADY, member=member, start_s=20.0)
    assert member.width == 8


def test_one_restarted_with_fewer_slots_is_given_fewer_though_no_report_saw_it() -> None:
    member = told(*[(16, 4)] * 20)

    told(*[(8, 12)] * (CROWDED + STEADY), member=member, start_s=20.0)
    assert member.width == 8


def test_one_that_is_seen_to_run_more_is_given_more() -> None:
    member = told(*[(16, 4)] * STEADY)

    told((24, 0), member=member, start_s=10.0)
    assert member.width == 24


def test_a_full_one_gets_some_more_to_find_out_and_not_before_its_time() -> None:
    member = told(*[(64, 4)] * STEADY)
    told_s = STEADY - 1.0

    member.report(64, 0, told_s + PROBE_S - 1)
    assert member.width == 64
    member.report(64, 0, told_s + PROBE_S)
    assert member.width == 64 + 64 * PROBE


def test_while_it_takes_them_it_gets_more_at_once() -> None:
    """As many as it is thought to run are there at each report, and nobody has to wait."""
    member = told(*[(16, 4)] * STEADY)

    widths = []
    for second in range(60):
        member.report(min(128, int(member.width)), 0, PROBE_S + STEADY + second)
        widths.append(member.width)
    assert widths[:2] == [17, 18]
    assert widths[-1] == 129


def test_after_one_that_had_to_wait_the_next_is_tried_in_its_time() -> None:
    member = told(*[(16, 4)] * STEADY)
    refused_s = 100.0 + STEADY

    told((16, 0), *[(16, 1)] * STEADY, (16, 0), member=member, start_s=100.0)
    assert member.width == 16
    member.report(16, 0, refused_s + PROBE_S - 1)
    assert member.width == 16
    member.report(16, 0, refused_s + PROBE_S)
    assert member.width == 17


def test_one_more_that_has_to_wait_is_taken_back() -> None:
    member = told(*[(16, 4)] * STEADY)
    member.report(16, 0, 100.0)
    assert member.width == 17

    told(*[(16, 1)] * STEADY, member=member, start_s=101.0)
    assert member.width == 16


def test_one_that_is_not_full_gets_no_more_to_find_out() -> None:
    member = told(*[(16, 4)] * STEADY)

    told(*[(15, 0)] * 200, member=member, start_s=10.0)
    assert member.width == 16
