"""Decisions: who may be chosen, who is, and what that leaves behind."""

from math import inf
from typing import ClassVar

import numpy as np
import pytest

from steelyard_router.scheduling.candidate import Terms, Wish
from steelyard_router.scheduling.ledger import PRIOR_TOKENS_PER_S
from steelyard_router.scheduling.refusal import AbovePTokenCap, NoCandidate, PlacementError
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Decision, InstanceLoad, Scheduler
from steelyard_router.scheduling.strategy import STRATEGIES, LeastRequest, Multiplicative, build
from steelyard_router.scheduling.strategy.protocol import Settings

PRODUCT = Multiplicative()


def fleet(count: int, cache_tokens: int = 10**6) -> Scheduler:
    scheduler = Scheduler(index_bytes=10**8)
    for number in range(count):
        scheduler.join(f"i{number}", cache_tokens=cache_tokens)
    return scheduler


def prompt(name: int, tokens: int, *, shared: bytes = b"", streams: bool = True) -> RequestView:
    """A prompt of its own after the shared blocks; 64 tokens a block."""
    own = np.random.default_rng(name).bytes(tokens // 64 * 8)
    blocks = (shared + own)[: tokens // 64 * 8]
    return RequestView(blocks=blocks, prompt_tokens=tokens, streams=streams)


def load_of(scheduler: Scheduler, instance: str, now: float = 0.0) -> InstanceLoad:
    return {load.instance: load for load in scheduler.snapshot(now)}[instance]


def serve(scheduler: Scheduler, request: RequestView, now: float = 0.0) -> Decision:
    """A request from decision to end."""
    decision = scheduler.choose(request, PRODUCT, now)
    decision.lease.first_byte(now)
    decision.lease.release(now)
    return decision


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("tokens", [1_000, 100_000])
@pytest.mark.parametrize("streams", [True, False])
def test_a_burst_of_equal_requests_spreads_evenly_over_idle_instances(
    kind: type, tokens: int, streams: bool
) -> None:
    scheduler, strategy = fleet(8), build(kind.__name__)
    request = prompt(1, tokens, streams=streams)

    chosen = [scheduler.choose(request, strategy, 0.0).instance for _ in range(200)]

    counts = [chosen.count(f"i{number}") for number in range(8)]
    assert max(counts) - min(counts) <= 1
    assert scheduler.leases_held == 200


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_thousand_equal_long_prompts_spread_evenly_over_idle_instances(kind: type) -> None:
    scheduler, strategy = fleet(8), build(kind.__name__)
    request = prompt(1, 32_768)

    chosen = [scheduler.choose(request, strategy, 0.0).instance for _ in range(1000)]

    counts = [chosen.count(f"i{number}") for number in range(8)]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("exponents", [(2.0, 0.5), (0.5, 2.0), (1.0, 0.0), (0.0, 1.0)])
def test_a_burst_spreads_evenly_with_any_exponents(exponents: tuple[float, float]) -> None:
    scheduler, strategy = fleet(8), Multiplicative(*exponents)

    chosen = [scheduler.choose(prompt(1, 1000), strategy, 0.0).instance for _ in range(200)]

    counts = [chosen.count(f"i{number}") for number in range(8)]
    assert max(counts) - min(counts) <= 1


def test_a_decision_reports_the_terms_before_the_request_is_counted() -> None:
    scheduler = fleet(1)
    first = scheduler.choose(prompt(1, 6400), PRODUCT, 0.0)
    second = scheduler.choose(prompt(1, 6400), PRODUCT, 0.0)

    assert (first.hit_tokens, first.uncached_tokens) == (0, 6400)
    assert (first.queued_tokens, first.requests, first.score) == (0, 0, 6400)
    assert (second.hit_tokens, second.uncached_tokens) == (6399, 1)
    assert (second.queued_tokens, second.requests, second.score) == (6400, 1, 6401 * 2)


def test_the_score_is_the_raw_product_whatever_the_strategy() -> None:
    scheduler = fleet(2)
    for strategy in (LeastRequest(), Multiplicative(2.0, 3.0, 50.0)):
        decision = scheduler.choose(prompt(7, 640), strategy, 0.0)
        assert (decision.score, decision.strategy) == (640, strategy.name)
        scheduler.leave("i0")


def test_a_full_hit_still_computes_one_token() -> None:
    scheduler = fleet(1)
    serve(scheduler, prompt(1, 640))

    decision = scheduler.choose(prompt(1, 640), PRODUCT, 1.0)

    assert (decision.hit_tokens, decision.uncached_tokens, decision.score) == (639, 1, 1)


@pytest.mark.parametrize("tokens", [0, 1, 30])
def test_a_prompt_without_a_whole_block_is_placed_and_leaves_nothing_in_the_index(
    tokens: int,
) -> None:
    scheduler = fleet(2)
    decision = scheduler.choose(RequestView(prompt_tokens=tokens), PRODUCT, 0.0)

    assert decision.uncached_tokens == max(1, tokens)
    assert scheduler.index.bytes == 0


def test_a_conversation_stays_where_its_cache_is_until_that_costs_more() -> None:
    scheduler = fleet(4)
    first = serve(scheduler, prompt(1, 6400))
    again = serve(scheduler, prompt(1, 6400 + 640))
    assert again.instance == first.instance

    for name in range(100, 120):  # the holder gets busy
        scheduler.choose(prompt(name, 6400), PRODUCT, 0.0, among=frozenset({first.instance}))
    assert scheduler.choose(prompt(1, 7680), PRODUCT, 0.0).instance != first.instance


class Indifferent:
    """Every instance costs the same."""

    name: ClassVar[str] = "Indifferent"
    wants_outlook: ClassVar[Wish] = Wish.NEVER

    @classmethod
    def build(cls, settings: Settings) -> "Indifferent":
        return cls()

    def cost(self, terms: Terms) -> list[float]:
        return [0.0] * len(terms.slots)


def test_ties_go_to_the_less_loaded_whatever_it_has_cached() -> None:
    scheduler = fleet(2)
    cached = scheduler.choose(prompt(1, 640), Indifferent(), 0.0)
    assert cached.instance == "i0"

    assert scheduler.choose(prompt(1, 640), Indifferent(), 0.0).instance == "i1"


def test_ties_of_equal_load_go_to_the_better_cached_whoever_is_next() -> None:
    scheduler = fleet(3)
    for name in range(3):
        scheduler.choose(prompt(name, 640), Indifferent(), 0.0).lease.release(0.0)

    chosen = [scheduler.choose(prompt(1, 640), Indifferent(), 0.0) for _ in range(3)]
    assert [decision.instance for decision in chosen] == ["i1", "i2", "i0"]


def test_full_ties_go_round() -> None:
    scheduler = fleet(3)
    chosen = []
    for name in range(6):
        decision = scheduler.choose(prompt(name, 640), Indifferent(), 0.0)
        chosen.append(decision.instance)
        decision.lease.release(0.0)

    assert chosen == ["i0", "i1", "i2"] * 2


def test_instances_that_are_closed_full_excluded_or_not_meant_are_never_chosen() -> None:
    scheduler = fleet(5)
    scheduler.limit("i0", 0)
    scheduler.limit("i1", 1)
    scheduler.choose(prompt(1, 64), PRODUCT, 0.0, among=frozenset({"i1"}))
    among = frozenset({"i0", "i1", "i2", "i3", "stranger"})

    chosen = {
        scheduler.choose(prompt(n, 64), PRODUCT, 0.0, among=among, exclude=["i2", "gone"]).instance
        for n in range(10)
    }

    assert chosen == {"i3"}


def test_a_limit_counts_our_sequences_and_not_what_others_run_there() -> None:
    """Or an instance that others keep busy would never get its trial request."""
    scheduler = fleet(1)
    scheduler.limit("i0", 1)
    scheduler.observe("i0", running=5, waiting=5, now=0.0)

    decision = scheduler.choose(prompt(1, 64), PRODUCT, 0.0)

    assert decision.requests == 10
    with pytest.raises(NoCandidate):
        scheduler.choose(prompt(1, 64), PRODUCT, 0.0)
    decision.lease.release(0.0)
    assert scheduler.choose(prompt(1, 64), PRODUCT, 0.0).instance == "i0"


def test_nobody_to_choose_from_is_said_so() -> None:
    scheduler = Scheduler(index_bytes=10**6)
    with pytest.raises(NoCandidate):
        scheduler.choose(prompt(1, 640), PRODUCT, 0.0)

    scheduler.join("a")
    with pytest.raises(PlacementError, match="no instance may take"):
        scheduler.choose(prompt(1, 640), PRODUCT, 0.0, exclude={"a"})
    assert scheduler.leases_held == 0


def test_instances_above_the_p_token_cap_are_left_out() -> None:
    scheduler = fleet(2)
    scheduler.choose(prompt(1, 6400), PRODUCT, 0.0, exclude=["i1"])
    scheduler.choose(prompt(2, 640), LeastRequest(), 0.0, exclude=["i0"])

    least = scheduler.choose(prompt(3, 640), LeastRequest(), 0.0, max_p_tokens=1280)
    assert least.instance == "i1"

    with pytest.raises(
        AbovePTokenCap, match="over 1000 tokens to prefill, at least 1920"
    ) as caught:
        scheduler.choose(prompt(4, 640), PRODUCT, 0.0, max_p_tokens=1000)
    assert (caught.value.cap, caught.value.lowest) == (1000, 1920)
    assert scheduler.leases_held == 3


def test_an_instance_that_has_left_is_not_chosen() -> None:
    scheduler = fleet(3)
    scheduler.leave("i1")

    chosen = [scheduler.choose(prompt(n, 640), PRODUCT, 0.0).instance for n in range(4)]

    assert chosen == ["i0", "i2"] * 2


def test_names_may_be_reused_and_sets_of_names_follow() -> None:
    scheduler = fleet(2)
    both = frozenset({"i0", "i2"})
    assert scheduler.choose(prompt(1, 64), PRODUCT, 0.0, among=both).instance == "i0"

    scheduler.leave("i0")
    scheduler.join("i2")  # into the slot of i0
    assert scheduler.choose(prompt(1, 64), PRODUCT, 0.0, among=both).instance == "i2"
    scheduler.join("i0")
    assert scheduler.choose(prompt(2, 64), PRODUCT, 0.0, among=both).instance == "i0"


def test_many_different_sets_of_names_do_not_pile_up() -> None:
    scheduler = fleet(3)
    for number in range(1000):
        among = frozenset({"i1", f"other-{number}"})
        assert scheduler.choose(prompt(1, 64), PRODUCT, 0.0, among=among).instance == "i1"

    assert len(scheduler._fleet._selections) <= 64


def test_an_instance_that_leaves_leaves_nothing_behind_and_its_leases_stay_safe() -> None:
    scheduler = fleet(1)
    stream, queued = (scheduler.choose(prompt(n, 6400), PRODUCT, 0.0) for n in range(2))
    stream.lease.first_byte(0.5)

    scheduler.leave("i0")
    assert scheduler.index.bytes == scheduler.index.block_count == scheduler.index.holder_count == 0
    assert scheduler.snapshot(0.5) == []
    scheduler.join("i9")
    assert load_of(scheduler, "i9", 1.0).requests == 0
    mine = scheduler.choose(prompt(0, 6400), PRODUCT, 1.0)

    stream.lease.progress(5)
    stream.lease.correct(0)
    stream.lease.release(1.0)
    queued.lease.release(1.0, served=False)

    load = load_of(scheduler, "i9", 1.0)
    assert mine.uncached_tokens == 6400
    assert (load.queued_tokens, load.requests, load.context_tokens, load.leases) == (6400, 1, 0, 1)
    assert load.index_blocks == 100
    mine.lease.release(2.0)
    assert scheduler.leases_held == 0


def test_reports_about_strangers_are_ignored() -> None:
    scheduler = fleet(1)
    scheduler.leave("x")
    scheduler.limit("x", 0)
    scheduler.reset_cache("x")
    scheduler.observe("x", running=1, waiting=1, now=0.0)

    assert [load.instance for load in scheduler.snapshot(0.0)] == ["i0"]


def test_a_snapshot_tells_what_is_known_of_an_instance() -> None:
    scheduler = fleet(2)
    scheduler.choose(prompt(1, 640), PRODUCT, 0.0).lease.first_byte(0.0)
    scheduler.limit("i1", 3)

    first, second = scheduler.snapshot(0.0)

    assert (first.context_tokens, first.requests, first.index_blocks) == (640, 1, 10)
    assert (first.limit, second.limit) == (inf, 3)
    assert second.prefill_tokens_per_s == PRIOR_TOKENS_PER_S


def test_explaining_shows_every_candidate_and_changes_no_choice() -> None:
    scheduler = fleet(3)
    scheduler.choose(prompt(1, 640), PRODUCT, 0.0)

    decision = scheduler.choose(prompt(1, 640), PRODUCT, 0.0, exclude=["i2"], explain=True)

    assert decision.terms is not None
    assert [row.instance for row in decision.terms] == ["i0", "i1"]
    assert [(row.q, row.p, row.b, row.cost) for row in decision.terms] == [
        (640, 1, 1, 1282),
        (0, 640, 0, 640),
    ]
    assert decision.instance == "i1"
    assert scheduler.choose(prompt(1, 640), PRODUCT, 0.0).terms is None


def test_an_index_is_as_large_as_its_engines_cache() -> None:
    scheduler = fleet(1, cache_tokens=6400)
    for name in range(5):
        serve(scheduler, prompt(name, 3200))

    assert load_of(scheduler, "i0").index_blocks == 100
    assert serve(scheduler, prompt(3, 3200)).hit_tokens == 3199
    assert serve(scheduler, prompt(0, 3200)).hit_tokens == 0

    scheduler.join("i0", cache_tokens=1280)
    serve(scheduler, prompt(9, 640))
    assert load_of(scheduler, "i0").index_blocks == 20


def test_cache_size_in_blocks_follows_the_mean_tokens_of_a_block() -> None:
    scheduler = fleet(1, cache_tokens=6400)
    blocks = np.random.default_rng(1).bytes(200 * 8)
    for _ in range(500):
        serve(scheduler, RequestView(blocks=blocks, prompt_tokens=6400, block_tokens=32.0))

    assert load_of(scheduler, "i0").index_blocks == 200


def test_a_restarted_engine_has_nothing_cached() -> None:
    scheduler = fleet(1)
    serve(scheduler, prompt(1, 640))

    scheduler.reset_cache("i0")

    assert serve(scheduler, prompt(1, 640)).hit_tokens == 0


def test_an_attempt_that_was_not_served_takes_back_what_it_put_into_the_index() -> None:
    scheduler = fleet(1)
    system = prompt(1, 640)
    serve(scheduler, system)

    failed = scheduler.choose(prompt(2, 6400, shared=system.blocks), PRODUCT, 1.0)
    failed.lease.release(1.0, served=False)

    assert scheduler.index.holder_count == 10
    assert serve(scheduler, prompt(2, 6400, shared=system.blocks), 2.0).hit_tokens == 640


def test_what_others_used_since_is_not_taken_back() -> None:
    scheduler = fleet(1)
    failed = scheduler.choose(prompt(1, 640), PRODUCT, 0.0)
    serve(scheduler, prompt(1, 640))

    failed.lease.release(1.0, served=False)

    assert serve(scheduler, prompt(1, 640), 2.0).hit_tokens == 639


def known(scheduler: Scheduler, name: int) -> bool:
    return bool(scheduler.index.lookup(prompt(name, 6400).blocks).hits[0])


def three_prompts_then_the_second_again() -> tuple[Scheduler, Decision]:
    scheduler = fleet(1)
    for name in (1, 2, 3):
        serve(scheduler, prompt(name, 6400))
    again = scheduler.choose(prompt(2, 6400), PRODUCT, 1.0)
    again.lease.first_byte(1.1)
    return scheduler, again


def test_a_shortfall_of_cached_tokens_disproves_what_was_used_less_recently() -> None:
    scheduler, again = three_prompts_then_the_second_again()

    again.lease.correct(0)

    assert [known(scheduler, name) for name in (1, 2, 3)] == [False, True, True]


@pytest.mark.parametrize("cached", [6399, 6400, 9000, 6400 - 640])
def test_cached_tokens_near_or_above_the_prediction_disprove_nothing(cached: int) -> None:
    scheduler, again = three_prompts_then_the_second_again()

    again.lease.correct(cached)

    assert all(known(scheduler, name) for name in (1, 2, 3))


def test_a_wrong_estimate_of_tokens_per_byte_is_not_taken_for_an_eviction() -> None:
    scheduler, again = three_prompts_then_the_second_again()

    again.lease.correct(3200, prompt_tokens=3210)
    assert known(scheduler, 1)

    again.lease.correct(1600, prompt_tokens=3210)
    assert not known(scheduler, 1)


def test_a_prefix_that_was_still_being_computed_disproves_nothing() -> None:
    scheduler = fleet(1)
    serve(scheduler, prompt(1, 6400))
    scheduler.choose(prompt(2, 6400), PRODUCT, 1.0)
    follower = scheduler.choose(prompt(2, 6400), PRODUCT, 1.0)
    follower.lease.first_byte(2.0)

    follower.lease.correct(0)

    assert known(scheduler, 1)


@pytest.mark.parametrize("true_share", [1, 0.5, 2])
def test_a_session_that_lost_its_tail_disproves_by_the_tails_last_use(true_share: float) -> None:
    """The system prompt before it was used since, which says nothing about the tail."""
    scheduler = fleet(1)
    system = prompt(50, 640)
    session = prompt(1, 6400, shared=system.blocks)
    serve(scheduler, prompt(10, 6400))
    serve(scheduler, session)
    serve(scheduler, prompt(11, 6400))
    serve(scheduler, prompt(2, 6400, shared=system.blocks))
    again = scheduler.choose(session, PRODUCT, 1.0)
    prompt_tokens = int(6400 * true_share)

    again.lease.correct(int(640 * true_share), prompt_tokens=prompt_tokens)
    assert [known(scheduler, name) for name in (10, 11)] == [False, True]

    again.lease.correct(0, prompt_tokens=prompt_tokens)
    assert not known(scheduler, 11)


def test_a_prompt_that_does_not_fit_the_byte_budget_is_still_placed() -> None:
    scheduler = Scheduler(index_bytes=1000)
    scheduler.join("a")

    decision = scheduler.choose(prompt(1, 64_000), PRODUCT, 0.0)

    assert decision.instance == "a"
    assert scheduler.index.bytes <= 1000
    assert scheduler.index.budget_evictions == 1
    decision.lease.release(0.0, served=False)
