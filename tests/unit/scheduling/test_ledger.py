"""Q, B and C of one instance follow its leases, and prediction only where nothing is seen."""

from math import exp, inf

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from steelyard_router.scheduling.index import PrefixIndex
from steelyard_router.scheduling.lease import Lease, Phase
from steelyard_router.scheduling.ledger import (
    MEMORY_S,
    OBSERVATION_S,
    PRIOR_S,
    PRIOR_TOKENS_PER_S,
    Account,
    Ledger,
)

RATE = PRIOR_TOKENS_PER_S


class Desk:
    """A ledger of one instance, and a way to take leases."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.index = PrefixIndex(10**6)
        self.account = self.ledger.open()
        self.shelf = self.index.open(0)

    def take(
        self,
        uncached: int,
        now: float,
        *,
        prompt: int | None = None,
        sequences: int = 1,
        streams: bool = True,
        harm: int = 0,
        account: Account | None = None,
    ) -> Lease:
        lease = Lease(
            instance="a",
            ledger=self.ledger,
            index=self.index,
            account=account or self.account,
            trail=self.index.insert(self.shelf, self.index.lookup(b""), 10),
            prompt_tokens=prompt or uncached,
            uncached_tokens=uncached,
            block_tokens=64.0,
            sequences=sequences,
            streams=streams,
            taken_s=now,
            harm=harm,
        )
        self.ledger.add(lease, now)
        return lease

    def q(self, now: float) -> float:
        self.ledger.settle(now)
        return self.account.queued(now)

    def b(self, now: float) -> float:
        self.ledger.settle(now)
        return self.account.sequences + self.account.others

    def c(self, now: float) -> float:
        self.ledger.settle(now)
        return self.account.context


def phases(*leases: Lease) -> list[str]:
    return [str(lease.phase) for lease in leases]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_idle_instance_has_no_load(desk: Desk) -> None:
    assert (desk.q(5.0), desk.b(5.0), desk.c(5.0)) == (0, 0, 0)


def test_a_lease_counts_its_uncached_tokens_until_its_first_byte_and_its_context_from_then_on(
    desk: Desk,
) -> None:
    lease = desk.take(1000, 0.0, prompt=1500)
    assert phases(lease) == ["prefill"]
    assert (desk.q(0.0), desk.b(0.0), desk.c(0.0)) == (1000, 1, 0)

    lease.first_byte(0.1)
    lease.progress(20)

    assert phases(lease) == ["decode"]
    assert (desk.q(0.1), desk.b(0.1), desk.c(0.1)) == (0, 1, 1520)

    lease.progress(50)
    assert desk.c(0.1) == 1550

    lease.release(1.0)
    assert phases(lease) == ["released"]
    assert (desk.q(1.0), desk.b(1.0), desk.c(1.0)) == (0, 0, 0)


def test_only_the_oldest_prompt_in_line_is_taken_to_be_computed(desk: Desk) -> None:
    first, second = desk.take(4000, 0.0), desk.take(4000, 0.0)

    assert phases(first, second) == ["prefill", "queued"]
    assert desk.q(0.25) == 8000 - 0.25 * RATE
    assert desk.q(60.0) == 4000  # the first stream has not answered, so the second has not begun


def test_the_next_in_line_begins_when_the_one_before_it_answers(desk: Desk) -> None:
    first, second = desk.take(4000, 0.0), desk.take(4000, 0.0)

    first.first_byte(0.5)

    assert phases(second) == ["prefill"]
    assert desk.q(0.5) == 4000
    assert desk.q(0.6) < 4000


def test_requests_that_do_not_stream_leave_the_line_one_after_the_other_by_prediction(
    desk: Desk,
) -> None:
    leases = [desk.take(800, 0.0, streams=False) for _ in range(3)]

    assert desk.q(0.05) == 2000
    assert desk.q(0.15) == pytest.approx(1200)
    assert phases(*leases) == ["decode", "prefill", "queued"]
    assert desk.q(10.0) == 0
    assert desk.c(10.0) == 2400
    assert desk.b(10.0) == 3

    for lease in leases:
        lease.release(11.0)
    assert (desk.q(11.0), desk.b(11.0), desk.c(11.0)) == (0, 0, 0)


def test_a_stream_behind_one_that_does_not_stream_begins_when_that_one_is_predicted_to_end(
    desk: Desk,
) -> None:
    desk.take(800, 0.0, streams=False)
    stream = desk.take(1600, 0.0)

    assert desk.q(0.2) == pytest.approx(800)
    assert phases(stream) == ["prefill"]


def test_an_answer_shows_that_older_prompts_which_cannot_show_it_are_computed(desk: Desk) -> None:
    silent = desk.take(100_000, 0.0, streams=False)
    stream = desk.take(1000, 0.0)
    later = desk.take(500, 0.0)

    stream.first_byte(0.5)

    assert phases(silent) == ["decode"]
    assert phases(later) == ["prefill"]
    assert desk.q(0.5) == 500


def test_an_answer_does_not_move_an_older_stream(desk: Desk) -> None:
    older, younger = desk.take(1000, 0.0), desk.take(10, 0.0)

    younger.first_byte(0.0)

    assert phases(older) == ["prefill"]
    assert desk.q(0.0) == 1000


def test_what_happens_behind_the_oldest_prompt_does_not_restart_its_clock(desk: Desk) -> None:
    desk.take(4000, 0.0)
    answered, ended = desk.take(0, 0.1), desk.take(0, 0.2)
    answered.first_byte(0.2)
    ended.release(0.2)

    assert desk.q(0.25) == pytest.approx(4000 - 0.25 * desk.account.rate)


def test_time_is_counted_once_when_a_younger_prompt_is_answered_first(desk: Desk) -> None:
    older, younger = desk.take(50_000, 0.0), desk.take(30_000, 0.0)
    younger.first_byte(5.0)
    older.first_byte(8.0)

    fade = exp(-8 / MEMORY_S)
    tokens, seconds = PRIOR_S * RATE + 30_000, PRIOR_S
    assert desk.account.rate == pytest.approx((tokens * fade + 50_000) / (seconds * fade + 8))


def test_the_prefill_rate_is_learned_from_streams(desk: Desk) -> None:
    now = 0.0
    for _ in range(50):
        lease = desk.take(10_000, now)
        now += 0.5
        lease.first_byte(now)
        lease.release(now)

    assert desk.account.rate == pytest.approx(20_000, rel=0.02)
    desk.take(10_000, now)
    assert desk.q(now + 0.25) == pytest.approx(5000, rel=0.02)


def test_prompts_that_are_computed_together_count_together_for_the_rate(desk: Desk) -> None:
    now = 0.0
    for _ in range(50):
        batch = [desk.take(1000, now) for _ in range(10)]
        now += 0.5
        for lease in batch:
            lease.first_byte(now)
            lease.release(now)

    assert desk.account.rate == pytest.approx(20_000, rel=0.02)


def test_tiny_prompts_that_take_as_long_as_the_network_hardly_move_the_rate(desk: Desk) -> None:
    desk.take(100_000, 0.0).first_byte(10.0)
    learned = desk.account.rate

    lease = desk.take(10, 20.0)
    lease.first_byte(20.05)

    assert desk.account.rate == pytest.approx(learned, rel=0.01)


def test_an_answer_that_does_not_stream_teaches_no_rate(desk: Desk) -> None:
    lease = desk.take(1000, 0.0, streams=False)
    lease.first_byte(0.001)

    assert phases(lease) == ["decode"]
    assert desk.account.rate == RATE


def test_a_second_first_byte_changes_nothing(desk: Desk) -> None:
    lease = desk.take(1000, 0.0)
    lease.first_byte(0.1)
    rate = desk.account.rate

    lease.first_byte(0.2)

    assert desk.account.rate == rate
    assert desk.c(0.2) == 1000


def test_progress_before_the_first_byte_counts_from_the_first_byte_on(desk: Desk) -> None:
    lease = desk.take(1000, 0.0)
    lease.progress(5)
    assert desk.c(0.0) == 0

    lease.first_byte(0.1)
    assert desk.c(0.1) == 1005


@pytest.mark.parametrize("phase", ["queued", "prefill", "decode"])
def test_a_lease_is_released_once_in_whichever_phase(desk: Desk, phase: str) -> None:
    other = desk.take(700, 0.0)
    lease = desk.take(1000, 0.0)
    if phase != "queued":
        other.first_byte(0.1)
    if phase == "decode":
        lease.first_byte(0.2)
    assert lease.phase == phase

    for _ in range(2):
        lease.release(0.3)
        lease.first_byte(0.4)
        lease.progress(99)
        lease.correct(0)

    assert desk.ledger.leases_held == 1
    assert desk.account.leases == 1
    assert desk.b(0.3) == 1


def test_releasing_the_oldest_prompt_lets_the_next_begin(desk: Desk) -> None:
    first, second = desk.take(1000, 0.0), desk.take(2000, 0.0)

    first.release(5.0)

    assert phases(second) == ["prefill"]
    assert desk.q(5.0) == 2000


def test_sequences_count_in_b_and_their_shared_prompt_once_in_q(desk: Desk) -> None:
    desk.take(1000, 0.0, sequences=4)

    assert (desk.b(0.0), desk.q(0.0)) == (4, 1000)


def test_a_lease_that_outlives_its_instance_does_not_touch_the_next_in_its_slot(
    desk: Desk,
) -> None:
    leases = [desk.take(1000, 0.0), desk.take(1000, 0.0), desk.take(1000, 0.0, streams=False)]
    leases[0].first_byte(0.1)
    desk.ledger.close(desk.account)
    successor = desk.ledger.open()
    desk.account = successor
    mine = desk.take(300, 1.0)

    leases[0].progress(100)
    leases[1].first_byte(1.0)
    leases[1].progress(10)
    for lease in leases:
        lease.release(1.0)

    assert (desk.q(1.0), desk.b(1.0), desk.c(1.0)) == (300, 1, 0)
    assert successor.rate == RATE
    assert desk.ledger.leases_held == 1
    mine.release(2.0)
    assert desk.ledger.leases_held == 0


def test_an_instance_that_leaves_takes_its_load_with_it(desk: Desk) -> None:
    desk.take(1000, 0.0, streams=False)
    desk.ledger.observe(desk.account, 9, 9, 0.0)

    desk.ledger.close(desk.account)

    assert not desk.account.line
    desk.account = desk.ledger.open()
    assert (desk.q(0.0), desk.b(0.0), desk.c(0.0)) == (0, 0, 0)
    assert desk.q(99.0) == 0
    assert not desk.account.line


def test_polled_sequences_that_are_not_ours_count_until_the_next_poll(desk: Desk) -> None:
    desk.take(10, 0.0)

    desk.ledger.observe(desk.account, 5, 2, 0.0)
    desk.ledger.observe(desk.account, 5, 2, 1.0)
    assert desk.b(1.0) == 7

    desk.ledger.observe(desk.account, 1, 0, 2.0)
    assert desk.b(2.0) == 1


def test_our_own_requests_are_not_counted_twice_when_a_poll_is_late(desk: Desk) -> None:
    leases = [desk.take(10, 0.0) for _ in range(6)]
    for lease in leases[:5]:
        lease.release(0.1)

    desk.ledger.observe(desk.account, 6, 0, 0.1)  # taken before the releases

    assert desk.b(0.1) == 1


def test_what_was_ours_long_ago_does_not_hide_what_is_others_now(desk: Desk) -> None:
    for lease in [desk.take(10, 0.0) for _ in range(6)]:
        lease.release(0.1)

    desk.ledger.observe(desk.account, 4, 0, 1.0)
    desk.ledger.observe(desk.account, 4, 0, 2.0)

    assert desk.b(2.0) == 4


def test_a_polled_count_is_forgotten_when_it_is_unknown_or_old(desk: Desk) -> None:
    desk.ledger.observe(desk.account, 4, None, 0.0)
    assert desk.b(1.0) == 4
    assert desk.b(OBSERVATION_S) == 0

    desk.ledger.observe(desk.account, 4, None, 20.0)
    desk.ledger.observe(desk.account, None, None, 21.0)
    assert desk.b(21.0) == 0


class LedgerModel(RuleBasedStateMachine):
    """Whatever happens in whatever order, sums match the leases and nothing is negative."""

    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk()
        self.leases: list[Lease] = []
        self.now = 0.0

    def some(self, pick: int) -> Lease | None:
        return self.leases[pick % len(self.leases)] if self.leases else None

    @rule(
        uncached=st.integers(1, 5000),
        hit=st.integers(0, 5000),
        n=st.integers(1, 3),
        harm=st.integers(0, 2**70),
    )
    def take(self, uncached: int, hit: int, n: int, harm: int) -> None:
        streams = (uncached + hit) % 2 == 0
        lease = self.desk.take(
            uncached, self.now, prompt=uncached + hit, sequences=n, streams=streams, harm=harm
        )
        self.leases.append(lease)

    @rule(passed=st.floats(0.0, 2.0))
    def wait(self, passed: float) -> None:
        self.now += passed

    @rule(pick=st.integers(0, 99))
    def first_byte(self, pick: int) -> None:
        if lease := self.some(pick):
            lease.first_byte(self.now)

    @rule(pick=st.integers(0, 99), tokens=st.integers(0, 50))
    def progress(self, pick: int, tokens: int) -> None:
        if lease := self.some(pick):
            lease.progress(lease.output_tokens + tokens, self.now if tokens % 2 else None)

    @rule(pick=st.integers(0, 99))
    def release(self, pick: int) -> None:
        if lease := self.some(pick):
            lease.release(self.now)

    @rule()
    def replace_instance(self) -> None:
        self.desk.ledger.close(self.desk.account)
        self.desk.account = self.desk.ledger.open()

    @invariant()
    def sums_match_the_leases(self) -> None:
        q, b, c = self.desk.q(self.now), self.desk.b(self.now), self.desk.c(self.now)
        held = [lease for lease in self.leases if lease.phase is not Phase.RELEASED]
        mine = [lease for lease in held if lease.account is self.desk.account]
        waiting = [lease for lease in mine if lease.phase is not Phase.DECODE]
        decoding = [lease for lease in mine if lease.phase is Phase.DECODE]

        assert self.desk.ledger.leases_held == len(held)
        assert b == sum(lease.sequences for lease in mine)
        assert c == sum(lease.prompt_tokens + lease.output_tokens for lease in decoding)
        assert sum(lease.uncached_tokens for lease in waiting[1:]) <= q
        assert 0 <= q <= sum(lease.uncached_tokens for lease in waiting)
        assert phases(*waiting[:1]) == ["prefill"][: len(waiting)]
        assert list(self.desk.account.line) == waiting
        assert self.desk.account.rate < inf
        account = self.desk.account
        assert account.pending_pairs == sum(lease.pairs for lease in waiting)
        assert account.decoding == sum(lease.sequences for lease in decoding)
        assert account.harm == sum(lease.harm for lease in mine)
        assert account.head_pairs == sum(lease.pairs for lease in waiting[:1])


TestLedgerModel = LedgerModel.TestCase
TestLedgerModel.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
