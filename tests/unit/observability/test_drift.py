"""Three monitors say whether predictions still fit the world, and what does not."""

import random

import pytest
from support.observed import NOW, served

from steelyard_router.observability.drift import HOLD_S, SHOWN, Drift, DriftBook, Monitor
from steelyard_router.observability.outcome import Outcome

CALM = {"i0": 1.0, "i1": 1.0}


def state(book: DriftBook, monitor: Monitor) -> Drift:
    return {each.monitor: each for each in book.states()}[monitor]


def feed(
    book: DriftBook,
    count: int,
    *,
    workload: str = "chat",
    late: float = 1.0,
    prompts: float = 1.0,
    cached: float = 0.5,
    now: float = NOW,
) -> None:
    """Requests whose TTFT takes `late` times as long as predicted, give or take a fifth."""
    rng = random.Random(3)
    for _ in range(count):
        tokens = int(prompts * rng.lognormvariate(6.5, 0.5))
        outcome = served(
            workload,
            prompt_tokens=tokens,
            cached_tokens=int(cached * tokens),
            output_tokens=int(rng.lognormvariate(5, 0.5)) + 2,
            placed_s=0.1,
            predicted_ttft_s=0.2,
            ttft_s=0.1 + 0.2 * late * rng.gauss(1, 0.1),
            predicted_tpot_s=0.02,
            tpot_s=0.02 * rng.gauss(1, 0.1),
        )
        book.add(workload, outcome, now)


@pytest.fixture
def book() -> DriftBook:
    made = DriftBook(NOW)
    feed(made, 1000)
    return made


def test_calm_traffic_drifts_nowhere(book: DriftBook) -> None:
    assert book.judge(CALM, NOW + 60) == []
    assert [each.drifting for each in book.states()] == [False, False, False]
    assert {each.since for each in book.states()} == {NOW}


def test_predictions_that_are_off_by_more_than_usual_are_told(book: DriftBook) -> None:
    feed(book, 100, late=2.0)

    [began] = book.judge(CALM, NOW + 60)

    assert (began.monitor, began.since) == (Monitor.ERROR, NOW + 60)
    [words] = began.what
    assert words.startswith("chat: TTFT predictions are off by")
    assert began.where == ("chat",)
    assert not state(book, Monitor.INPUT).drifting


def test_errors_that_are_worse_but_small_are_no_drift() -> None:
    book = DriftBook(NOW)
    for miss in [1.01] * 1000 + [1.08] * 200:
        exact = served(predicted_ttft_s=0.2, ttft_s=0.2 * miss, cached_tokens=None)
        book.add("chat", exact, NOW)

    assert book.judge(CALM, NOW) == []


def test_predictions_that_are_better_than_usual_are_no_drift() -> None:
    book = DriftBook(NOW)
    feed(book, 1000, late=3.0)
    feed(book, 200)

    assert book.judge(CALM, NOW) == []


def test_an_instance_at_another_pace_is_told_until_it_is_as_before(book: DriftBook) -> None:
    [began] = book.judge({"i0": 1.0, "i1": 1.97}, NOW + 5)
    assert began.what == ("i1 takes 2.0 times as long for the same work as before",)
    assert (book.stepped_at("i1"), book.stepped_at("i0")) == (NOW + 5, None)

    assert book.judge({"i0": 1.1, "i1": 2.2}, NOW + 6) == []
    assert state(book, Monitor.CLOCK).since == NOW + 5
    assert state(book, Monitor.CLOCK).where == ("i0", "i1")

    [ended] = book.judge(CALM, NOW + 9)
    assert (ended.drifting, ended.since, ended.where) == (False, NOW + 9, ())
    assert book.stepped_at("i1") == NOW + 9


def test_an_instance_that_has_gone_is_forgotten(book: DriftBook) -> None:
    book.judge({"i1": 2.0}, NOW + 5)
    [ended] = book.judge({"i0": 1.0}, NOW + 6)

    assert not ended.drifting
    assert book.stepped_at("i1") is None


@pytest.mark.parametrize(
    ("changed", "word"),
    [({"prompts": 4.0}, "prompts"), ({"prompts": 0.2}, "prompts"), ({"cached": 0.95}, "computed")],
)
def test_other_inputs_than_usual_are_told(
    book: DriftBook, changed: dict[str, float], word: str
) -> None:
    feed(book, 150, prompts=changed.get("prompts", 1.0), cached=changed.get("cached", 0.5))

    [began] = book.judge(CALM, NOW + 60)

    assert began.monitor is Monitor.INPUT
    [words] = began.what
    assert words.startswith("chat: ")
    assert word in words


def test_a_workload_that_pauses_drifts_nowhere(book: DriftBook) -> None:
    feed(book, 150, prompts=4.0, now=NOW + 10)
    assert len(book.judge(CALM, NOW + 10)) == 1

    [ended] = book.judge(CALM, NOW + 100)

    assert not ended.drifting


def test_workloads_are_watched_apart(book: DriftBook) -> None:
    feed(book, 1000, workload="code", prompts=8.0)

    assert book.judge(CALM, NOW) == []


def test_a_workload_that_is_not_kept_starts_anew(book: DriftBook) -> None:
    book.keep(["code"])
    feed(book, 150, prompts=4.0)

    assert book.judge(CALM, NOW) == []


def test_requests_that_failed_tell_nothing(book: DriftBook) -> None:
    for _ in range(500):
        book.add("chat", served(result="timeout", prompt_tokens=1, predicted_ttft_s=9.0), NOW)

    assert book.judge(CALM, NOW) == []


def test_a_drift_lasts_from_the_moment_that_it_is_told_in_the_cluster(book: DriftBook) -> None:
    [began] = book.judge({"i0": 2.0}, NOW)
    assert not began.lasting(NOW + HOLD_S - 1)
    assert began.lasting(NOW + HOLD_S)

    [ended] = book.judge(CALM, NOW + HOLD_S)
    assert not ended.lasting(NOW + 10 * HOLD_S)


def test_a_monitor_shows_a_bounded_number_of_findings(book: DriftBook) -> None:
    [began] = book.judge({f"i{number}": 2.0 for number in range(50)}, NOW)

    assert len(began.what) == len(began.where) == SHOWN


def test_an_outcome_without_a_prediction_has_no_error() -> None:
    assert served().ttft_error is None
    assert served(predicted_ttft_s=0.2, ttft_s=None).ttft_error is None
    assert Outcome().tpot_error is None
    late = served(placed_s=0.05, predicted_ttft_s=0.1, ttft_s=0.2, predicted_tpot_s=0.04)
    assert late.ttft_error == pytest.approx(0.5)
    assert late.tpot_error == pytest.approx(0.5)
