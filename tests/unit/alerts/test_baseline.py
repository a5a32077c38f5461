import pytest

from steelyard_router.alerts.baseline import Baseline

WINDOW_S = 60.0


def taught(value: float, *, seconds: int, every: int = 5) -> Baseline:
    baseline = Baseline(WINDOW_S)
    for now in range(0, seconds + 1, every):
        baseline.learn(value, float(now))
    return baseline


def test_it_answers_only_after_three_windows() -> None:
    assert taught(7, seconds=175).level is None
    assert taught(7, seconds=180).level == pytest.approx(7)


def test_it_follows_a_change_over_about_twelve_windows() -> None:
    baseline = taught(100, seconds=3600)
    for now in range(3605, 3605 + 720, 5):
        baseline.learn(200, float(now))

    assert baseline.level is not None
    assert 155 < baseline.level < 170


def test_how_often_it_is_fed_does_not_matter() -> None:
    often, seldom = Baseline(WINDOW_S), Baseline(WINDOW_S)
    for now in range(0, 2000, 1):
        often.learn(100 if now < 1000 else 200, float(now))
    for now in range(0, 2000, 10):
        seldom.learn(100 if now < 1000 else 200, float(now))

    assert often.level == pytest.approx(seldom.level, rel=0.02)


def test_skipped_time_teaches_nothing() -> None:
    baseline = taught(100, seconds=600)
    baseline.skip(10_000.0)
    baseline.learn(900, 10_001.0)

    assert baseline.level == pytest.approx(100, rel=0.02)


def test_the_same_instant_counts_once() -> None:
    baseline = taught(100, seconds=600)
    for _ in range(1000):
        baseline.learn(900, 600.0)

    assert baseline.level == pytest.approx(100)
