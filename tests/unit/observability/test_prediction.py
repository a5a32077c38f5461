"""Predictions beside what was measured, in /status, in the metrics and for alerts."""

from typing import Any

import orjson
import pytest
from support.observed import NOW, MadeUp, instance_of, observer_of, served

from steelyard_router.observability.metrics import Metrics
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.snapshot import RouterSnapshot
from steelyard_router.observability.status import status
from steelyard_router.scheduling.predictor import PRIOR

WALL = 1_700_000_000.0


def late(workload: str = "chat", **changes: Any) -> Outcome:
    """Predicted 0.1 s and 0.02 s, measured 0.15 s and 0.025 s, after 0.05 s of waiting."""
    known = {
        "placed_s": 0.05,
        "predicted_ttft_s": 0.1,
        "ttft_s": 0.2,
        "predicted_tpot_s": 0.02,
        "tpot_s": 0.025,
    }
    return served(workload, **{**known, **changes})


def prediction(source: MadeUp, now: float = NOW) -> dict[str, Any]:
    document = status(source.snapshot(now), source.observer, now, WALL)
    found: dict[str, Any] = orjson.loads(orjson.dumps(document))["prediction"]
    return found


@pytest.fixture
def source() -> MadeUp:
    source = MadeUp(observer_of("chat", "code"))
    for _ in range(3):
        source.observer.finished(late(), NOW)
    source.observer.finished(late(ttft_s=0.35), NOW)
    source.observer.finished(late("code", predicted_ttft_s=None, predicted_tpot_s=None), NOW)
    return source


def test_status_shows_errors_by_workload_and_over_all(source: MadeUp) -> None:
    found = prediction(source)
    chat, code = found["workloads"]

    assert chat["name"] == "chat"
    assert chat["ttft"]["count"] == 4
    assert chat["ttft"]["mape_percent"] == pytest.approx((3 * 50 + 200) / 4, abs=0.2)
    assert chat["ttft"]["median_percent"] == pytest.approx(50, rel=0.02)
    assert chat["tpot"]["median_percent"] == pytest.approx(25, rel=0.02)
    assert code["ttft"] == {"count": 0, "mape_percent": None, "median_percent": None}
    assert found["overall"] == {"ttft": chat["ttft"], "tpot": chat["tpot"]}


def test_errors_leave_the_status_with_their_window(source: MadeUp) -> None:
    assert prediction(source, NOW + 1000)["overall"]["ttft"]["count"] == 0


def test_status_shows_what_predictions_are_made_of(source: MadeUp) -> None:
    source.now = RouterSnapshot(
        revision="1",
        instances=(
            instance_of("a", coefficients=PRIOR, trusted=True, pace=1.98765),
            instance_of("b"),
        ),
    )
    source.observer.judge_drift({"a": 1.98765, "b": 1.0}, NOW + 5)

    found = prediction(source, NOW + 10)

    first, second = found["instances"]
    assert first == {
        "id": "a",
        "trusted": True,
        "coefficients": PRIOR._asdict(),
        "pace": 1.988,
        "last_step": "2023-11-14T22:13:15.000+00:00",
    }
    assert (second["coefficients"], second["last_step"]) == (None, None)
    clock = next(row for row in found["drift"] if row["monitor"] == "clock")
    assert (clock["state"], clock["since"]) == ("Drifting", first["last_step"])
    assert (clock["lasting"], clock["where"]) == (False, ["a"])
    assert clock["what"] == ["a takes 2.0 times as long for the same work as before"]
    assert [row["state"] for row in found["drift"] if row is not clock] == ["OK", "OK"]


def test_errors_and_drift_are_metrics(source: MadeUp) -> None:
    source.observer.judge_drift({"a": 2.0}, NOW)
    value = Metrics(source, lambda: NOW).registry.get_sample_value

    name = "steelyard_prediction_error_ratio"
    assert value(f"{name}_count", {"workload": "chat", "kind": "ttft"}) == 4
    assert value(f"{name}_sum", {"workload": "chat", "kind": "ttft"}) == pytest.approx(3.5)
    assert value(f"{name}_sum", {"workload": "chat", "kind": "tpot"}) == pytest.approx(1.0)
    assert value("steelyard_prediction_drift", {"monitor": "clock"}) == 1
    assert value("steelyard_prediction_drift", {"monitor": "error"}) == 0
    assert value("steelyard_instance_pace_ratio", {"instance": "a"}) == 1


def test_alerts_judge_the_error_of_ttft_in_percent(source: MadeUp) -> None:
    summary = source.observer.windows.summary(NOW)

    assert summary["chat"]["PredictionError"]["p50"] == pytest.approx(50, rel=0.02)
    assert summary["chat"]["PredictionError"]["p99"] == pytest.approx(200, rel=0.02)
    assert summary["code"]["PredictionError"]["count"] == 0


def test_drift_begins_and_ends_in_the_log(source: MadeUp, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="steelyard.router"):
        for pace in (1.0, 2.0, 2.1, 1.0):
            source.observer.judge_drift({"a": pace}, NOW)

    began, ended = caplog.messages
    assert "predictions drift (clock): a takes 2.0 times as long" in began
    assert ended == "predictions drift no more (clock)"
