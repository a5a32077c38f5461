from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.observed import NOW, config_of, observer_of, served

from steelyard_router.config import Targets
from steelyard_router.observability.observer import (
    BATCH,
    LINGER_S,
    MAX_LINGERING,
    MAX_REASONS,
    Observer,
)
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.promise import attainment
from steelyard_router.observability.series import OTHER, RESULTS

SLO = Targets(ttft_ms=500, tpot_ms=50, e2e_ms=5000)

outcomes = st.builds(
    Outcome,
    workload=st.sampled_from(["chat", "code", "never-configured"]),
    instance=st.sampled_from(["", "a", "b"]),
    result=st.sampled_from(sorted(RESULTS)),
    status=st.sampled_from([0, 200, 404, 429, 503]),
    prompt_tokens=st.integers(0, 10_000),
    cached_tokens=st.none() | st.integers(0, 10_000),
    score=st.none() | st.floats(0, 1e9),
    attempts=st.integers(0, 3),
    ttft_s=st.none() | st.floats(0, 100),
    tpot_s=st.none() | st.floats(0, 1),
    e2e_s=st.none() | st.floats(0, 1000),
)


@given(st.lists(outcomes, max_size=30))
def test_every_request_is_counted_once_in_each_view(finished: list[Outcome]) -> None:
    observer = observer_of("chat", "code", slo=SLO)
    for outcome in finished:
        observer.finished(outcome, NOW)

    assert observer.series.total().requests == len(finished)
    assert sum(series.tally.requests for _, series in observer.series.items()) == len(finished)
    assert sum(book.requests for _, book in observer.workloads()) == len(finished)
    assert observer.overhead.count == sum(outcome.attempts > 0 for outcome in finished)


@pytest.mark.parametrize(
    "read",
    [
        lambda observer: observer.series.total().requests,
        lambda observer: observer.overhead.count,
        lambda observer: observer.workloads()[0][1].requests,
        lambda observer: observer.windows.summary(NOW)["chat"]["E2E"]["count"],
    ],
)
@pytest.mark.parametrize("requests", [1, BATCH - 1, BATCH, BATCH + 1])
def test_every_reader_sees_the_requests_that_have_ended(
    read: Callable[[Observer], int], requests: int
) -> None:
    observer = observer_of("chat")
    for _ in range(requests):
        observer.finished(served(), NOW)

    assert read(observer) == requests


def test_windows_receive_what_a_stream_measured() -> None:
    observer = observer_of("chat", slo=SLO)
    observer.finished(served(), NOW)

    summary = observer.windows.summary(NOW)["chat"]
    assert summary["Score"]["p50"] == pytest.approx(3000, rel=0.02)
    assert summary["TTFT"]["p50"] == pytest.approx(200, rel=0.02)
    assert summary["TPOT"]["p50"] == pytest.approx(20, rel=0.02)
    assert summary["E2E"]["p50"] == pytest.approx(2200, rel=0.02)
    assert summary["Attainment"]["percent"] == 100


def test_a_request_that_was_never_placed_has_no_score() -> None:
    observer = observer_of("chat")
    observer.finished(Outcome(workload="chat", result="overloaded", status=429, queue_s=30.0), NOW)

    [(_, book)] = observer.workloads()
    assert book.score.count == 0
    assert observer.windows.summary(NOW)["chat"]["Score"]["count"] == 0
    assert observer.overhead.count == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"ttft_s": 0.6}, False),
        ({"tpot_s": 0.06}, False),
        ({"e2e_s": 6.0}, False),
        ({"ttft_s": None, "tpot_s": None}, True),
        ({"result": "client_error", "e2e_s": None}, None),
        ({"result": "client_gone", "e2e_s": None}, None),
        ({"result": "client_gone", "e2e_s": None, "ttft_s": 0.6}, False),
        ({"result": "upstream_error", "e2e_s": None}, False),
        ({"result": "overloaded", "e2e_s": None, "ttft_s": None, "tpot_s": None}, False),
    ],
)
def test_attainment_is_every_given_target_held_by_a_request_that_went_well(
    changes: dict[str, Any], expected: bool | None
) -> None:
    assert attainment(served(**changes), SLO) is expected


def test_a_workload_without_targets_has_no_attainment() -> None:
    assert attainment(served(result="timeout"), Targets(attainment_percent=95)) is None


def test_an_unknown_workload_counts_as_other_and_reaches_no_window() -> None:
    observer = observer_of("chat")
    observer.finished(served(workload="stranger"), NOW)

    assert [name for name, _ in observer.workloads()] == ["chat", OTHER]
    assert "stranger" not in observer.windows.summary(NOW)


def test_a_removed_workload_stays_for_a_while_and_then_vanishes() -> None:
    observer = observer_of("chat", "code")
    observer.finished(served(workload="code"), NOW)
    observer.update(config_of("chat"), NOW)
    observer.finished(served(workload="code"), NOW + 1)
    observer.tidy({"a"}, NOW + LINGER_S)

    assert dict(observer.series.items())["code", "a"].tally.requests == 2

    observer.tidy({"a"}, NOW + LINGER_S + 1)

    assert ("code", "a") not in dict(observer.series.items())
    assert observer.series.total().requests == 2
    assert [name for name, _ in observer.workloads()] == ["chat"]


def test_a_workload_that_comes_back_goes_on_counting() -> None:
    observer = observer_of("chat", "code")
    observer.finished(served(workload="code"), NOW)
    observer.update(config_of("chat"), NOW)
    observer.update(config_of("chat", "code"), NOW + 1)
    observer.tidy({"a"}, NOW + 2 * LINGER_S)

    assert dict(observer.series.items())["code", "a"].tally.requests == 1


def test_a_thousand_reloads_with_new_names_keep_a_bounded_number_of_workloads() -> None:
    observer = observer_of("first")
    for number in range(1000):
        observer.update(config_of(f"workload-{number}"), NOW + number / 1000)
        observer.finished(served(workload=f"workload-{number}"), NOW)

    assert len(observer.workloads()) <= MAX_LINGERING + 1
    assert len(observer.series.items()) <= MAX_LINGERING + 1
    assert observer.reloads == {"ok": 1000, "error": 0}


def test_a_workload_may_be_named_like_the_collecting_one() -> None:
    observer = observer_of("chat", OTHER)
    observer.finished(served(workload=OTHER), NOW)
    observer.finished(served(workload="stranger"), NOW)
    observer.update(config_of("chat"), NOW)
    observer.tidy({"a"}, NOW + 2 * LINGER_S)
    observer.finished(served(workload="stranger"), NOW)

    assert dict(observer.workloads())[OTHER].requests == 3


def test_new_targets_hold_from_the_reload_on() -> None:
    observer = observer_of("chat", slo=Targets(ttft_ms=100))
    observer.finished(served(ttft_s=0.2), NOW)
    observer.update(config_of("chat", slo=Targets(ttft_ms=300)), NOW)
    observer.finished(served(ttft_s=0.2), NOW)

    assert observer.windows.summary(NOW)["chat"]["Attainment"] == {"count": 2, "percent": 50}


def test_retry_reasons_are_bounded() -> None:
    observer = observer_of("chat")
    for number in range(1000):
        observer.retried(f"reason {number}")

    assert len(observer.retries) <= MAX_REASONS + 1
    assert sum(observer.retries.values()) == 1000


def test_a_refused_configuration_is_counted() -> None:
    observer = observer_of("chat")
    observer.reload_failed()

    assert observer.reloads == {"ok": 0, "error": 1}
