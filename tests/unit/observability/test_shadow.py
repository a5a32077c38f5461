"""A policy on trial: what it would have said, out of the times that were measured anyway."""

from typing import Any

import orjson
import pytest
from support.observed import NOW, MadeUp, served

from steelyard_router.alerts.window import Windows
from steelyard_router.config import Alert, ObjectRef, Policy, RouterConfig, Targets, Workload
from steelyard_router.observability.metrics import Metrics
from steelyard_router.observability.observer import Observer
from steelyard_router.observability.outcome import Outcome
from steelyard_router.observability.shadow import ShadowBook
from steelyard_router.observability.status import status

REF = ObjectRef(name="trial", uid="u-1")
WALL = 1_700_000_000.0


def policy(ttft_ms: int = 200) -> Policy:
    return Policy(
        workloads=(
            Workload(name="short", slo=Targets(ttft_ms=ttft_ms, e2e_ms=2000)),
            Workload(name="rest", default=True),
        ),
        alerts=(
            Alert(
                name="slow", metric="TTFT", threshold=ttft_ms, for_s=0, min_samples=2, window_s=60
            ),
        ),
    )


def configured(shadow: Policy | None = None, ref: ObjectRef | None = REF) -> RouterConfig:
    given = {} if shadow is None else {"shadow": shadow, "shadow_ref": ref}
    return RouterConfig.model_validate(given)


def observer(shadow: Policy | None = None) -> Observer:
    config = configured(shadow)
    return Observer(config, Windows(config.policy), NOW)


def request(**more: Any) -> Outcome:
    return served(
        **{"workload": "default", "trial_workload": "short", "trial_agrees": True, **more}
    )


def shown(watched: Observer, now: float = NOW) -> Any:
    source = MadeUp(watched)
    return orjson.loads(orjson.dumps(status(source.snapshot(now), watched, now, WALL)))["shadow"]


def test_without_a_policy_on_trial_there_is_nothing() -> None:
    watched = observer()
    watched.finished(request(), NOW)

    assert watched.shadow is None
    assert shown(watched) is None
    names = {family.name for family in Metrics(MadeUp(watched), lambda: NOW).collect()}
    assert not any("shadow" in name for name in names)


def test_each_target_is_judged_by_the_times_that_were_measured() -> None:
    watched = observer(policy())
    for ttft_s, e2e_s in ((0.1, 1.0), (0.1, 3.0), (0.5, 1.0), (0.5, 3.0)):
        watched.finished(request(ttft_s=ttft_s, e2e_s=e2e_s), NOW)
    watched.finished(request(trial_workload="rest"), NOW)

    short, rest = shown(watched)["workloads"]

    assert short == {
        "name": "short",
        "requests": 4,
        "attainment_percent": 25.0,
        "attainment_target_percent": None,
        "met": {"held": 1, "told": 4, "percent": 25.0},
        "targets": {
            "ttft": {"held": 2, "told": 4, "percent": 50.0},
            "e2e": {"held": 2, "told": 4, "percent": 50.0},
        },
    }
    assert (rest["requests"], rest["met"]["percent"], rest["targets"]) == (1, None, {})


def test_agreement_counts_placements_only() -> None:
    watched = observer(policy())
    for agrees in (True, True, False, None):  # None: it was never placed
        watched.finished(request(trial_agrees=agrees), NOW)

    found = shown(watched)

    assert (found["name"], found["uid"]) == ("trial", "u-1")
    assert (found["decisions"], found["agreement_percent"]) == (3, 66.67)


def test_its_alerts_have_states_of_their_own() -> None:
    watched = observer(policy())
    for _ in range(3):
        watched.finished(request(ttft_s=0.5), NOW)
    book = watched.shadow
    assert book is not None

    book.judge(NOW)
    book.judge(NOW + 1)

    rows = {row["workload"]: row for row in shown(watched, NOW + 1)["alerts"]}
    assert rows["short"]["state"] == "Firing"
    assert rows["short"]["since"].startswith("2023-11-14T22:13:")
    assert rows["short"]["value"] == pytest.approx(500, rel=0.1)
    assert rows["rest"]["state"] == "NoData"
    source = MadeUp(watched)
    real = orjson.loads(orjson.dumps(status(source.snapshot(NOW), watched, NOW, WALL)))["alerts"]
    assert "slow" not in {row["alert"] for row in real}


def test_requests_of_before_the_trial_are_left_out() -> None:
    watched = observer(policy())
    watched.finished(served(), NOW)
    watched.finished(request(trial_workload="of an older trial"), NOW)

    assert [row["requests"] for row in shown(watched)["workloads"]] == [0, 0]
    assert shown(watched)["agreement_percent"] is None


def test_a_trial_goes_on_over_reloads_and_an_edit_begins_it_anew() -> None:
    first = ShadowBook.of(configured(policy()), 1.0, None)
    assert first is not None

    assert ShadowBook.of(configured(policy()), 2.0, first) is first
    edited = ShadowBook.of(configured(policy(ttft_ms=1)), 3.0, first)
    other = ShadowBook.of(configured(policy(), ObjectRef(name="b", uid="u-2")), 3.0, first)
    assert edited is not first
    assert other is not first
    assert edited is not None
    assert edited.since == 3.0
    assert ShadowBook.of(configured(), 4.0, first) is None


def test_the_metrics_say_the_same() -> None:
    watched = observer(policy())
    watched.finished(request(ttft_s=0.1), NOW)
    watched.finished(request(ttft_s=0.5, trial_agrees=False), NOW)
    registry = Metrics(MadeUp(watched), lambda: NOW).registry

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("steelyard_shadow_decisions_total", agrees="true") == 1
    assert value("steelyard_shadow_decisions_total", agrees="false") == 1
    assert value("steelyard_shadow_requests_total", workload="short") == 2
    counted = "steelyard_shadow_target_requests_total"
    assert value(counted, workload="short", target="ttft", met="true") == 1
    assert value(counted, workload="short", target="ttft", met="false") == 1
    assert value("steelyard_shadow_alert_firing", alert="slow", workload="short") == 0
    for family in Metrics(MadeUp(watched), lambda: NOW).collect():
        assert family.documentation.endswith("."), family.name
