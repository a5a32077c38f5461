from dataclasses import replace
from typing import Any

import pytest

from steelyard_router.alerts.book import AlertBook, Firing
from steelyard_router.alerts.measure import Metric
from steelyard_router.alerts.transition import Kind, Reason
from steelyard_router.config import Alert, Policy, Workload
from steelyard_router.scheduling.histogram import Histogram

CHAT, BATCH = Workload(name="chat", default=True), Workload(name="batch")


def alert(**changes: Any) -> Alert:
    return Alert(
        **{
            "name": "score-p95",
            "metric": "Score",
            "threshold": 500_000,
            "for_s": 0,
            "min_samples": 10,
            **changes,
        }
    )


def policy(*alerts: Alert, workloads: tuple[Workload, ...] = (CHAT, BATCH)) -> Policy:
    return Policy(workloads=workloads, alerts=alerts)


class Fixed:
    """A source with one value per workload, which remembers what it was asked."""

    count = 1204

    def __init__(self, **values: float) -> None:
        self.values = values
        self.asked: list[tuple[str, str, float]] = []

    def snapshot(self, metric: Metric, workload: str, window_s: float, now: float) -> Histogram:
        self.asked.append((metric, workload, window_s))
        histogram = Histogram()
        if workload in self.values:
            histogram.record(self.values[workload], self.count)
        return histogram


def states(book: AlertBook) -> dict[tuple[object, object], object]:
    return {(state["alert"], state["workload"]): state["state"] for state in book.states()}


def test_an_alert_without_workloads_watches_each_by_itself() -> None:
    book = AlertBook(policy(alert()), "llama")

    fired = book.evaluate(10.0, Fixed(chat=800_000, batch=1000))

    assert [(t.kind, t.alert, t.workload) for t in fired] == [(Kind.FIRED, "score-p95", "chat")]
    assert states(book) == {("score-p95", "chat"): "Firing", ("score-p95", "batch"): "OK"}


def test_an_alert_with_workloads_watches_only_those() -> None:
    book = AlertBook(policy(alert(workloads=("batch",))), "llama")

    assert [t.workload for t in book.evaluate(0.0, Fixed(chat=9e9, batch=9e9))] == ["batch"]


def test_every_rule_asks_for_its_own_metric_and_window() -> None:
    source = Fixed()
    alerts = (alert(window_s=60), alert(name="slow", metric="TTFT", threshold=1, window_s=600))
    AlertBook(policy(*alerts, workloads=(CHAT,)), "llama").evaluate(0.0, source)

    assert source.asked == [("Score", "chat", 60), ("TTFT", "chat", 600)]


def test_a_firing_is_reported_in_full() -> None:
    book = AlertBook(policy(alert(severity="Normal")), "llama")

    (fired,) = book.evaluate(10.0, Fixed(chat=812_345))

    assert (fired.service, fired.alert, fired.workload) == ("llama", "score-p95", "chat")
    assert (fired.metric, fired.percentile, fired.severity) == ("Score", 95, "Normal")
    assert fired.value == pytest.approx(812_345, rel=0.02)
    assert (fired.threshold, fired.samples) == (500_000, 1204)
    assert (fired.since, fired.at, fired.reason) == (10.0, 10.0, None)
    assert fired.message == (
        f"SLOAlertFiring score-p95: p95 Score {fired.value:,.0f} > 500,000 in workload chat"
        " (window 300 s, 1,204 samples)"
    )


def test_a_repetition_and_a_recovery_say_since_when() -> None:
    book = AlertBook(policy(alert(repeat_s=100)), "llama")
    book.evaluate(10.0, Fixed(chat=800_000))

    (repeated,) = book.evaluate(110.0, Fixed(chat=800_000))
    (cleared,) = book.evaluate(120.0, Fixed(chat=100_000))

    assert (repeated.kind, repeated.since, repeated.at) == (Kind.REPEATED, 10.0, 110.0)
    assert (cleared.kind, cleared.since, cleared.at) == (Kind.CLEARED, 10.0, 120.0)
    assert (cleared.reason, cleared.threshold) == (Reason.RECOVERED, 450_000)
    assert cleared.message.startswith("SLOAlertResolved score-p95: p95 Score ")
    assert " <= clearing bound 450,000 in workload chat" in cleared.message


def test_a_repetition_within_the_threshold_names_the_clearing_bound() -> None:
    book = AlertBook(policy(alert(repeat_s=100)), "llama")
    book.evaluate(10.0, Fixed(chat=800_000))

    (repeated,) = book.evaluate(110.0, Fixed(chat=480_000))

    assert " > clearing bound 450,000 " in repeated.message
    assert repeated.threshold == 450_000


def test_a_repetition_while_the_data_fades_says_that_its_value_is_old() -> None:
    book = AlertBook(policy(alert(window_s=60, repeat_s=20)), "llama")
    book.evaluate(0.0, Fixed(chat=800_000))

    (repeated,) = book.evaluate(20.0, Fixed())
    (again,) = book.evaluate(40.0, Fixed(chat=800_000))

    assert repeated.message == (
        f"SLOAlertFiring score-p95: no samples now, last value p95 Score {repeated.value:,.0f}"
        " > 500,000 in workload chat (window 60 s, 0 samples)"
    )
    assert "now, last value" not in again.message


