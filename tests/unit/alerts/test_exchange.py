import json
from typing import Any

import pytest

from steelyard_router.alerts.exchange import Measured, Place, meaning
from steelyard_router.alerts.measure import METRICS
from steelyard_router.alerts.window import Windows
from steelyard_router.config import Alert, Match, Policy, Targets, Workload
from steelyard_router.scheduling.histogram import Histogram

CHAT, BATCH = Workload(name="chat", default=True), Workload(name="batch")
SCORE = Alert(name="score", metric="Score", threshold=1000, window_s=60)
SLOW = Alert(name="slow", metric="TTFT", threshold=500, window_s=300, workloads=("batch",))
POLICY = Policy(workloads=(CHAT, BATCH), alerts=(SCORE, SLOW))


def measured() -> Measured:
    windows = Windows(POLICY)
    for value in (100.0, 250.0, 250.0):
        windows.record("chat", "Score", value, 10.0)
        windows.record("chat", "TTFT", value, 10.0)  # no alert asks for it
    windows.record("batch", "TTFT", 0.5, 10.0)
    windows.met("batch", ok=False, now=10.0)
    return Measured.of(POLICY, windows, 11.0)


def test_it_holds_the_windows_that_alerts_and_figures_ask_for_and_have_samples() -> None:
    counts = {place: full.count for place, full in measured().histograms.items()}

    assert counts == {
        Place("Score", "chat", 60): 3,
        Place("Score", "chat", 300): 3,
        Place("TTFT", "batch", 300): 1,
        Place("Attainment", "batch", 300): 1,
    }


def test_without_alerts_it_holds_what_is_shown_of_a_service_and_nothing_else() -> None:
    policy = POLICY.model_copy(update={"alerts": ()})
    windows = Windows(policy)
    for metric in METRICS:
        windows.record("chat", metric, 1.0, 10.0)

    found = Measured.of(policy, windows, 11.0).histograms

    assert set(found) == {Place("Score", "chat", 300), Place("Attainment", "chat", 300)}


def test_it_travels_as_json_without_loss() -> None:
    told = json.loads(json.dumps(measured().to_dict()))

    assert Measured.from_dict(told) == measured()


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        "text",
        None,
        {"revision": "a", "histograms": 1},
        {"revision": "a", "histograms": [1]},
        {"revision": "a", "histograms": [{"metric": "Score"}]},
        {
            "revision": "a",
            "histograms": [
                {"metric": "X", "workload": "w", "window_s": 1, "histogram": Histogram().to_dict()}
            ],
        },
        {
            "revision": "a",
            "histograms": [{"metric": "TTFT", "workload": "w", "window_s": 1, "histogram": {}}],
        },
        {
            "revision": "a",
            "histograms": [
                {
                    "metric": "TTFT",
                    "workload": "w",
                    "window_s": 1,
                    "histogram": {**Histogram().to_dict(), "buckets": {"99999999": 1}},
                }
            ],
        },
    ],
)
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        Measured.from_dict(data)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Policy(workloads=(CHAT, BATCH)), True),  # alerts say what is judged, not what is measured
        (Policy(workloads=(CHAT, BATCH.model_copy(update={"priority": 7}))), True),
        (Policy(workloads=(CHAT,)), False),
        (Policy(workloads=(CHAT, Workload(name="batch", match=Match(models=("m",))))), False),
        (Policy(workloads=(CHAT, Workload(name="batch", slo=Targets(ttft_ms=9)))), False),
    ],
)
def test_what_can_be_added_up_has_the_same_classes_and_targets(other: Policy, same: bool) -> None:
    assert (meaning(other) == meaning(POLICY)) is same
