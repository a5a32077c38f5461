import pytest
from support.evaluation_case import evaluation, run


def test_a_figure_is_the_mean_over_seeds_with_their_deviation() -> None:
    one = evaluation(run("c", "p", 1, ttft=100), run("c", "p", 2, ttft=120))

    found = one.figure("c", "p", "ttft")

    assert found is not None
    assert found.mean == 110
    assert found.deviation == pytest.approx(14.142, abs=0.001)
    assert one.figure("c", "nobody", "ttft") is None


def test_policies_are_compared_over_the_seeds_that_both_have() -> None:
    one = evaluation(
        run("c", "ours", 1, ttft=50),
        run("c", "ours", 2, ttft=150),
        run("c", "ours", 3, ttft=999),
        run("c", "other", 1, ttft=100),
        run("c", "other", 2, ttft=100),
    )

    found = one.compare("c", "ours", "other", "ttft")

    assert found is not None
    assert (found.ratio, found.seeds) == (1.0, 2)
    assert found.change == 0.0
    assert found.error == pytest.approx(0.5)


def test_nothing_is_compared_without_a_common_seed_or_against_nothing() -> None:
    one = evaluation(run("c", "ours", 1, hit=0.5), run("c", "other", 2), run("c", "blind", hit=0))

    assert one.compare("c", "ours", "other", "ttft") is None
    assert one.compare("c", "ours", "blind", "hit") is None
    assert one.compare("c", "ours", "nobody", "ttft") is None


def test_a_cell_may_be_compared_with_another() -> None:
    one = evaluation(run("late", "ours", ttft=90), run("usual", "other", ttft=100))

    found = one.compare("late", "ours", "other", "ttft", other_cell="usual")

    assert found is not None
    assert found.change == pytest.approx(-0.1)
    assert found.error == 0.0