def test_a_repetition_on_too_few_samples_says_how_few() -> None:
    book = AlertBook(policy(alert(window_s=60, repeat_s=20, min_samples=1300)), "llama")
    fires = Fixed(chat=800_000)
    fires.count = 1300
    book.evaluate(0.0, fires)

    (repeated,) = book.evaluate(20.0, Fixed(chat=100.0))

    assert "only 1,204 of 1,300 samples now, last value p95 Score 8" in repeated.message


def test_a_lack_of_data_is_said_as_such() -> None:
    book = AlertBook(policy(alert(window_s=60)), "llama")
    book.evaluate(0.0, Fixed(chat=800_000))
    book.evaluate(5.0, Fixed())

    (cleared,) = book.evaluate(65.0, Fixed())

    assert (cleared.reason, cleared.value) == (Reason.NO_DATA, None)
    assert cleared.message == (
        "SLOAlertResolved score-p95: no data for p95 Score in workload chat"
        " (window 60 s, 0 samples)"
    )


def test_attainment_falls_below_its_floor() -> None:
    book = AlertBook(policy(alert(metric="Attainment", threshold=95)), "llama")

    (fired,) = book.evaluate(0.0, Fixed(chat=0.5, batch=1.0))
    (cleared,) = book.evaluate(5.0, Fixed(chat=1.0, batch=1.0))

    assert "Attainment 50 % < 95 % in workload chat" in fired.message
    assert "Attainment 100 % >= clearing bound 100 % in workload chat" in cleared.message


def test_messages_are_short_ascii_however_long_the_names_are() -> None:
    long = "w" * 63
    policy_ = policy(alert(name="a" * 63), workloads=(Workload(name=long, default=True),))

    (fired,) = AlertBook(policy_, "s" * 63).evaluate(0.0, Fixed(**{long: 1e18}))

    assert fired.message.isascii()
    assert len(fired.message) <= 1024


def test_a_new_policy_keeps_the_state_of_unchanged_rules() -> None:
    book = AlertBook(policy(alert(), alert(name="other")), "llama")
    book.evaluate(0.0, Fixed(chat=800_000))

    edited = policy(
        alert(workloads=("chat",)), alert(name="other", threshold=900_000), alert(name="new")
    )
    ended = book.replace(edited, 5.0)

    assert [(t.alert, t.kind, t.reason) for t in ended] == [("other", Kind.CLEARED, Reason.CHANGED)]
    assert states(book) == {
        ("score-p95", "chat"): "Firing",
        ("other", "chat"): "NoData",
        ("other", "batch"): "NoData",
        ("new", "chat"): "NoData",
        ("new", "batch"): "NoData",
    }
    assert [t.alert for t in book.evaluate(10.0, Fixed(chat=800_000))] == ["new"]


def test_a_firing_that_another_process_told_goes_on_if_its_rule_is_the_same() -> None:
    before = AlertBook(policy(alert()), "llama")
    (fired,) = before.evaluate(0.0, Fixed(chat=800_000))
    told = Firing(
        "score-p95", "chat", fired.rule, since=-900.0, notified_at=-10.0, threshold=500_000.0
    )
    book = AlertBook(policy(alert()), "llama")

    assert book.resume(told, 0.0)
    assert not book.resume(replace(told, rule="another"), 0.0)
    assert not book.resume(replace(told, workload="gone"), 0.0)
    assert states(book)["score-p95", "chat"] == "Firing"
    assert book.evaluate(5.0, Fixed(chat=800_000)) == []
    (cleared,) = book.evaluate(10.0, Fixed(chat=100))
    assert (cleared.kind, cleared.since) == (Kind.CLEARED, -900.0)


def test_a_firing_alert_that_goes_away_is_cleared() -> None:
    book = AlertBook(policy(alert()), "llama")
    book.evaluate(0.0, Fixed(chat=800_000, batch=800_000))

    ended = book.replace(policy(alert(), workloads=(CHAT,)), 5.0)

    assert [(t.workload, t.reason, t.since) for t in ended] == [("batch", Reason.CHANGED, 0.0)]
    assert ended[0].message == (
        "SLOAlertResolved score-p95: the rule for p95 Score was changed or removed in workload"
        " batch (window 300 s, 1,204 samples)"
    )
    assert book.replace(policy(), 10.0)[0].workload == "chat"
    assert book.states() == []


def test_states_tell_everything_that_a_status_page_needs() -> None:
    book = AlertBook(policy(alert(), workloads=(CHAT,)), "llama")
    assert book.states()[0]["since"] is None

    book.evaluate(7.0, Fixed(chat=100))

    assert book.states() == [
        {
            "service": "llama",
            "alert": "score-p95",
            "workload": "chat",
            "metric": "Score",
            "percentile": 95,
            "severity": "Warning",
            "state": "OK",
            "since": 7.0,
            "value": pytest.approx(100, rel=0.02),
            "threshold": 500_000.0,
        }
    ]
