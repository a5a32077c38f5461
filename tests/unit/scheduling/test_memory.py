"""What of an instance's KV memory is held and will be, as leases and its reports show it."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.placing import chain
from support.pool_case import PRODUCT

from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.memory import Memory
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler

CACHE_TOKENS = 100_000
BLOCK_TOKENS = 100


class Engine:
    """One instance, by what its leases and its reports say."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(index_bytes=10**7)
        self.scheduler.join("a", cache_tokens=CACHE_TOKENS)
        self.leases: list[Lease] = []
        self.added = 0

    def take(
        self, prompt: int, reply: float | None = None, *, sequences: int = 1, prefix: int = 0
    ) -> Lease:
        """`prefix`: blocks that it has in common with all others that have so many."""
        request = RequestView(
            blocks=chain(range(prefix)),
            block_tokens=BLOCK_TOKENS,
            prompt_tokens=prompt,
            sequences=sequences,
            expected_output_tokens=reply,
        )
        lease = self.scheduler.choose(request, PRODUCT, 0.0).lease
        self.leases.append(lease)
        return lease

    def report(self, held_tokens: float) -> None:
        usage = held_tokens / CACHE_TOKENS
        self.scheduler.observe("a", running=1, waiting=0, now=0.0, kv_usage=usage)

    @property
    def memory(self) -> Memory:
        return self.leases[0].account.memory


def test_a_reply_is_counted_before_it_comes_and_not_again_when_it_does() -> None:
    engine = Engine()
    lease = engine.take(1000, 200.0)
    assert (engine.memory.held, engine.memory.tokens) == (1000, 1200)

    lease.first_byte(0.0)
    lease.progress(150)
    assert (engine.memory.held, engine.memory.tokens) == (1150, 1200)
    lease.progress(260)
    assert (engine.memory.held, engine.memory.tokens) == (1260, 1260)
    lease.release(0.0)
    assert (engine.memory.held, engine.memory.tokens) == (0, 0)


def test_every_sequence_of_a_request_has_its_reply() -> None:
    engine = Engine()
    engine.take(1000, 200.0, sequences=3)

    assert engine.memory.tokens == 1600


def test_replies_that_begin_together_all_grow_to_their_ends() -> None:
    engine = Engine()
    for _ in range(10):
        engine.take(100, 1000.0)

    assert engine.memory.tokens == 10 * 1100


def test_replies_that_end_make_room_for_those_that_go_on() -> None:
    """One is near its end, one is half way and one has just begun."""
    engine = Engine()
    for come in (990, 500, 0):
        engine.take(1000, 1000.0).first_byte(0.0)
        engine.leases[-1].progress(come)
    assert engine.memory.held == 4490

    at_ends = (2000 + 1510 + 1010, 2000 + 1500, 2000)
    assert engine.memory.tokens == max(at_ends)


def test_a_reply_that_is_longer_than_expected_is_taken_to_stay() -> None:
    engine = Engine()
    engine.take(1000, 100.0).first_byte(0.0)
    engine.leases[-1].progress(200)
    engine.take(1000, 1000.0)

    assert engine.memory.tokens == 1200 + 2000


def test_until_the_engine_reports_every_prompt_counts_in_full() -> None:
    engine = Engine()
    for _ in range(5):
        engine.take(2000, prefix=20)

    assert engine.memory.tokens == 5 * 2000


def test_a_report_says_what_is_held_and_what_that_grows_by_is_added_to_it() -> None:
    engine = Engine()
    engine.take(2000, 300.0).first_byte(0.0)
    engine.take(500, 300.0)

    engine.report(2040)

    assert (engine.memory.held, engine.memory.tokens) == (2540, 2540 + 600)


def test_what_is_cached_counts_as_far_as_contexts_are_held_once_for_each() -> None:
    """Sessions hold their own; a beginning that all have in common is held once."""
    own, common = Engine(), Engine()
    for engine in (own, common):
        for _ in range(5):
            engine.take(2000, prefix=20).first_byte(0.0)
    own.report(5 * 2000)
    common.report(2000)
    for engine in (own, common):
        before = engine.memory.held
        engine.take(2000, prefix=20)
        engine.added = engine.memory.held - before

    assert own.added == 2000
    assert common.added == pytest.approx(2000 / 5, abs=1)


def test_who_leaves_takes_no_more_than_was_there() -> None:
    """Five that hold one prefix together count in full each, until a report."""
    engine = Engine()
    for _ in range(5):
        engine.take(2000, prefix=20).first_byte(0.0)
    engine.report(2050)
    last = engine.take(2000, 30.0, prefix=20)

    for lease in engine.leases[:5]:
        lease.release(0.0)
    assert engine.memory.tokens >= last.left > 0


class Counts(RuleBasedStateMachine):
    """Requests come, grow and end; the engine may report what it holds."""

    @initialize()
    def start(self) -> None:
        self.engine = Engine()
        self.first = self.engine.take(10, 5.0)
        self.reported = False

    @rule(prompt=st.integers(1, 5000), reply=st.none() | st.floats(1, 900), many=st.integers(1, 3))
    def come(self, prompt: int, reply: float | None, many: int) -> None:
        self.engine.take(prompt, reply, sequences=many, prefix=prompt // BLOCK_TOKENS)

    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        if self.engine.leases:
            data.draw(st.sampled_from(self.engine.leases)).first_byte(0.0)

    @rule(data=st.data(), tokens=st.integers(1, 700))
    def grow(self, data: st.DataObject, tokens: int) -> None:
        if self.engine.leases:
            lease = data.draw(st.sampled_from(self.engine.leases))
            lease.first_byte(0.0)
            lease.progress(lease.output_tokens + tokens)

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        if self.engine.leases:
            lease = data.draw(st.sampled_from(self.engine.leases))
            self.engine.leases.remove(lease)
            lease.release(0.0)

    @rule(held=st.integers(0, CACHE_TOKENS))
    def report(self, held: int) -> None:
        self.engine.report(held)
        self.reported = True

    @invariant()
    def the_most_is_between_what_is_held_and_that_with_all_that_is_to_come(self) -> None:
        memory = self.first.account.memory
        left = sum(lease.left for lease in self.engine.leases)
        assert 0 <= memory.held <= memory.tokens <= memory.ceiling == memory.held + left

    @invariant()
    def no_longest_reply_has_no_room(self) -> None:
        """Whatever else ends before it."""
        left = max((lease.left // lease.sequences for lease in self.engine.leases), default=0)
        assert self.first.account.memory.tokens >= left / 2

    @invariant()
    def without_reports_what_is_held_is_the_sum_of_all(self) -> None:
        if not self.reported:
            assert self.first.account.memory.held == sum(
                lease.prompt_tokens + lease.output_tokens for lease in self.engine.leases
            )

    @invariant()
    def once_all_have_gone_a_report_of_an_empty_engine_leaves_nothing(self) -> None:
        if self.reported and not self.engine.leases:
            self.engine.report(0)
            assert self.first.account.memory.tokens == 0


TestCounts = Counts.TestCase
TestCounts.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
