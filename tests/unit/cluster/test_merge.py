from steelyard_router.alerts.exchange import Measured, Place
from steelyard_router.cluster.merge import Others
from steelyard_router.cluster.replica import Replica
from steelyard_router.scheduling.histogram import Histogram

WINDOW_S = 60
PLACE = Place("Score", "chat", WINDOW_S)
NOTHING = Measured("r1", {})


def holding(*values: float, revision: str = "r1") -> Measured:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return Measured(revision, {PLACE: histogram})


def listed(*names: str, ready: bool = True) -> list[Replica]:
    return [Replica(name, name, ready) for name in names]


def count(others: Others, own: Measured, now: float) -> int | None:
    found = others.merged(own, now).snapshot("Score", "chat", WINDOW_S, now)
    return None if found is None else found.count


def test_the_sum_is_what_one_replica_would_have_measured_alone() -> None:
    others = Others()
    others.follow(listed("b", "c"), 0.0, keep_s=60)
    others.heard("b", holding(1, 2, 3), 0.0)
    others.heard("c", holding(1000, 2000), 0.0)

    found = others.merged(holding(7, 8), 1.0).snapshot("Score", "chat", WINDOW_S, 1.0)

    assert found == holding(7, 8, 1, 2, 3, 1000, 2000).histograms[PLACE]


def test_the_newest_word_of_a_replica_replaces_the_one_before() -> None:
    others = Others()
    others.follow(listed("b"), 0.0, keep_s=60)
    others.heard("b", holding(1, 2, 3), 0.0)
    others.heard("b", holding(1), 2.0)

    assert count(others, NOTHING, 2.0) == 1


def test_silence_of_a_ready_replica_makes_a_window_unknown_once_it_is_longer() -> None:
    others = Others()
    others.follow(listed("b"), 0.0, keep_s=60)
    others.heard("b", holding(1), 10.0)

    assert count(others, holding(2), 70.0) == 2
    assert count(others, holding(2), 70.1) is None
    assert others.missing(70.1, WINDOW_S) == ["b"]
    others.heard("b", holding(1), 80.0)
    assert count(others, holding(2), 80.0) == 2


def test_one_that_was_never_heard_is_waited_for_as_long() -> None:
    others = Others()
    others.follow(listed("b"), 100.0, keep_s=60)

    assert count(others, holding(2), 160.0) == 1
    assert count(others, holding(2), 161.0) is None


def test_one_that_is_not_ready_may_be_silent_and_is_waited_for_from_when_it_is() -> None:
    others = Others()
    for now in range(0, 1000, 10):
        others.follow(listed("b", ready=False), float(now), keep_s=60)
    assert count(others, holding(2), 990.0) == 1
    others.follow(listed("b"), 1000.0, keep_s=60)

    assert count(others, holding(2), 1060.0) == 1
    assert count(others, holding(2), 1061.0) is None


def test_one_that_has_gone_counts_until_its_last_word_has_left_the_window() -> None:
    others = Others()
    others.follow(listed("b"), 0.0, keep_s=WINDOW_S)
    others.heard("b", holding(1, 2), 0.0)
    others.follow([], 30.0, keep_s=WINDOW_S)
    assert count(others, holding(3), 60.0) == 3
    others.follow([], 61.0, keep_s=WINDOW_S)

    assert count(others, holding(3), 61.0) == 1
    assert not others._others


def test_another_meaning_is_not_added_up() -> None:
    others = Others()
    others.follow(listed("b"), 0.0, keep_s=60)
    others.heard("b", holding(1, 2, revision="r2"), 0.0)

    assert count(others, holding(3), 1.0) == 1


def test_what_a_stranger_says_is_not_heard() -> None:
    others = Others()
    others.heard("x", holding(1), 0.0)

    assert count(others, NOTHING, 0.0) == 0
