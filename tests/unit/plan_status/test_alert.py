"""Measured values of a policy: copied from the report that counts, written when it is worth it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from support.manifests import policy, service
from support.seen import NOW, Tree, ago, report

from steelyard_operator.api.slopolicy import SLOPolicy
from steelyard_operator.plan import Plan, plan
from steelyard_operator.plan.status import RouterReport, StatusPlan, Target, policy_status

OURS = {"name": "fast", "uid": "uid-fast"}


def known(name: str = "fast", **more: Any) -> SLOPolicy:
    made = policy(name, **more)
    head = made.metadata.model_copy(update={"uid": f"uid-{name}", "generation": 1})
    return made.model_copy(update={"metadata": head})


ONE = plan([service()], [known()])


def row(state: str = "OK", value: float | None = 100.0, since_s: float = 60.0) -> Tree:
    return {
        "service": "chat",
        "alert": "slow",
        "workload": "all",
        "metric": "TTFT",
        "state": state,
        "since": ago(since_s),
        "value": value,
        "threshold": 500.0,
    }


def says(*alerts: Tree, percent: float | None = 97.3, **more: Any) -> RouterReport:
    given = {
        "policy_ref": OURS,
        "alerts": list(alerts),
        "workloads": [{"name": "all", "attainment_percent": 1.0}],
        "service": service_of(percent),
        **more,
    }
    return report(**given)


def service_of(percent: float | None, target: int | None = None) -> Tree:
    """What the holder has added up; its own requests met next to nothing."""
    measured = {"attainment_percent": percent, "attainment_target_percent": target}
    return {"replicas": 2, "workloads": [{"name": "all", **measured, "score": None}]}


def judged(
    *reports: RouterReport, stored: object = None, now: datetime = NOW, made: Plan = ONE
) -> StatusPlan:
    return policy_status(made.policies[0], stored, {"chat": Target("abc", reports)}, now=now)


def condition(made: StatusPlan) -> tuple[str, str] | None:
    rows = (item for item in made.status["conditions"] if item["type"] == "AlertFiring")
    return next(((item["status"], item["reason"]) for item in rows), None)


def test_the_holders_alerts_and_attainment_are_copied() -> None:
    made = judged(says(row("Firing", 812345.4)), report("r2", holder=False))

    assert made.status["alerts"] == [
        {
            "service": "chat",
            "alert": "slow",
            "workload": "all",
            "state": "Firing",
            "since": ago(60),
            "value": "812345",
        }
    ]
    assert made.status["attainment"] == [{"service": "chat", "workload": "all", "percent": 97}]
    assert made.status["firing"] == 1
    assert made.status["measuredTime"] == ago(0)
    assert condition(made) == ("True", "Firing")
    assert made.requeue_s == 10.0


def test_attainment_stands_beside_what_it_should_be() -> None:
    made = judged(says(service=service_of(97.3, 99)))

    assert made.status["attainment"] == [
        {"service": "chat", "workload": "all", "percent": 97, "targetPercent": 99}
    ]
    edited = later(made, 120, says(service=service_of(97.3, 95)))
    assert edited.status["attainment"][0]["targetPercent"] == 95
    assert later(made, 120, says(service=service_of(97.3, 99))).status == made.status


def test_a_router_that_has_no_figures_of_the_service_gives_its_own() -> None:
    older = report(
        policy_ref=OURS, alerts=[], workloads=[{"name": "all", "attainment_percent": 80.0}]
    )

    assert judged(older).status["attainment"] == [
        {"service": "chat", "workload": "all", "percent": 80}
    ]


def test_attainment_stays_while_a_new_holder_has_not_heard_the_others() -> None:
    before = judged(says(row("OK"), service=service_of(97.3, 99)))

    made = later(before, 120, says(row("Firing"), service=None))

    assert made.status["attainment"] == before.status["attainment"]
    assert [item["state"] for item in made.status["alerts"]] == ["Firing"]


def test_an_alert_that_fires_changes_no_other_condition() -> None:
    def others(state: str) -> list[tuple[str, str]]:
        rows = judged(says(row(state))).status["conditions"]
        return [(item["type"], item["status"]) for item in rows if item["type"] != "AlertFiring"]

    assert others("Firing") == others("OK")
    assert ("Ready", "True") in others("Firing")


@pytest.mark.parametrize(
    ("alerts", "expected"),
    [
        ((), None),
        ((row("NoData", None),), ("False", "NoData")),
        ((row("Pending"),), ("False", "NotFiring")),
        ((row("OK"),), ("False", "NotFiring")),
    ],
)
def test_alert_firing_is_there_while_an_alert_has_a_state(
    alerts: tuple[Tree, ...], expected: tuple[str, str] | None
) -> None:
    assert condition(judged(says(*alerts))) == expected


def test_a_report_about_another_policy_gives_nothing() -> None:
    made = judged(says(row("Firing"), policy_ref={"name": "other", "uid": "uid-other"}))

    assert "alerts" not in made.status
    assert "attainment" not in made.status
    assert made.status["firing"] == 0


def test_a_policy_on_trial_shows_what_its_shadow_measured() -> None:
    dry = plan([service()], [known(mode="DryRun"), known("other")])
    shadow = {**OURS, "alerts": [row("Firing")], "workloads": []}
    main = says(row("OK"), policy_ref={"name": "other", "uid": "uid-other"}, shadow=shadow)

    made = judged(main, made=dry)

    assert [item["state"] for item in made.status["alerts"]] == ["Firing"]


def later(made: StatusPlan, seconds: float, *reports: RouterReport) -> StatusPlan:
    return judged(*reports, stored=made.status, now=NOW + timedelta(seconds=seconds))


FIRST = judged(says(row("OK", 100.0)))


@pytest.mark.parametrize(
    ("seconds", "alert", "percent", "written"),
    [
        (120, row("OK", 105.0), 97.3, False),
        (120, row("OK", 111.0), 97.3, True),
        (30, row("OK", 900.0), 97.3, False),
        (120, row("OK", 100.0), 80.0, True),
        (120, row("OK", 100.0), 96.0, False),
        (120, row("OK", 100.0), None, True),
        (1, row("Firing", 101.0), 97.3, True),
        (1, row("NoData", None), 97.3, True),
        (1, row("Pending", 100.0), 97.3, False),
        (120, row("Pending", 100.0), 97.3, True),
    ],
)
def test_figures_are_written_when_they_moved_or_a_state_changed(
    seconds: float, alert: Tree, percent: float | None, written: bool
) -> None:
    made = later(FIRST, seconds, says(alert, percent=percent))

    assert (made.status["measuredTime"] != FIRST.status["measuredTime"]) is written
    assert (made.status != FIRST.status) is written


def test_when_a_firing_began_does_not_move_with_the_routers_clock() -> None:
    firing = judged(says(row("Firing", since_s=60.0)))

    jitter = later(firing, 120, says(row("Firing", since_s=62.0)))
    anew = later(firing, 120, says(row("Firing", since_s=10.0)))

    assert jitter.status == firing.status
    assert anew.status["alerts"][0]["since"] == ago(10)


def test_what_was_stored_stays_while_no_holder_answers() -> None:
    firing = judged(says(row("Firing")))

    made = later(firing, 600, report(reachable=False), report("r2", holder=False))

    assert made.status["alerts"] == firing.status["alerts"]
    assert condition(made) == ("True", "Firing")


def test_what_was_stored_goes_with_the_routers() -> None:
    made = later(judged(says(row("Firing"))), 1)

    assert "alerts" not in made.status
    assert condition(made) is None


def test_of_many_alerts_the_firing_ones_come_first_and_the_list_is_bounded() -> None:
    many = [{**row("OK"), "workload": f"w{i:03}"} for i in range(100)]
    many.append({**row("Firing"), "workload": "z"})

    made = judged(says(*many))

    assert len(made.status["alerts"]) == 64
    assert made.status["alerts"][0]["workload"] == "z"


@pytest.mark.parametrize(
    "stored",
    [
        {"alerts": [{"state": "??"}, 5], "measuredTime": "soon", "ancestors": "none"},
        {"alerts": None, "attainment": [{}], "conditions": [{"type": "Ready"}]},
        {"observedGeneration": -1},
        None,
    ],
)
def test_a_stored_status_of_any_shape_is_replaced_by_a_good_one(stored: object) -> None:
    made = judged(says(row("OK")), stored=stored)

    assert made.status == FIRST.status


def test_a_policy_that_lost_its_service_keeps_no_rows_of_it() -> None:
    older = known("older", created="2026-01-01T00:00:00Z")
    lost = plan([service()], [known(), older])

    made = judged(report(holder=False), stored=judged(says(row("Firing"))).status, made=lost)

    assert "alerts" not in made.status
    assert made.status["firing"] == 0
