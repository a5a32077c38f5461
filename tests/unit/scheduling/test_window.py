"""From the events of one instance to observations: what is seen, and what is not believed."""

from collections.abc import Callable

import pytest

from steelyard_router.scheduling.lease import Lease
from steelyard_router.scheduling.predictor import PRIOR, Coefficients, Observation, attended
from steelyard_router.scheduling.predictor.window import ALONE_TOKENS, CHUNK_TOKENS, MOST_S
from steelyard_router.scheduling.request import RequestView
from steelyard_router.scheduling.scheduler import Scheduler
from steelyard_router.scheduling.strategy import LeastRequest


class Listener:
    """A predictor that only listens."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def join(self, instance: str) -> None: ...

    def leave(self, instance: str) -> None: ...

    def coefficients(self, instance: str) -> Coefficients:
        return PRIOR

    def pace(self, instance: str) -> float:
        return 1.0

    def trusted(self, instance: str) -> bool:
        return False

    def observe(self, instance: str, seen: Observation) -> None:
        assert instance == "a"
        self.seen.append(seen)


class Rig:
    """One instance."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.scheduler = Scheduler(index_bytes=10**6, predictor=self.listener)
        self.scheduler.join("a")

    def take(self, tokens: int, now: float, *, streams: bool = True, sequences: int = 1) -> Lease:
        request = RequestView(prompt_tokens=tokens, streams=streams, sequences=sequences)
        return self.scheduler.choose(request, LeastRequest(), now).lease

    def decoding(self, tokens: int, now: float, *, sequences: int = 1) -> Lease:
        """A request whose first byte comes at once, beside which nothing is alone."""
        lease = self.take(tokens, now, sequences=sequences)
        lease.first_byte(now)
        self.listener.seen.clear()
        return lease

    @property
    def seen(self) -> list[Observation]:
        return self.listener.seen


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_tokens_of_a_stream_count_the_steps_of_its_instance(rig: Rig) -> None:
    probe, other = rig.decoding(1000, 0.0), rig.decoding(500, 0.0)
    probe.progress(1, 1.0)
    other.progress(100, 1.5)
    probe.progress(11, 1.5)
    assert not rig.seen

    probe.progress(41, 2.0)

    steps = 40
    context = 10 * (1001 + 500 + 1011 + 600) / 2 + 30 * (1011 + 600 + 1041 + 600) / 2
    assert rig.seen == [Observation(1.0, steps, 0, 0, 2 * steps, context)]


def test_the_next_window_begins_where_the_last_one_ended(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    for second in range(4):
        probe.progress(1 + 50 * second, 1.0 + second)

    assert [seen.seconds for seen in rig.seen] == [1, 1, 1]
    assert [seen.steps for seen in rig.seen] == [50, 50, 50]


def test_prompts_that_were_computed_in_the_meantime_count(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    rig.take(4000, 1.1).first_byte(1.5)
    probe.progress(41, 2.0)

    seen = rig.seen[0]
    assert (seen.prefill_tokens, seen.pairs) == (4000, attended(4000, 4000))


def test_no_window_ends_while_nobody_knows_how_far_a_long_prompt_has_come(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    long = rig.take(100_000, 1.5)
    probe.progress(41, 2.5)
    assert not rig.seen

    long.first_byte(5.5)
    probe.progress(81, 5.5)
    assert rig.seen[0].prefill_tokens == 100_000


def test_a_prompt_that_has_just_begun_is_counted_as_far_as_it_can_have_come(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    rate = rig.scheduler.snapshot(1.0)[0].prefill_tokens_per_s
    rig.take(50_000, 2.9)
    probe.progress(81, 3.0)

    assert rig.seen[0].prefill_tokens == pytest.approx(0.1 * rate)


def test_sequences_of_others_count_as_ours_do(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    rig.scheduler.observe("a", running=3, waiting=0, now=0.5)
    probe.progress(1, 1.0)
    probe.progress(41, 2.0)

    assert rig.seen[0].sequence_steps == pytest.approx(3 * 40)
    assert rig.seen[0].context_steps == pytest.approx(3 * 40 * 1021)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rig, probe: rig.take(4000, 1.2).release(1.4, served=False),
        lambda rig, probe: probe.release(1.4, served=False),
        lambda rig, probe: probe.release(1.4),
        lambda rig, probe: rig.scheduler.leave("a"),
    ],
    ids=["another is given up", "it fails", "it ends", "the instance leaves"],
)
def test_nothing_is_learned_across_the_end_of_what_was_not_answered(
    rig: Rig, spoil: Callable[[Rig, Lease], None]
) -> None:
    probe = rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    spoil(rig, probe)
    probe.progress(81, 2.0)

    assert not rig.seen


def test_another_stream_is_followed_when_the_first_has_ended(rig: Rig) -> None:
    probe, other = rig.decoding(1000, 0.0), rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    probe.release(1.1)
    other.progress(5, 1.2)
    other.progress(45, 2.2)

    assert [seen.steps for seen in rig.seen] == [40]


def test_a_request_of_several_sequences_or_without_times_is_not_followed(rig: Rig) -> None:
    several, silent = rig.decoding(1000, 0.0, sequences=2), rig.take(1000, 0.0, streams=False)
    silent.first_byte(0.0)
    plain = rig.decoding(1000, 0.0)
    for turn in range(1, 4):
        several.progress(turn * 50, float(turn))
        silent.progress(turn * 50, float(turn))
        plain.progress(turn * 50)

    assert not rig.seen


def test_too_long_a_window_is_begun_anew(rig: Rig) -> None:
    probe = rig.decoding(1000, 0.0)
    probe.progress(1, 1.0)
    probe.progress(100, 2.0 + MOST_S)
    assert not rig.seen
    probe.progress(150, 3.0 + MOST_S)

    assert [(seen.seconds, seen.steps) for seen in rig.seen] == [(1.0, 50)]


def test_a_prompt_on_an_idle_instance_is_seen_by_itself(rig: Rig) -> None:
    tokens = CHUNK_TOKENS + 1
    rig.take(tokens, 1.0).first_byte(1.5)

    assert rig.seen == [Observation(0.5, 2, tokens, attended(tokens, tokens), 0, 0)]


def test_a_prompt_is_not_alone_when_another_came_or_was_there_or_it_is_tiny(rig: Rig) -> None:
    first = rig.take(4000, 0.0)
    second = rig.take(4000, 0.1)
    first.first_byte(0.5)
    second.first_byte(0.9)
    third = rig.take(4000, 1.0)
    third.first_byte(1.4)
    for lease in (first, second, third):
        lease.release(2.0)
    rig.take(ALONE_TOKENS - 1, 3.0).first_byte(3.1)

    assert not rig.seen


def test_a_prompt_that_was_given_up_is_not_seen(rig: Rig) -> None:
    lease = rig.take(4000, 0.0)
    lease.release(0.5, served=False)
    lease.first_byte(0.6)

    assert not rig.seen
