import pytest

from steelyard_router.alerts.book import AlertBook
from steelyard_router.alerts.transition import Kind
from steelyard_router.alerts.window import Windows
from steelyard_router.config import Alert, Policy, Workload

POLICY = Policy(
    workloads=(Workload(name="chat", default=True), Workload(name="batch")),
    alerts=(
        Alert(name="fast", metric="Score", threshold=1, window_s=60),
        Alert(name="slow", metric="Score", threshold=1, window_s=3600),
    ),
)


def test_every_window_that_a_rule_asks_for_is_kept() -> None:
    windows = Windows(POLICY)
    for now in range(0, 3600, 10):
        windows.record("chat", "Score", 5.0, float(now))

    counts = [windows.snapshot("Score", "chat", s, 3599.0).count for s in (60, 300, 3600)]

    assert counts == [6, 30, 360]


def test_workloads_and_metrics_are_kept_apart() -> None:
    windows = Windows(POLICY)
    windows.record("chat", "Score", 5.0, 0.0)

    assert windows.snapshot("Score", "batch", 300, 0.0).count == 0
    assert windows.snapshot("TTFT", "chat", 300, 0.0).count == 0


def test_unknown_workloads_and_windows_are_empty() -> None:
    windows = Windows(POLICY)
    windows.record("gone", "Score", 5.0, 0.0)

    assert windows.snapshot("Score", "gone", 300, 0.0).count == 0
    assert windows.snapshot("Score", "chat", 77, 0.0).count == 0


def test_attainment_is_met_over_all() -> None:
    windows = Windows(POLICY)
    for ok in (True, True, True, False):
        windows.met("chat", ok=ok, now=0.0)

    assert windows.summary(0.0)["chat"]["Attainment"] == {"count": 4, "percent": 75}


def test_the_summary_is_in_the_units_of_thresholds() -> None:
    windows = Windows(POLICY)
    windows.record("chat", "TTFT", 0.25, 0.0)

    summary = windows.summary(0.0)

    assert list(summary) == ["chat", "batch"]
    assert summary["chat"]["TTFT"]["mean"] == pytest.approx(250)
    assert summary["chat"]["TTFT"]["p95"] == pytest.approx(250, rel=0.02)
    assert summary["batch"]["E2E"] == {
        "count": 0,
        "mean": None,
        "p50": None,
        "p95": None,
        "p99": None,
    }


def test_a_new_policy_keeps_what_it_still_needs() -> None:
    windows = Windows(POLICY)
    windows.record("chat", "Score", 5.0, 0.0)
    windows.record("batch", "Score", 5.0, 0.0)

    windows.replace(
        Policy(
            workloads=(Workload(name="chat", default=True),),
            alerts=(Alert(name="fast", metric="Score", threshold=1, window_s=60),),
        )
    )

    counts = {s: windows.snapshot("Score", "chat", s, 0.0).count for s in (60, 300, 3600)}
    assert counts == {60: 1, 300: 1, 3600: 0}
    assert "batch" not in windows.summary(0.0)


def test_a_surge_fires_and_its_passing_clears() -> None:
    policy = Policy(
        alerts=(
            Alert(name="ttft", metric="TTFT", threshold=500, window_s=60, for_s=20, min_samples=20),
        )
    )
    windows, book = Windows(policy), AlertBook(policy, "llama")
    seen = []
    for now in range(600):
        windows.record("default", "TTFT", 2.0 if 200 <= now < 300 else 0.1, float(now))
        seen += [(t.kind, now) for t in book.evaluate(float(now), windows)]

    # p95 of 60 samples is the fourth largest; the window forgets in slices of 5 s.
    assert [kind for kind, _ in seen] == [Kind.FIRED, Kind.CLEARED]
    assert 220 <= seen[0][1] <= 230
    assert 350 <= seen[1][1] <= 365
